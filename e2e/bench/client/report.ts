import type { Wake } from './wakes.ts';

/** The results of a run; times in milliseconds. */
export interface Figures {
  readonly commands: Readonly<Record<string, readonly number[]>>;
  readonly creates: readonly number[];
  /** The time of the same writes by a bare client. */
  readonly createFloor: readonly number[];
  readonly wakesByRequest: readonly Wake[];
  readonly wakesByConnect: readonly Wake[];
}

/** The quantile of some values; `share` is between 0 and 1. */
function computeQuantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** Renders the results as Markdown tables, each with the floor of the same run. */
export function renderClientReport(figures: Figures): string {
  return [getCommands(figures), getCreates(figures), formatWakes(figures)].join('\n\n');
}

const SHARES = [0.5, 0.9, 0.99] as const;
const formatMs = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
const spread = (values: readonly number[]): string[] => SHARES.map((share) => formatMs(computeQuantile(values, share)));

function getCommands({ commands }: Figures): string {
  const floor = computeQuantile(commands['bare client, directly'] ?? [], 0.5);
  const rows = Object.entries(commands).map(([name, times]) => [
    name,
    String(times.length),
    ...spread(times),
    `${(computeQuantile(times, 0.5) / floor).toFixed(2)}x`,
  ]);
  return formatTable(['commands.run("true")', 'calls', 'p50', 'p90', 'p99', 'p50 to the bare client, directly'], rows);
}

function getCreates({ creates, createFloor }: Figures): string {
  const ratio = `${(computeQuantile(creates, 0.5) / computeQuantile(createFloor, 0.5)).toFixed(2)}x`;
  return formatTable(
    ['Sandbox.create of a warm pool', 'calls', 'p50', 'p90', 'p99', 'p50 to the floor'],
    [
      ['stock client, through gateway and API', String(creates.length), ...spread(creates), ratio],
      ['floor: three writes of a bare client in a row', String(createFloor.length), ...spread(createFloor), '1.00x'],
    ],
  );
}

/** The intervals of a wake. */
function buildGaps(wake: Wake): Record<string, number> {
  return {
    'request to pod created': wake.podCreatedMs,
    'pod created to pod Ready': wake.podReadyMs - wake.podCreatedMs,
    'pod Ready to Sandbox Ready': wake.sandboxReadyMs - wake.podReadyMs,
    'Sandbox Ready to claim Ready': wake.claimReadyMs - wake.sandboxReadyMs,
    'claim Ready to answer': wake.answeredMs - wake.claimReadyMs,
    'request to answer': wake.answeredMs,
    'more than the pod’s own start': wake.answeredMs - (wake.podReadyMs - wake.podCreatedMs),
  };
}

function formatWakes({ wakesByRequest, wakesByConnect }: Figures): string {
  const [request, connect] = [wakesByRequest.map(buildGaps), wakesByConnect.map(buildGaps)];
  const names = Object.keys(request[0] ?? {});
  const of = (all: readonly Record<string, number>[], name: string, share: number): string =>
    formatMs(
      computeQuantile(
        all.map((gaps) => gaps[name] ?? Number.NaN),
        share,
      ),
    );
  const rows = names.map((name) => [
    name,
    of(request, name, 0.5),
    of(request, name, 0.9),
    of(connect, name, 0.5),
    of(connect, name, 0.9),
  ]);
  const head = ['wake', 'by a request, p50', 'p90', 'by connect of the API, p50', 'p90'];
  return `${formatTable(head, rows)}\n\n${wakesByRequest.length} wakes each, in turn.`;
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

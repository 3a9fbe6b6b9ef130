import type { Sample } from './controller.ts';
import type { Restart, Results } from './run.ts';
import type { Burst, Start } from './stages.ts';

/** The controller may write this often for each Sandbox, from its creation until it is Ready. */
const WRITES_GOAL = 3;

/** A cold Sandbox may be Ready this much later than a bare Pod. */
const LATENESS_GOAL_MS = 30;

/** Percentiles by nearest rank. */
interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

function computePercentiles(times: readonly number[]): Percentiles {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

/** Summarises a run without the single starts. */
export function summarise(results: Results) {
  const { pods, sandboxes, quiet, controller, requests, restarts, ...about } = results;
  return {
    ...about,
    pods: listBurstFigures(pods),
    sandboxes: listBurstFigures(sandboxes),
    quiet: { pods: startFigures(quiet.pods), sandboxes: startFigures(quiet.sandboxes) },
    controller,
    perSandbox: computePerSandbox(results),
    requests,
    restarts,
  };
}

type Summary = ReturnType<typeof summarise>;

function listBurstFigures({ starts, createdMs, readyMs }: Burst) {
  return { createdMs, readyMs, ...startFigures(starts) };
}

function startFigures(starts: readonly Start[]) {
  const of = (read: (start: Start) => number | undefined): Percentiles =>
    computePercentiles(starts.flatMap((start) => read(start) ?? []));
  return {
    acceptedMs: of(({ acceptedMs }) => acceptedMs),
    podMs: of(({ podMs }) => podMs),
    sandboxMs: of(({ sandboxMs }) => sandboxMs),
    afterPodMs: of(({ podMs, sandboxMs }) => (sandboxMs === undefined ? undefined : sandboxMs - podMs)),
  };
}

function computePerSandbox({ count, controller: { before, after }, restarts, controller, requests }: Results) {
  const [fresh] = restarts;
  return {
    writes: requests.writesTotal / count,
    reconciles: (after.reconciles - before.reconciles) / count,
    cpuMs: (1_000 * (after.cpuSeconds - before.cpuSeconds)) / count,
    rssKibAfterBurst: (1_024 * (after.rssMib - controller.rest.rssMib)) / count,
    rssKibAfterRestart: fresh === undefined ? 0 : (1_024 * (fresh.after.rssMib - controller.rest.rssMib)) / count,
    heapKibAfterRestart: fresh === undefined ? 0 : (1_024 * (fresh.after.heapMib - controller.rest.heapMib)) / count,
  };
}

/** Renders a run as Markdown. */
export function render(results: Results): string {
  const figures = summarise(results);
  return [listLatencies(figures), listCosts(figures), listWrites(figures), formatRestartsTable(results.restarts)]
    .map(formatMarkdown)
    .concat(formatGoals(figures))
    .join('\n\n');
}

type Row = readonly string[];

const formatMs = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
const formatRatio = (value: number, floor: number): string => (floor > 0 ? `${(value / floor).toFixed(2)}x` : '');

function listLatencies({ pods, sandboxes, quiet, count }: Summary): Row[] {
  const formatRow = (name: string, times: Percentiles, floor?: Percentiles): Row => [
    name,
    formatMs(times.p50),
    formatMs(times.p90),
    formatMs(times.p99),
    floor === undefined ? '' : formatRatio(times.p50, floor.p50),
  ];
  const total = (name: string, value: number, floor?: number): Row => [
    name,
    formatMs(value),
    '',
    '',
    floor === undefined ? '' : formatRatio(value, floor),
  ];
  return [
    ['ms from the sending of the creation', 'p50', 'p90', 'p99', 'p50 to floor'],
    formatRow('one at a time: bare Pod Ready', quiet.pods.podMs),
    formatRow('one at a time: Pod of a Sandbox Ready', quiet.sandboxes.podMs, quiet.pods.podMs),
    formatRow('one at a time: Sandbox Ready', quiet.sandboxes.sandboxMs, quiet.pods.podMs),
    formatRow('one at a time: Sandbox after its Pod', quiet.sandboxes.afterPodMs),
    formatRow('burst: bare Pod Ready', pods.podMs),
    formatRow('burst: Pod of a Sandbox Ready', sandboxes.podMs, pods.podMs),
    formatRow('burst: Sandbox Ready', sandboxes.sandboxMs, pods.podMs),
    formatRow('burst: Sandbox after its Pod', sandboxes.afterPodMs),
    total(`burst: ${count} bare Pods accepted`, pods.createdMs),
    total(`burst: ${count} Sandboxes accepted`, sandboxes.createdMs, pods.createdMs),
    total(`burst: ${count} bare Pods Ready`, pods.readyMs),
    total(`burst: ${count} Sandboxes Ready`, sandboxes.readyMs, pods.readyMs),
  ];
}

function listCosts({ controller: { rest, peak, after }, perSandbox: each }: Summary): Row[] {
  const row = (name: string, of: (sample: Sample) => number): Row => [
    name,
    formatMs(of(rest)),
    formatMs(of(peak)),
    formatMs(of(after)),
  ];
  return [
    ['controller', 'at rest', 'peak', 'after the burst'],
    row('RSS, MiB', ({ rssMib }) => rssMib),
    row('heap used, MiB', ({ heapMib }) => heapMib),
    row('HTTP/2 sessions', ({ sessions }) => sessions),
    row('streams, watches included', ({ streams }) => streams),
    row('keys queued', ({ queueDepth }) => queueDepth),
    ['CPU ms per Sandbox', '', '', each.cpuMs.toFixed(2)],
    ['reconciles per Sandbox', '', '', each.reconciles.toFixed(2)],
    ['waited for its own rate limit, s in sum', '', '', formatMs(after.throttledSeconds)],
    ['KiB of RSS per Sandbox, after the burst', '', '', each.rssKibAfterBurst.toFixed(1)],
    ['KiB of RSS per Sandbox, in a new process', '', '', each.rssKibAfterRestart.toFixed(1)],
    ['KiB of heap per Sandbox, in a new process', '', '', each.heapKibAfterRestart.toFixed(1)],
  ];
}

function listWrites({ requests, perSandbox: each, count }: Summary): Row[] {
  const rows = Object.entries(requests.writes)
    .sort(([, a], [, b]) => b - a)
    .map(([name, number]): Row => [name, String(number), (number / count).toFixed(3)]);
  return [
    ['writes of the controller in the burst', 'number', 'per Sandbox'],
    ...rows,
    ['all', String(requests.writesTotal), each.writes.toFixed(3)],
    ['most of one Sandbox', String(requests.mostWritesOfOne), ''],
    ['beside them: Events', String(requests.events), (requests.events / count).toFixed(3)],
    ['beside them: conflicts', String(requests.conflicts), ''],
    ['beside them: reads', String(computeSum(requests.reads)), ''],
  ];
}

function formatRestartsTable(restarts: readonly Restart[]): Row[] {
  const row = (name: string, of: (restart: Restart) => number): Row => [
    name,
    ...restarts.map((each) => formatMs(of(each))),
  ];
  return [
    ['a new process with all of them in place, after', ...restarts.map(({ signal }) => signal)],
    row('caches synced, ms from its start', ({ syncedMs }) => syncedMs),
    row('every key reconciled, ms', ({ reconciledMs }) => reconciledMs),
    row('reconciles', ({ reconciles }) => reconciles),
    row('writes', ({ requests }) => requests.writesTotal + requests.events),
    row('writes of its lease', ({ requests }) => requests.leaseWrites),
    row('reads and watches', ({ requests }) => computeSum(requests.reads)),
    row('CPU, ms', ({ after }) => 1_000 * after.cpuSeconds),
    row('RSS, MiB', ({ after }) => after.rssMib),
  ];
}

function formatGoals({ quiet, perSandbox: each, restarts }: Summary): string {
  const lateness = quiet.sandboxes.sandboxMs.p50 - quiet.pods.podMs.p50;
  const needless = restarts.reduce((sum, { requests }) => sum + requests.writesTotal + requests.events, 0);
  const verdict = (isMet: boolean, text: string): string => `${isMet ? 'met' : 'MISSED'}: ${text}`;
  return [
    verdict(
      each.writes <= WRITES_GOAL,
      `${each.writes.toFixed(3)} writes per Sandbox in the burst, goal ${WRITES_GOAL}`,
    ),
    verdict(
      lateness <= LATENESS_GOAL_MS,
      `a cold Sandbox is Ready ${formatMs(lateness)} ms (p50) after its bare Pod would be, goal ${LATENESS_GOAL_MS}`,
    ),
    verdict(needless === 0, `${needless} writes by new processes, goal 0`),
  ].join('\n');
}

const computeSum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, each) => total + each, 0);

function formatMarkdown([head = [], ...rows]: readonly Row[]): string {
  const line = (cells: Row): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

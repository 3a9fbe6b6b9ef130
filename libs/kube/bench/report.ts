import type { Recovery, Sizes } from './scenarios.ts';
import type { ListResult, RequestsResult } from './worker.ts';

type Rounds<R> = Readonly<Record<string, readonly R[]>>;

export interface Results {
  readonly date: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly cpus: string;
  readonly sizes: Sizes;
  readonly get: Rounds<RequestsResult>;
  readonly write: Rounds<RequestsResult>;
  readonly list: Rounds<ListResult>;
  readonly cache: Rounds<ListResult>;
  readonly recovery: readonly Recovery[];
}

type Row = readonly string[];

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : 0 });

/** The minimum of all rounds, which is the least disturbed by other load. */
function pickMin<R>(rounds: readonly R[] | undefined, of: (round: R) => number): number {
  return Math.min(...(rounds ?? []).map(of));
}

/** `better` is the better direction. A ratio above 1 always means that libs/kube is better. */
function formatRow<R>(
  name: string,
  rounds: Rounds<R>,
  [of, better]: readonly [(round: R) => number, 'less' | 'more'],
): Row {
  const [stock, ours] = [rounds['stock'], rounds['sandlot']].map((each) =>
    better === 'less' ? pickMin(each, of) : -pickMin(each, (round) => -of(round)),
  );
  if (stock === undefined || ours === undefined) return [name, '', '', ''];
  const ratio = better === 'less' ? stock / ours : ours / stock;
  return [name, number(stock), number(ours), `${number(ratio)}x`];
}

const computePerCpuSecond = ({ requests, cpuMs }: RequestsResult): number => requests / (cpuMs / 1_000);

/** Renders Markdown tables: the best round of each cost, then recovery times. */
export function renderReport({ get, write, list, cache, recovery }: Results): string {
  const costs: Row[] = [
    ['', 'stock', 'libs/kube', 'ratio'],
    formatRow('get: requests per CPU second', get, [computePerCpuSecond, 'more']),
    formatRow('get: p50, ms', get, [({ p50Ms }) => p50Ms, 'less']),
    formatRow('get: p99, ms', get, [({ p99Ms }) => p99Ms, 'less']),
    formatRow('get: connections opened', get, [({ connections }) => connections, 'less']),
    formatRow('create and patch: requests per CPU second', write, [computePerCpuSecond, 'more']),
    formatRow('create and patch: p50, ms', write, [({ p50Ms }) => p50Ms, 'less']),
    formatRow('create and patch: p99, ms', write, [({ p99Ms }) => p99Ms, 'less']),
    formatRow('create and patch: connections opened', write, [({ connections }) => connections, 'less']),
    formatRow('list: time, ms', list, [({ wallMs }) => wallMs, 'less']),
    formatRow('list: CPU time, ms', list, [({ cpuMs }) => cpuMs, 'less']),
    formatRow('list: heap held, MiB', list, [({ heapMb }) => heapMb, 'less']),
    formatRow('list: peak RSS, MiB', list, [({ peakRssMb }) => peakRssMb, 'less']),
    formatRow('informer cache: time to sync, ms', cache, [({ wallMs }) => wallMs, 'less']),
    formatRow('informer cache: heap held, MiB', cache, [({ heapMb }) => heapMb, 'less']),
    formatRow('informer cache: peak RSS, MiB', cache, [({ peakRssMb }) => peakRssMb, 'less']),
  ];
  const faults = [...new Set(recovery.map(({ fault }) => fault))];
  const cell = (fault: string, contender: string): string => {
    const found = recovery.find((each) => each.fault === fault && each.contender === contender);
    return found?.recoveredMs === undefined ? 'never' : `${number(found.recoveredMs / 1_000)} s`;
  };
  const recoveries: Row[] = [
    ['watch after', 'stock', 'stock, restarted on error', 'libs/kube'],
    ...faults.map((fault) => [fault, cell(fault, 'stock'), cell(fault, 'restarted'), cell(fault, 'sandlot')]),
  ];
  return `${formatTable(costs)}\n\n${formatTable(recoveries)}\n`;
}

function formatTable([head = [], ...rows]: readonly Row[]): string {
  const line = (cells: Row): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

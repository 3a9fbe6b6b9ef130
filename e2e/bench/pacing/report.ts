import { computeMedian } from '../support/median.ts';
import type { Costs } from '../support/measure-claims.ts';
import type { Round, Without } from './rounds.ts';

type Load = 'burst' | 'steady';

interface Column {
  readonly title: string;
  readonly load: Load;
  readonly read: (costs: Costs) => number;
}

const sumOfCpu = ({ cpuMs }: Costs): number => Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0);

const COLUMNS: readonly Column[] = [
  { title: 'burst: all Ready, ms', load: 'burst', read: ({ allReadyMs }) => allReadyMs },
  { title: 'CPU until then per claim, ms', load: 'burst', read: ({ busyCpuMs }) => busyCpuMs },
  { title: 'controllers, refill included, ms', load: 'burst', read: sumOfCpu },
  { title: 'writes', load: 'burst', read: ({ writesPerClaim }) => writesPerClaim },
  { title: 'reconciles', load: 'burst', read: ({ reconcilesPerClaim }) => reconcilesPerClaim },
  { title: 'steady: p50, ms', load: 'steady', read: ({ p50Ms }) => p50Ms },
  { title: 'controllers, ms', load: 'steady', read: sumOfCpu },
  { title: 'writes', load: 'steady', read: ({ writesPerClaim }) => writesPerClaim },
  { title: 'reconciles', load: 'steady', read: ({ reconcilesPerClaim }) => reconcilesPerClaim },
];

/**
 * Renders the medians without each mechanism as a Markdown table, each with its difference from the median of the rounds with all
 * mechanisms. The last row is the spread of those rounds: a difference within it shows nothing.
 */
export function renderPacing(rounds: readonly Round[]): string {
  const all = rounds.filter(({ without }) => without === 'none');
  const names = [...new Set(rounds.map(({ without }) => without))].filter((name) => name !== 'none').sort();
  return [
    ['switched off', 'rounds', ...COLUMNS.map(({ title }) => title)],
    ['---', ...['', ...COLUMNS].map(() => '---:')],
    getRow('none', all, (column) => getMedian(all, column).toFixed(1)),
    ...names.map((name) => compare(name, rounds, all)),
    getRow('spread of none', all, (column) => formatSpread(all, column)),
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function compare(name: Without, rounds: readonly Round[], all: readonly Round[]): string[] {
  const some = rounds.filter(({ without }) => without === name);
  return getRow(name, some, (column) => {
    const value = getMedian(some, column);
    return `${value.toFixed(1)} (${formatPercent(value / getMedian(all, column) - 1)})`;
  });
}

function getRow(name: string, rounds: readonly Round[], cell: (column: Column) => string): string[] {
  return [name, String(rounds.length), ...COLUMNS.map(cell)];
}

function getMedian(rounds: readonly Round[], { load, read }: Column): number {
  return computeMedian(rounds.map((round) => read(round[load])));
}

/** The lowest and the highest value as differences from the median. */
function formatSpread(rounds: readonly Round[], column: Column): string {
  const middle = getMedian(rounds, column);
  const values = rounds.map((round) => column.read(round[column.load]));
  return `${formatPercent(Math.min(...values) / middle - 1)} to ${formatPercent(Math.max(...values) / middle - 1)}`;
}

function formatPercent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(0)}%`;
}

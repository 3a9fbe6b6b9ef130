// The tables of docs/operations/capacity.md, to copy.
import { fitSmaller, predict } from './formula.ts';
import type { Point } from './formula.ts';
import { GROWING } from './measure.ts';
import type { Step } from './run.ts';
import { buildStored, countLists, listMemory, listStarts } from './series.ts';
import type { Series } from './series.ts';
import { STARTED } from './starts.ts';

/** A table of series in the same unit. */
interface Table {
  readonly head: string;
  readonly series: readonly Series[];
  /** Digits after the point, of the slope and of all other numbers. */
  readonly digits: { readonly slope: number; readonly others: number };
}

/** How far a prediction may be off. */
const LIMIT_PERCENT = 20;
/** The size that the page plans for. */
const PLANNED = 200_000;

type Tables = Readonly<Record<'memory' | 'stored' | 'time' | 'sent' | 'cpu', Table>>;

/** Each table has what was measured by size, the line by all sizes but the largest, and how far it is off at that one. */
export function renderReport(steps: readonly Step[]): string {
  const tables = buildTables(steps);
  const { memory, stored, time, sent, cpu } = tables;
  return [
    ...['## Memory', renderTable(memory)],
    ...['## Disk of etcd', renderTable(stored)],
    ...['## Starts', renderTable(time), renderTable(sent), renderTable(cpu)],
    `Lists during all starts: ${countLists(steps)}.`,
    ...[`## ${formatNumber(PLANNED, 0)} Sandboxes`, renderPlan(steps, tables)],
    `Off by more than ${LIMIT_PERCENT} %: ${listOff(Object.values(tables)).join('; ') || 'none'}.`,
  ].join('\n\n');
}

function buildTables(steps: readonly Step[]): Tables {
  return {
    memory: { head: 'MiB', series: listMemory(steps), digits: { slope: 2, others: 0 } },
    stored: { head: 'MiB on its disk', series: [buildStored(steps)], digits: { slope: 2, others: 0 } },
    time: {
      head: 'seconds from start to first work',
      series: listStarts(steps, ({ firstWorkMs }) => firstWorkMs / 1_000),
      digits: { slope: 3, others: 2 },
    },
    sent: {
      head: 'MiB that the API server sends',
      series: listStarts(steps, ({ load }) => load.watchMiB),
      digits: { slope: 2, others: 1 },
    },
    cpu: {
      head: 'seconds of CPU of the API server',
      series: listStarts(steps, ({ load }) => load.cpuSeconds),
      digits: { slope: 3, others: 2 },
    },
  };
}

function renderTable({ head, series, digits }: Table): string {
  const sizes = (series[0]?.points ?? []).map(({ sandboxes }) => formatNumber(sandboxes, 0));
  const rows = series.map(({ name, points }) => {
    const { line, offPercent } = fitSmaller(points);
    const values = points.map(({ value }) => formatNumber(value, digits.others));
    const formula = [formatNumber(line.base, digits.others), formatNumber(line.perThousand, digits.slope)];
    return [name, ...formula, ...values, formatPercent(offPercent)];
  });
  const [smallest, ...larger] = sizes;
  return formatRows([head, 'base', 'slope', `at ${smallest ?? ''}`, ...larger, 'off'], rows);
}

/** What the lines say of many more Sandboxes than were measured, of what grows with them. */
function renderPlan(steps: readonly Step[], { stored, time, sent, cpu }: Tables): string {
  const memory = listMemory(steps, GROWING).map(({ name, points }) => [name, `${formatPlanned(points)} MiB`]);
  const disk = stored.series.map(({ points }) => ['disk of etcd', `${formatPlanned(points)} MiB`]);
  const starts = STARTED.map((name) => {
    const [seconds, sentMiB, cpuSeconds] = [time, sent, cpu].map((table) => formatPlanned(findPoints(table, name)));
    return [`start of the ${name}`, `${seconds} s, ${sentMiB} MiB, ${cpuSeconds} s of CPU`];
  });
  return formatRows(['', 'by the formula'], [...memory, ...disk, ...starts]);
}

function findPoints({ series }: Table, wanted: string): readonly Point[] {
  return series.find(({ name }) => name === wanted)?.points ?? [];
}

function formatPlanned(points: readonly Point[]): string {
  return formatNumber(predict(fitSmaller(points).line, PLANNED), 0);
}

function listOff(tables: readonly Table[]): readonly string[] {
  const offs = tables.flatMap(({ head, series }) =>
    series.map(({ name, points }) => ({ what: `${name}, ${head}`, offPercent: fitSmaller(points).offPercent })),
  );
  const far = offs.filter(({ offPercent }) => !(Math.abs(offPercent) <= LIMIT_PERCENT));
  return far.map(({ what, offPercent }) => `${what} (${formatPercent(offPercent)})`);
}

function formatRows(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

/** With commas as on the page. Without the sign of a number that is shown as zero. */
function formatNumber(value: number, digits: number): string {
  const rounded = Number(value.toFixed(digits)) + 0;
  return rounded.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function formatPercent(value: number): string {
  return `${formatNumber(value, 0)} %`;
}

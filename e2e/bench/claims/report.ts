import type { Result } from './run.ts';
import { CONTROLLERS } from './stage.ts';

/** Renders the results as Markdown tables: times compared with the floor of the same run, then costs. */
export function renderReport(results: readonly Result[]): string {
  return [
    getTimes(results),
    ...getLives(results),
    getCosts(results),
    getControllers(results),
    ...results.map(getWrites),
  ].join('\n\n');
}

/** Every tenth of a write per claim and more, of all clients. */
function getWrites({ scenario, writesByKind }: Result): string {
  const rows = Object.entries(writesByKind).filter(([, count]) => count >= 0.1);
  const total = Object.values(writesByKind).reduce((sum, count) => sum + count, 0);
  const cells = [...rows, ['all', total] as const].map(([kind, count]) => [kind, count.toFixed(2)]);
  return formatTable([`writes per claim of ${scenario}`, 'count'], cells);
}

function getTimes(results: readonly Result[]): string {
  const rows = results.map((r) => [
    r.scenario,
    String(r.claims),
    `${Math.round((100 * r.warm) / r.claims)}%`,
    formatMs(r.allReadyMs),
    formatTimes(r.allReadyMs / r.floorAllReadyMs),
    formatMs(r.p50Ms),
    formatTimes(r.p50Ms / r.floorP50Ms),
    formatMs(r.p90Ms),
    formatMs(r.p99Ms),
    r.nextBindMs === undefined ? '' : formatMs(r.nextBindMs),
  ]);
  const head = ['scenario', 'claims', 'warm', 'all Ready', 'to floor', 'p50', 'to floor', 'p90', 'p99', 'next bind'];
  return formatTable(head, rows);
}

/** The rate of whole lives, until the garbage collector has deleted the last Sandbox and Pod, and that of the floor. */
function getLives(results: readonly Result[]): string[] {
  const rows = results.flatMap(({ scenario, claims, allGoneMs, floorAllGoneMs }) => {
    if (allGoneMs === undefined || floorAllGoneMs === undefined) return [];
    const rates = [allGoneMs, floorAllGoneMs].map((ms) => ((1_000 * claims) / ms).toFixed(1));
    return [[scenario, formatMs(allGoneMs), ...rates, `${Math.round((100 * floorAllGoneMs) / allGoneMs)}%`]];
  });
  const head = ['whole lives', 'until all are gone', 'lives a second', 'of the floor', 'share'];
  return rows.length === 0 ? [] : [formatTable(head, rows)];
}

function getCosts(results: readonly Result[]): string {
  const rows = results.map((r) => [
    r.scenario,
    r.controllerWritesPerClaim.toFixed(2),
    ...CONTROLLERS.map((name) => r.controllers[name].writesPerClaim.toFixed(2)),
    r.reconcilesPerClaim.toFixed(2),
    r.conflictsPerClaim.toFixed(3),
  ]);
  const writes = CONTROLLERS.map((name) => `${name}, refill included`);
  return formatTable(['per claim', 'writes, refill apart', ...writes, 'reconciles', 'conflicts'], rows);
}

function getControllers(results: readonly Result[]): string {
  const rows = results.map((r) => [
    r.scenario,
    ...CONTROLLERS.map((name) => {
      const { cpuMs, rssMiB, reconcilesPerClaim } = r.controllers[name];
      return `${formatMs(cpuMs)}, ${Math.round(rssMiB)} MiB, ${reconcilesPerClaim.toFixed(1)}`;
    }),
  ]);
  return formatTable(['CPU, memory, reconciles per claim', ...CONTROLLERS], rows);
}

function formatMs(value: number): string {
  return value < 100 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

function formatTimes(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}

/** A Markdown table, numbers to the right. */
function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

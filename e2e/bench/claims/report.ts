import type { Result } from './run.ts';
import { CONTROLLERS } from './stage.ts';

/** Renders the results as Markdown tables: times compared with the floor of the same run, then costs. */
export function renderReport(results: readonly Result[]): string {
  return [timesOf(results), costsOf(results), controllersOf(results)].join('\n\n');
}

function timesOf(results: readonly Result[]): string {
  const rows = results.map((r) => [
    r.scenario,
    String(r.claims),
    `${Math.round((100 * r.warm) / r.claims)}%`,
    ms(r.allReadyMs),
    times(r.allReadyMs / r.floorAllReadyMs),
    ms(r.p50Ms),
    times(r.p50Ms / r.floorP50Ms),
    ms(r.p90Ms),
    ms(r.p99Ms),
    r.nextBindMs === undefined ? '' : ms(r.nextBindMs),
  ]);
  const head = ['scenario', 'claims', 'warm', 'all Ready', 'to floor', 'p50', 'to floor', 'p90', 'p99', 'next bind'];
  return table(head, rows);
}

function costsOf(results: readonly Result[]): string {
  const rows = results.map((r) => [
    r.scenario,
    r.controllerWritesPerClaim.toFixed(2),
    ...CONTROLLERS.map((name) => r.controllers[name].writesPerClaim.toFixed(2)),
    r.reconcilesPerClaim.toFixed(2),
    r.conflictsPerClaim.toFixed(3),
  ]);
  const writes = CONTROLLERS.map((name) => `${name}, refill included`);
  return table(['per claim', 'writes, refill apart', ...writes, 'reconciles', 'conflicts'], rows);
}

function controllersOf(results: readonly Result[]): string {
  const rows = results.map((r) => [
    r.scenario,
    ...CONTROLLERS.map((name) => {
      const { cpuMs, rssMiB, reconcilesPerClaim } = r.controllers[name];
      return `${ms(cpuMs)}, ${Math.round(rssMiB)} MiB, ${reconcilesPerClaim.toFixed(1)}`;
    }),
  ]);
  return table(['CPU, memory, reconciles per claim', ...CONTROLLERS], rows);
}

function ms(value: number): string {
  return value < 100 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

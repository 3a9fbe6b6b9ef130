import { computeMedian } from '../support/median.ts';
import { CONTROLLERS } from '../claims/stage.ts';
import type { Round } from './rounds.ts';
import { VARIANTS } from './rounds.ts';

const HEAD = [
  'median of rounds',
  'rounds',
  'all Ready',
  'p50',
  'CPU until then',
  ...CONTROLLERS,
  'all three',
  'reconciles',
  'writes',
  'events',
  'span bytes',
];

/** Renders the medians by variant, and their cost above `none`, as a Markdown table. CPU in milliseconds per claim. */
export function renderOverhead(rounds: readonly Round[]): string {
  const byVariant = VARIANTS.map((variant) => rounds.filter((round) => round.variant === variant));
  const present = byVariant.filter((some) => some.length > 0);
  const [bare] = byVariant;
  const rows = present.flatMap((some) => {
    const isCompared = bare !== undefined && bare.length > 0 && some !== bare;
    return isCompared ? [getRow(some), formatRatioRow(some, bare)] : [getRow(some)];
  });
  return [HEAD, HEAD.map((_, index) => (index === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** The compared numbers of a round, in the order of the columns. */
function listFigures(round: Round): number[] {
  const cpu = CONTROLLERS.map((name) => round.cpuMs[name]);
  return [round.allReadyMs, round.p50Ms, round.busyCpuMs, ...cpu, cpu.reduce((sum, each) => sum + each, 0)];
}

function computeMedians(rounds: readonly Round[]): number[] {
  const all = rounds.map(listFigures);
  return (all[0] ?? []).map((_, column) => computeMedian(all.map((row) => row[column] ?? Number.NaN)));
}

function getRow(rounds: readonly Round[]): string[] {
  const [allReady = 0, p50 = 0, ...cpu] = computeMedians(rounds);
  const reconciles = computeMedian(rounds.map(({ reconcilesPerClaim }) => reconcilesPerClaim));
  const writes = computeMedian(rounds.map(({ writesPerClaim }) => writesPerClaim));
  const events = computeMedian(rounds.map(({ eventsPerClaim }) => eventsPerClaim));
  const bytes = computeMedian(rounds.map(({ traceBytesPerClaim }) => traceBytesPerClaim));
  return [
    rounds[0]?.variant ?? '',
    String(rounds.length),
    `${Math.round(allReady)} ms`,
    `${Math.round(p50)} ms`,
    ...cpu.map((ms) => `${ms.toFixed(2)} ms`),
    reconciles.toFixed(1),
    writes.toFixed(1),
    events.toFixed(1),
    String(Math.round(bytes)),
  ];
}

function formatRatioRow(rounds: readonly Round[], bare: readonly Round[]): string[] {
  const without = computeMedians(bare);
  const ratios = computeMedians(rounds).map((value, column) =>
    formatPercent(value / (without[column] ?? Number.NaN) - 1),
  );
  return ['above none', '', ...ratios, '', '', '', ''];
}

function formatPercent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)}%`;
}

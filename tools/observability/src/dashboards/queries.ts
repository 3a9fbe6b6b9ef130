// PromQL that recurs, so that every panel of a kind asks in the same way.
import type { Query } from './model.ts';

const QUANTILES = [0.5, 0.95, 0.99] as const;

const matchers = (own: string): string => (own === '' ? '$sel' : `$sel,${own}`);

/** `metric{...}` of the chosen processes. */
export function of(metric: string, own = ''): string {
  return `${metric}{${matchers(own)}}`;
}

/** Events a second, by labels. */
export function rate(metric: string, { by = '', where = '' } = {}): string {
  const grouping = by === '' ? '' : ` by (${by})`;
  return `sum${grouping} (rate(${of(metric, where)}[$__rate_interval]))`;
}

interface QuantileInput {
  readonly by?: string;
  readonly where?: string;
}

/** A quantile of a histogram, given without `_bucket`. */
export function quantile(q: number, histogram: string, { by = '', where = '' }: QuantileInput = {}): string {
  return `histogram_quantile(${q}, ${rate(`${histogram}_bucket`, { by: by === '' ? 'le' : `le, ${by}`, where })})`;
}

/** Mean of a histogram, by labels. */
export function mean(histogram: string, { by = '', where = '' }: QuantileInput = {}): string {
  return `${rate(`${histogram}_sum`, { by, where })} / ${rate(`${histogram}_count`, { by, where })}`;
}

/** p50, p95 and p99. */
export function quantiles(histogram: string, where = ''): readonly Query[] {
  return QUANTILES.map((q) => ({
    expr: quantile(q, histogram, { where }),
    legend: `p${q * 100}`,
    exemplars: q === 0.99,
  }));
}

/** Share of the observations that were at most `le` seconds. */
export function share(histogram: string, { le, where }: { readonly le: number; readonly where: string }): string {
  return `${rate(`${histogram}_bucket`, { where: `${where},${leMatcher(le)}` })} / ${rate(`${histogram}_count`, { where })}`;
}

/** Prometheus 3 writes `10.0` for what Prometheus 2 stores as `10`. */
export function leMatcher(le: number): string {
  return Number.isInteger(le) ? `le=~"${le}|${le}[.]0"` : `le="${le}"`;
}

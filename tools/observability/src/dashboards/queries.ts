// PromQL that several panels share, so that panels of one kind use the same query.
import type { Query } from './model.ts';

const QUANTILES = [0.5, 0.95, 0.99] as const;

const matchers = (own: string): string => (own === '' ? '$sel' : `$sel,${own}`);

/** Returns `metric{...}` for the selected processes. */
export function select(metric: string, own = ''): string {
  return `${metric}{${matchers(own)}}`;
}

/**
 * Returns a gauge that one process exports for each object. While the work on an object moves to another process, both may: so
 * a sum takes the larger value of each series once.
 */
export function selectOnce(metric: string, own = ''): string {
  return `max without (instance, pod) (${select(metric, own)})`;
}

/** Returns the rate per second, summed by labels. */
export function rate(metric: string, { by = '', where = '' } = {}): string {
  const grouping = by === '' ? '' : ` by (${by})`;
  return `sum${grouping} (rate(${select(metric, where)}[$__rate_interval]))`;
}

interface QuantileInput {
  readonly by?: string;
  readonly where?: string;
}

/** Returns a quantile of a histogram. The name comes without `_bucket`. */
export function quantile(q: number, histogram: string, { by = '', where = '' }: QuantileInput = {}): string {
  return `histogram_quantile(${q}, ${rate(`${histogram}_bucket`, { by: by === '' ? 'le' : `le, ${by}`, where })})`;
}

/** Returns the mean of a histogram, by labels. */
export function mean(histogram: string, { by = '', where = '' }: QuantileInput = {}): string {
  return `${rate(`${histogram}_sum`, { by, where })} / ${rate(`${histogram}_count`, { by, where })}`;
}

/** Returns the queries for p50, p95 and p99. */
export function quantiles(histogram: string, where = ''): readonly Query[] {
  return QUANTILES.map((q) => ({
    expr: quantile(q, histogram, { where }),
    legend: `p${q * 100}`,
    exemplars: q === 0.99,
  }));
}

/** Returns the share of observations of at most `le` seconds. */
export function share(histogram: string, { le, where }: { readonly le: number; readonly where: string }): string {
  return `${rate(`${histogram}_bucket`, { where: `${where},${leMatcher(le)}` })} / ${rate(`${histogram}_count`, { where })}`;
}

/** Returns a matcher for the label `le`. Prometheus 3 stores `10.0` where Prometheus 2 stores `10`. */
export function leMatcher(le: number): string {
  return Number.isInteger(le) ? `le=~"${le}|${le}[.]0"` : `le="${le}"`;
}

import type { GrafanaDashboard, GrafanaPanel, GrafanaTarget } from '../dashboards/grafana.ts';

/** A time range in epoch seconds. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

export interface Series {
  /** Name in the panel's legend. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Epoch seconds and value. Values may be NaN. */
  readonly points: readonly (readonly [number, number])[];
}

export interface Exemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestamp: number;
}

/** Prometheus's results for one query of a panel. */
export interface Answer {
  readonly target: GrafanaTarget;
  readonly series: readonly Series[];
  /** Empty unless the panel shows exemplars. */
  readonly exemplars: readonly Exemplar[];
}

export interface Collected {
  readonly panel: GrafanaPanel;
  readonly answers: readonly Answer[];
}

/** Scrapes per `$__rate_interval`. Rates over too few scrapes are empty; Grafana uses at least four. */
const SCRAPES_PER_RATE = 10;

export interface Source {
  /** Base URL of a Prometheus. */
  readonly url: string;
  readonly scrapeSeconds: number;
}

/** Runs all queries of a dashboard, with every value of each variable selected. Throws if Prometheus rejects one. */
export async function collect(
  source: Source,
  dashboard: GrafanaDashboard,
  range: Range,
): Promise<readonly Collected[]> {
  const collected: Collected[] = [];
  for (const panel of dashboard.panels) {
    if (panel.type === 'row') continue;
    const answers: Answer[] = [];
    for (const target of panel.targets ?? []) answers.push(await runQuery(source, target, range));
    collected.push({ panel, answers });
  }
  return collected;
}

async function runQuery(source: Source, target: GrafanaTarget, range: Range): Promise<Answer> {
  const query = interpolate(target.expr, source);
  const [series, exemplars] = await Promise.all([
    fetchSeries(source, { query, legend: target.legendFormat }, range),
    target.exemplar ? fetchExemplars(source, query, range) : [],
  ]);
  return { target, series, exemplars };
}

/** Replaces variables as Grafana does before it sends a query, with every value selected. */
export function interpolate(expr: string, { scrapeSeconds }: Pick<Source, 'scrapeSeconds'>): string {
  const rateInterval = `${Math.max(2, Math.ceil(scrapeSeconds * SCRAPES_PER_RATE))}s`;
  return expr.replaceAll('$__rate_interval', rateInterval).replaceAll(/"\$\w+"/g, '".+"');
}

async function fetchSeries(
  source: Source,
  { query, legend }: { readonly query: string; readonly legend: string },
  { start, end, step }: Range,
): Promise<readonly Series[]> {
  const parameters = { query, start: String(start), end: String(end), step: String(step) };
  const { result } = await ask<{
    result: readonly { metric: Record<string, string>; values: readonly (readonly [number, string])[] }[];
  }>(source, 'query_range', parameters);
  return result.map(({ metric, values }) => ({
    name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
    labels: metric,
    points: values.map(([at, value]) => [at, Number(value)] as const),
  }));
}

async function fetchExemplars(source: Source, query: string, { start, end }: Range): Promise<readonly Exemplar[]> {
  const parameters = { query, start: String(start), end: String(end) };
  const found = await ask<
    readonly { exemplars: readonly { labels: Record<string, string>; value: string; timestamp: number }[] }[]
  >(source, 'query_exemplars', parameters);
  return found.flatMap(({ exemplars }) =>
    exemplars.map(({ labels, value, timestamp }) => ({ labels, value: Number(value), timestamp })),
  );
}

async function ask<T>({ url }: Source, call: string, parameters: Record<string, string>): Promise<T> {
  const response = await fetch(`${url}/api/v1/${call}?${new URLSearchParams(parameters).toString()}`);
  const body = (await response.json()) as { status: string; error?: string; data: T };
  if (body.status !== 'success')
    throw new Error(`Prometheus rejects ${parameters['query'] ?? ''}: ${body.error ?? ''}`);
  return body.data;
}

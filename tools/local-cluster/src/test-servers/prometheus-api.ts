/** One series of an instant query's answer. */
export interface PromSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A measurement that names its trace. */
export interface PromExemplar {
  /** Of the series it belongs to, `__name__` included. */
  readonly series: Readonly<Record<string, string>>;
  /** `trace_id` and others, as on the wire. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Epoch seconds. */
  readonly timestamp: number;
}

/** A Prometheus refused a query; the message is its own. */
export class PromQueryError extends Error {
  constructor(query: string, message: string) {
    super(`${query}: ${message}`);
    this.name = 'PromQueryError';
  }
}

interface Answer<T> {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data: T;
}

interface VectorJson {
  readonly resultType: string;
  readonly result: readonly { readonly metric: Record<string, string>; readonly value: readonly [number, string] }[];
}

interface ExemplarsJson {
  readonly seriesLabels: Record<string, string>;
  readonly exemplars: readonly { labels: Record<string, string>; value: string; timestamp: number }[];
}

/** An instant query now, of PromQL that gives a vector. Throws PromQueryError. */
export async function promQuery(url: string, query: string): Promise<readonly PromSeries[]> {
  const { resultType, result } = await ask<VectorJson>(url, 'query', { query });
  if (resultType !== 'vector') throw new PromQueryError(query, `gives a ${resultType}, not a vector`);
  return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

/** The stored exemplars of a selector's series between two moments, in epoch seconds. Throws PromQueryError. */
export async function promExemplars(
  url: string,
  query: string,
  range: { start: number; end: number },
): Promise<readonly PromExemplar[]> {
  const parameters = { query, start: String(range.start), end: String(range.end) };
  const data = await ask<readonly ExemplarsJson[]>(url, 'query_exemplars', parameters);
  return data.flatMap(({ seriesLabels, exemplars }) =>
    exemplars.map(({ labels, value, timestamp }) => ({
      series: seriesLabels,
      labels,
      value: Number(value),
      timestamp,
    })),
  );
}

async function ask<T>(url: string, call: string, parameters: { query: string } & Record<string, string>): Promise<T> {
  const response = await fetch(`${url}/api/v1/${call}?${new URLSearchParams(parameters).toString()}`);
  const answer = (await response.json()) as Answer<T>;
  if (answer.status === 'error') throw new PromQueryError(parameters.query, answer.error ?? `HTTP ${response.status}`);
  return answer.data;
}

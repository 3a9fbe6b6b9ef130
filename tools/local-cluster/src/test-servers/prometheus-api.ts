/** One series in the result of an instant query. */
export interface PromSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A measurement with the id of its trace. */
export interface PromExemplar {
  /** Labels of its series, including `__name__`. */
  readonly series: Readonly<Record<string, string>>;
  /** Labels of the exemplar itself, such as `trace_id`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Epoch seconds. */
  readonly timestamp: number;
}

/** Prometheus rejected a query. The message is its own. */
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

/** Runs an instant query at the current time. The PromQL must return a vector. Throws PromQueryError. */
export async function promQuery(url: string, query: string): Promise<readonly PromSeries[]> {
  const { resultType, result } = await ask<VectorJson>(url, 'query', { query });
  if (resultType !== 'vector') throw new PromQueryError(query, `gives a ${resultType}, not a vector`);
  return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

/** Returns the stored exemplars of the selected series in a range of epoch seconds. Throws PromQueryError. */
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

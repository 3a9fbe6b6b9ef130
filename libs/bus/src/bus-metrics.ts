/** What happened to a published event. `retried` counts attempts, the others are final. */
export type PublishOutcome = 'acked' | 'retried' | 'dropped';

/** Where a bus reports its metrics. */
export interface BusMetrics {
  connected(up: boolean): void;
  /** For events of `publish`; callers of `send` count their own. */
  published(type: string, outcome: PublishOutcome): void;
  /** Events of `publish` that are not acknowledged yet. */
  pending(count: number): void;
  hint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
  /** How many declared settings of a stream the server refuses; a stream that it refuses counts as one. */
  refusedSettings(stream: string, count: number): void;
}

const ignore = (): void => undefined;

/** Metrics that are not recorded. */
export const noMetrics: BusMetrics = {
  connected: ignore,
  published: ignore,
  pending: ignore,
  hint: ignore,
  refusedSettings: ignore,
};

/** What happened to a published event. `retried` counts attempts, the others are final. */
export type PublishOutcome = 'acked' | 'retried' | 'dropped';

/** Where a bus reports its metrics. */
export interface BusMetrics {
  setConnected(up: boolean): void;
  /** For events of `publish`; callers of `send` count their own. */
  countPublished(type: string, outcome: PublishOutcome): void;
  /** Events of `publish` that are not acknowledged yet. */
  setPending(count: number): void;
  countHint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
  /** How many declared settings of a stream the server refuses; a stream that it refuses counts as one. */
  setRefusedSettings(stream: string, count: number): void;
}

const ignore = (): void => undefined;

/** Metrics that are not recorded. */
export const noMetrics: BusMetrics = {
  setConnected: ignore,
  countPublished: ignore,
  setPending: ignore,
  countHint: ignore,
  setRefusedSettings: ignore,
};

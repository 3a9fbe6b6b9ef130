/** What happened to a published event. `retried` counts attempts, the others are final. */
export type PublishOutcome = 'acked' | 'retried' | 'dropped';

/** Where a bus reports to, or to a part of it. */
export interface BusMetrics {
  connected(up: boolean): void;
  /** Of events given to `publish`; whoever uses `send` counts them himself. */
  published(type: string, outcome: PublishOutcome): void;
  /** Events given to `publish` and not acknowledged yet. */
  pending(count: number): void;
  hint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
  /** How many declared settings of a stream the server refuses; a stream that it refuses counts as one. */
  refusedSettings(stream: string, count: number): void;
}

const ignore = (): void => undefined;

/** Metrics that go nowhere. */
export const noMetrics: BusMetrics = {
  connected: ignore,
  published: ignore,
  pending: ignore,
  hint: ignore,
  refusedSettings: ignore,
};

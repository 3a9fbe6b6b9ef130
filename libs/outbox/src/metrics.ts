import type { DeadLetterState, EventType } from '@sandlot/bus';

/** Result of one try to send an event. `dropped` is final: no server accepts it. */
export type SendOutcome = 'acked' | 'failed' | 'dropped';

export interface Watched {
  readonly name: string;
  readonly types: readonly EventType[];
  readonly getStats: () => { readonly pending: number; readonly oldestSeconds: number };
}

/** Metrics of outboxes; `createOutboxMetrics` of the telemetry library implements it. */
export interface OutboxMetrics {
  /** Samples the backlog of an outbox at each scrape and starts its counters at 0. */
  watch(outbox: Watched): void;
  countPublished(type: EventType, outcome: SendOutcome): void;
  /** A pass failed: it could not send, read or record something. */
  countFailure(name: string): void;
  /** States that found no room; only facts that still hold are published. */
  countCollapsed(name: string, states: number): void;
  setDeadLetters(state: DeadLetterState): void;
}

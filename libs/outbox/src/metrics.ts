import type { DeadLetterState, EventType } from '@sandlot/bus';

/** What became of one try to send an event. `dropped` is final: no server takes it. */
export type SendOutcome = 'acked' | 'failed' | 'dropped';

export interface Watched {
  readonly name: string;
  readonly types: readonly EventType[];
  readonly stats: () => { readonly pending: number; readonly oldestSeconds: number };
}

/** Where outboxes report to; `createOutboxMetrics` of the telemetry library satisfies it. */
export interface OutboxMetrics {
  /** Reads the backlog of an outbox whenever it is scraped, and begins its counters at 0. */
  watch(outbox: Watched): void;
  published(type: EventType, outcome: SendOutcome): void;
  /** A pass ended early: something could not be sent, read or recorded. */
  failed(name: string): void;
  /** States that had no room, and of which only what still holds is told. */
  collapsed(name: string, states: number): void;
  deadLetters(state: DeadLetterState): void;
}

export { formatFactName } from './fact.ts';
export type { AnyFact, End, Fact, FactSource } from './fact.ts';
export type { OutboxMetrics, SendOutcome, Watched } from './metrics.ts';
export { createOutbox } from './outbox.ts';
export type { Outbox, OutboxOptions } from './outbox.ts';

import type { Purpose } from './deadline.ts';

/** The fate of a job that fired: it enqueued its object (`queued`), or the object has changed or is gone (`stale`). */
export type Fate = 'queued' | 'stale';

/** Metrics of deadlines. */
export interface DeadlineMetrics {
  setConnected(up: boolean): void;
  /** Samples at each scrape the deadlines still to come: those with a job in Redis, and those that are timers only. */
  watchPending(sample: () => { readonly redis: number; readonly timer: number }): void;
  countFired(purpose: Purpose, fate: Fate): void;
  /** A pass started this long after the deadline. */
  observeLateness(purpose: Purpose, lateSeconds: number): void;
  /** One audit found this many missing jobs and this many orphaned ones. */
  countAudit(missing: number, orphaned: number): void;
}

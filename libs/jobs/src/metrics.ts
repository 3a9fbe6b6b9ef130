import type { Purpose } from './deadline.ts';

/** What became of a job that fired: its object is looked at, or it was for an object that has changed or is gone. */
export type Fate = 'queued' | 'stale';

/** What deadlines report to. */
export interface DeadlineMetrics {
  connected(up: boolean): void;
  /** Calls back at each scrape for the deadlines whose time has not come: those that Redis has, and those that are timers alone. */
  watchPending(sample: () => { readonly redis: number; readonly timer: number }): void;
  fired(purpose: Purpose, fate: Fate): void;
  /** A pass began this long after the deadline. */
  met(purpose: Purpose, lateSeconds: number): void;
  /** One audit found so many jobs missing, and so many without a deadline. */
  audited(missing: number, orphaned: number): void;
}

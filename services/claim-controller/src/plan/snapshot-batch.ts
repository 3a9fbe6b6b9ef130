import type { Sandbox } from '@sandlot/api-types';
import type { ClaimSnapshot } from './snapshot.ts';

/** Everything that the decision about one detached claim depends on. */
export interface BatchSnapshot extends ClaimSnapshot {
  /** Sandboxes in slots of the claim that are not being deleted, each in its newest known form. */
  readonly live: readonly Sandbox[];
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
}

import type { Sandbox, SandboxTemplate, SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { PoolHistory } from '../history/history.ts';
import type { Window } from '../sizing/schedule.ts';

/** An unclaimed Sandbox of the pool, or a stray one. */
export interface Member {
  readonly sandbox: Sandbox;
  /** Built from the blueprint that the template has now; otherwise it is stale. */
  readonly current: boolean;
}

/** Everything that a decision about one pool depends on, read at one moment. Plain data. */
export interface PoolSnapshot {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate | undefined;
  /** Blueprint hash of the template; undefined without one. */
  readonly templateHash: string | undefined;
  /** Name of the golden snapshot from which new members can be restored; undefined: they boot. */
  readonly golden?: string | undefined;
  /** Why no Pod of the template may start yet; undefined: its network rules are in place. */
  readonly networkGap?: string | undefined;
  /** Members without a deletionTimestamp, as the watch shows them. */
  readonly members: readonly Member[];
  /** Sandboxes with the label of this pool's members and no controller owner. */
  readonly strays: readonly Member[];
  /** Members with a deletionTimestamp; the pool refills their place when they are gone. */
  readonly terminating: number;
  /** Our creates that the watch has not shown yet. */
  readonly unseenCreates: number;
  /** UIDs of members that we deleted and that the watch still shows without a deletionTimestamp. */
  readonly unseenDeletes: ReadonlySet<string>;
  /** The installation's limit of starting members, for a pool without `refill.maxInFlight`. */
  readonly maxInFlight?: number | undefined;
  /** Live Sandboxes that claims adopted from this pool. */
  readonly inUse: number;
  /** The pool's schedules at this moment. */
  readonly windows: readonly Window[];
  readonly history: PoolHistory;
  /** The status of `pool`: the last one that this process wrote, until the watch shows a later one. */
  readonly lastStatus: SandboxWarmPoolStatus | undefined;
  /** Monotonic time before which this process writes the status only for an urgent change. */
  readonly statusNotBeforeMs: number;
  /** Wall clock, for times in objects. */
  readonly nowMs: number;
  /** For times in `history` and `statusNotBeforeMs`. */
  readonly monotonicMs: number;
  /** In [0, 1), drawn for this pass: spreads the requeues of many pools. */
  readonly jitter: number;
}

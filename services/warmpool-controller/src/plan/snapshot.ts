import type { Sandbox, SandboxTemplate, SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { Recollection } from '../history/history.ts';
import type { Window } from '../sizing/schedule.ts';

/** An unclaimed Sandbox of the pool. */
export interface Member {
  readonly sandbox: Sandbox;
  /** Built from the template as it is now. */
  readonly current: boolean;
}

/** Everything a decision about one pool looks at, read at one moment. */
export interface PoolSnapshot {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate | undefined;
  /** Blueprint hash of the template; undefined without one. */
  readonly templateHash: string | undefined;
  /** Members that nobody has asked to delete, as far as the watch shows. */
  readonly members: readonly Member[];
  /** Sandboxes labelled as members of this pool that nobody controls. */
  readonly strays: readonly Member[];
  /** Members on their way out; their place is refilled when they are gone. */
  readonly terminating: number;
  /** Creates of ours that the watch has not shown yet. */
  readonly unseenCreates: number;
  /** UIDs of members we deleted and the watch still shows as they were. */
  readonly unseenDeletes: ReadonlySet<string>;
  /** Members that may be starting at once where the pool does not say; the built-in limit, when absent. */
  readonly maxInFlight?: number | undefined;
  /** Live Sandboxes that claims took from this pool. */
  readonly inUse: number;
  /** The schedules of the pool as they are now. */
  readonly windows: readonly Window[];
  /** What this process remembers of the pool; nothing of it is needed for correctness. */
  readonly memory: Recollection;
  /** The status as last written: by this process, else as the watch shows it. */
  readonly lastStatus: SandboxWarmPoolStatus | undefined;
  /** Wall clock, for what objects say. */
  readonly nowMs: number;
  /** For what this process remembers. */
  readonly monotonicMs: number;
  /** In [0, 1), drawn for this pass: spreads looks at many pools. */
  readonly jitter: number;
}

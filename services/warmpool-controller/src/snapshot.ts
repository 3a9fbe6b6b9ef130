import type { Sandbox, SandboxTemplate, SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';

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
  /** Members on their way out; their place is refilled when they are gone. */
  readonly terminating: number;
  /** Creates of ours that the watch has not shown yet. */
  readonly unseenCreates: number;
  /** UIDs of members we deleted and the watch still shows as they were. */
  readonly unseenDeletes: ReadonlySet<string>;
  /** Live Sandboxes that claims took from this pool. */
  readonly inUse: number;
  /** The status as last written: by this process, else as the watch shows it. */
  readonly lastStatus: SandboxWarmPoolStatus | undefined;
  readonly nowMs: number;
}

import type { SandboxWarmPoolStatus } from '@sandlot/api-types';

/** Each adoption changes counts of the status; writing it each time would cost more than the adoptions. */
const INTERVAL_MS = 250;

interface StatusWrite {
  readonly status: SandboxWarmPoolStatus;
  readonly atMs: number;
}

/**
 * The status that this process last wrote for each pool, and when. Writes of one pool keep a distance, so that a burst of
 * claims costs few of them, and an Event is sent once although the watch shows an old status for a while.
 */
export class StatusWrites {
  readonly #byPool = new Map<string, StatusWrite>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  last(poolKey: string): SandboxWarmPoolStatus | undefined {
    return this.#byPool.get(poolKey)?.status;
  }

  /** Monotonic time from which the next write is due. */
  nextMs(poolKey: string): number {
    const last = this.#byPool.get(poolKey);
    return last === undefined ? -Infinity : last.atMs + INTERVAL_MS;
  }

  /** Call it before the write: the watch shows whether the write arrived. */
  record(poolKey: string, status: SandboxWarmPoolStatus): void {
    this.#byPool.set(poolKey, { status, atMs: this.#monotonic() });
  }

  forget(poolKey: string): void {
    this.#byPool.delete(poolKey);
  }
}

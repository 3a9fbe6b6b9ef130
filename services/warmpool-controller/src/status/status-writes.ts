import type { SandboxWarmPoolStatus } from '@sandlot/api-types';

/** Counts change with every adoption; a status per change would cost more than the adoptions. */
const INTERVAL_MS = 250;

interface StatusWrite {
  readonly status: SandboxWarmPoolStatus;
  readonly atMs: number;
}

/**
 * What this process last wrote into the status of each pool, and when: writes of one pool are kept apart, so that a burst
 * of claims costs a few of them, and a transition is told once although the watch shows old statuses for a while.
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

  /** Milliseconds until the next write may be made; 0 when it may be now. */
  waitMs(poolKey: string): number {
    const last = this.#byPool.get(poolKey);
    return last === undefined ? 0 : Math.max(0, last.atMs + INTERVAL_MS - this.#monotonic());
  }

  /** Call it before the write: whether it arrives is for the watch to show. */
  record(poolKey: string, status: SandboxWarmPoolStatus): void {
    this.#byPool.set(poolKey, { status, atMs: this.#monotonic() });
  }

  forget(poolKey: string): void {
    this.#byPool.delete(poolKey);
  }
}

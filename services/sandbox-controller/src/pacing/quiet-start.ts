import type { Sandbox } from '@sandlot/api-types';

/** A Pod that fits nowhere is told of after this long: somebody has to make room. A node may be unfit for a moment. */
export const UNFIT_MS = 2_000;

/**
 * How long the first seconds of a Pod are not reported step by step: most Pods are Ready by then, and their whole start
 * costs one status write. A slow start is told as it goes, and everything a client may act on is written at once.
 */
const QUIET_START_MS = 5_000;

/** For each Sandbox that starts: however many there are, telling that starts are slow costs ten writes a second at most. */
const PER_START_MS = 100;

/** Whatever else starts, a Pod that hangs for two minutes is reported. */
const LONGEST_QUIET_MS = 120_000;

/**
 * How long the start of each Sandbox may go untold. In a burst every start is slow because of all the others, and a report
 * of each would slow them further: the more Sandboxes are starting, the longer it is until a start counts as slow. What a
 * start was once granted it keeps, for the last of a burst has waited for all those before it. Kept in memory only: a new
 * process starts from what its cache shows.
 */
export class Patience {
  /** Of the Sandboxes in the cache, those without a status. */
  #untold = 0;
  readonly #grantedMs = new Map<string, number>();

  /** Milliseconds after the creation of the Pod. Asked in every pass, as the burst may still be growing. */
  quietMs(sandbox: Sandbox): number {
    if (!isUntold(sandbox)) return QUIET_START_MS;
    const { uid = '' } = sandbox.metadata;
    const nowMs = Math.min(Math.max(QUIET_START_MS, this.#untold * PER_START_MS), LONGEST_QUIET_MS);
    const grantedMs = Math.max(nowMs, this.#grantedMs.get(uid) ?? 0);
    if (grantedMs > QUIET_START_MS) this.#grantedMs.set(uid, grantedMs);
    return grantedMs;
  }

  /** To be called with every change of the cache of Sandboxes. */
  observed({ old, next }: { readonly old: Sandbox | undefined; readonly next: Sandbox | undefined }): void {
    this.#untold += Number(isUntold(next)) - Number(isUntold(old));
    if (!isUntold(next)) this.#grantedMs.delete((next ?? old)?.metadata.uid ?? '');
  }
}

function isUntold(sandbox: Sandbox | undefined): boolean {
  return sandbox !== undefined && sandbox.status?.conditions === undefined;
}

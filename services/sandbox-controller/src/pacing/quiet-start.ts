import type { Sandbox } from '@sandlot/api-types';

/** How long an unschedulable Pod is quiet: a node may be unfit for a moment; after that somebody has to make room. */
export const UNFIT_MS = 2_000;

/**
 * For this long the start of a Pod is not reported step by step. Most Pods are Ready by then, so their whole start costs
 * one status write. A slower start is reported as it goes, and what a client may act on is written at once.
 */
const QUIET_START_MS = 5_000;

/** For each Sandbox that starts: reports about slow starts cost ten writes a second at most, however many there are. */
const PER_START_MS = 100;

/** A Pod that hangs for two minutes is reported, whatever else starts. */
const LONGEST_QUIET_MS = 120_000;

/**
 * How long the start of each Sandbox is not reported. In a burst all starts are slow because of each other, and reports
 * would slow them further, so the quiet time grows with the number of Sandboxes that start. A start keeps the longest time
 * it was granted: the last one of a burst has waited for all those before it. In memory only.
 */
export class QuietStarts {
  /** Sandboxes in the cache without a status. */
  #starting = 0;
  readonly #grantedMs = new Map<string, number>();

  /** Grants the quiet time of this moment, if it is longer than what the start has. Call it in every pass. */
  grant(sandbox: Sandbox): void {
    const quietMs = this.quietMs(sandbox);
    if (quietMs > QUIET_START_MS) this.#grantedMs.set(sandbox.metadata.uid ?? '', quietMs);
  }

  /** Milliseconds after the creation of the Pod. */
  quietMs(sandbox: Sandbox): number {
    if (!isStarting(sandbox)) return QUIET_START_MS;
    const nowMs = Math.min(Math.max(QUIET_START_MS, this.#starting * PER_START_MS), LONGEST_QUIET_MS);
    return Math.max(nowMs, this.#grantedMs.get(sandbox.metadata.uid ?? '') ?? 0);
  }

  /** Call it with every change of the cache of Sandboxes. */
  onSandboxChange({ old, next }: { readonly old: Sandbox | undefined; readonly next: Sandbox | undefined }): void {
    this.#starting += Number(isStarting(next)) - Number(isStarting(old));
    if (!isStarting(next)) this.#grantedMs.delete((next ?? old)?.metadata.uid ?? '');
  }
}

function isStarting(sandbox: Sandbox | undefined): boolean {
  return sandbox !== undefined && sandbox.status?.conditions === undefined;
}

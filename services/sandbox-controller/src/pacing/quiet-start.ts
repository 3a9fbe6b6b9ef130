import type { Sandbox } from '@sandlot/api-types';
import { computeFairDelayMs, pacing } from '@sandlot/pacing';

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
    if (quietMs > pacing.startStatus.quietMs) this.#grantedMs.set(sandbox.metadata.uid ?? '', quietMs);
  }

  /** Milliseconds after the creation of the Pod. */
  quietMs(sandbox: Sandbox): number {
    const { quietMs, perStartMs, longestMs } = pacing.startStatus;
    if (!isStarting(sandbox)) return quietMs;
    const nowMs = computeFairDelayMs(this.#starting, { perItemMs: perStartMs, longestMs, leastMs: quietMs });
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

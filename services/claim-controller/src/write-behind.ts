import { sandboxClaims } from '@sandlot/api-types';
import { isConflict, isNotFound, parseKey } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';

export interface WriteBehindDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long annotations are gathered before they are written, milliseconds. */
  readonly windowMs: number;
  /** Called for a claim whose annotations could not be written: the next pass derives them again. */
  readonly onFailure: (claimKey: string) => void;
}

interface Pending {
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Bookkeeping annotations of claims, off the latency path: gathered for a moment, then one patch per claim at the lowest
 * priority. If the process dies first, the next pass over the claim finds them missing and writes them.
 */
export class WriteBehind {
  readonly #deps: WriteBehindDeps;
  readonly #pending = new Map<string, Pending>();

  constructor(deps: WriteBehindDeps) {
    this.#deps = deps;
  }

  schedule(claimKey: string, pending: Pending): void {
    const scheduled = this.#pending.has(claimKey);
    this.#pending.set(claimKey, pending);
    if (!scheduled) this.#deps.clock.setTimeout(() => void this.#write(claimKey), this.#deps.windowMs);
  }

  async #write(claimKey: string): Promise<void> {
    const pending = this.#pending.get(claimKey);
    this.#pending.delete(claimKey);
    if (pending === undefined) return;
    const { uid, annotations } = pending;
    try {
      const patch = { metadata: { uid, annotations } };
      await this.#deps.client.mergePatch(sandboxClaims, parseKey(claimKey), patch, { priority: 'background' });
    } catch (error) {
      // Gone, or another claim bears the name now: there is nothing left to note.
      if (isNotFound(error) || isConflict(error)) return;
      this.#deps.log.warn({ err: error, claim: claimKey }, 'annotations of a claim could not be written yet');
      this.#deps.onFailure(claimKey);
    }
  }
}

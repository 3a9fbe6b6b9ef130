import { findKeyQuota } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { BY_API_KEY, BY_CLAIM, BY_CONTROLLER } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import { hasPlace } from './quota.ts';
import type { Quota } from './quota.ts';

/** The part of the cache that is counted. */
export type Counted = {
  readonly [Kind in 'claims' | 'sandboxes']: { readonly store: Pick<Cache[Kind]['store'], 'listByIndex'> };
};

/**
 * Places of API keys. The replicas of the API cannot count for each other, but one claim-controller leads and sees all claims:
 * a claim gets a Sandbox once it is admitted here. A new leader finds the admitted claims by their Sandboxes.
 */
export class Places {
  readonly #cache: Counted;
  readonly #admitted = new Set<string>();

  constructor(cache: Counted) {
    this.#cache = cache;
  }

  /** The quota of the claim's key, while the claim has no place; undefined if nothing limits it. Costs little without a key. */
  findPendingQuota(claim: SandboxClaim): Quota | undefined {
    return findKeyQuota(claim) === undefined || this.isAdmitted(claim) ? undefined : this.findQuota(claim);
  }

  /** The quota of the claim's key; undefined if the claim has no key or its key no limit. */
  findQuota(claim: SandboxClaim): Quota | undefined {
    const quota = findKeyQuota(claim);
    if (quota === undefined) return undefined;
    let taken = 0;
    for (const other of this.#cache.claims.store.listByIndex(BY_API_KEY, quota.key)) {
      if (other.metadata.uid !== claim.metadata.uid && this.isAdmitted(other)) taken += other.spec.replicas ?? 1;
    }
    return { limit: quota.limit, taken };
  }

  /**
   * Takes the claim's places, unless they were taken since its pass looked. False: the key has too few. It neither waits nor
   * yields, so that two passes cannot take the same place.
   */
  admit(claim: SandboxClaim): boolean {
    const quota = this.findQuota(claim);
    if (quota !== undefined && !this.isAdmitted(claim) && !hasPlace(claim, quota)) return false;
    this.#admitted.add(claim.metadata.uid ?? '');
    return true;
  }

  /** Whether the claim has its places: it was admitted by this process, or has or had a Sandbox. */
  isAdmitted({ metadata: { uid = '' }, status }: SandboxClaim): boolean {
    if (this.#admitted.has(uid) || showsSandbox(status)) return true;
    const { store } = this.#cache.sandboxes;
    return [BY_CONTROLLER, BY_CLAIM].some((index) => hasAny(store.listByIndex(index, uid)));
  }

  forget({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#admitted.delete(uid);
  }
}

/** Whether the status shows a Sandbox, or did once: a bound claim that lost it gets another one. */
function showsSandbox(status: SandboxClaim['status']): boolean {
  const { completionTime, sandbox, claimedReplicas = 0 } = status ?? {};
  return completionTime !== undefined || claimedReplicas > 0 || (sandbox?.name ?? '') !== '';
}

function hasAny(objects: Iterable<unknown>): boolean {
  return objects[Symbol.iterator]().next().done !== true;
}

import type { ApiKey, Places } from '@sandlot/tenancy';
import { tooManySandboxes } from '../errors/create-errors.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { BY_KEY } from '../wiring/informers.ts';
import type { Allowance } from './allowance.ts';

export interface SandboxQuotaOptions {
  readonly state: Pick<ClusterState, 'claims'>;
  readonly places: Places;
  readonly getAllowance: (key: ApiKey) => Allowance;
}

/** How many sandboxes an API key may have at a time. */
export class SandboxQuota {
  readonly #options: SandboxQuotaOptions;

  constructor(options: SandboxQuotaOptions) {
    this.#options = options;
  }

  /** Reserves that many places, each to be disposed of by itself. Throws an ApiError 429, and then none is reserved. */
  reserveEach(key: ApiKey, wanted: number): readonly Disposable[] {
    const places: Disposable[] = [];
    try {
      while (places.length < wanted) places.push(this.reserve(key));
    } catch (error) {
      for (const place of places) place[Symbol.dispose]();
      throw error;
    }
    return places;
  }

  /**
   * Reserves places for `wanted` new sandboxes of the key; dispose of the result once the claim exists or its create failed.
   * Paused sandboxes count, and a batch counts with all its replicas. Creates at other replicas do not: for those the
   * claim-controller counts again. Throws an ApiError 429.
   */
  reserve(key: ApiKey, wanted = 1): Disposable {
    const { state, places, getAllowance } = this.#options;
    const limit = getAllowance(key).sandboxes;
    const { id, namespace } = key;
    let present = 0;
    for (const { spec } of state.claims.listByIndex(BY_KEY, `${namespace}/${id}`)) present += spec.replicas ?? 1;
    const place = places.take(id, { present, limit, wanted });
    if (place !== undefined) return place;
    throw tooManySandboxes(`this API key may have ${limit} sandboxes at a time; kill some, or ask for a larger quota`);
  }
}

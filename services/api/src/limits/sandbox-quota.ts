import type { ApiKey, Places } from '@sandlot/tenancy';
import { ApiError } from '../errors/api-error.ts';
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

  /**
   * Reserves places for `wanted` new sandboxes of the key; dispose of the result once the claim exists or its create failed.
   * Paused sandboxes count, and a batch counts with all its replicas. Throws an ApiError 429.
   */
  reserve(key: ApiKey, wanted = 1): Disposable {
    const { state, places, getAllowance } = this.#options;
    const limit = getAllowance(key).sandboxes;
    const { id, namespace } = key;
    let present = wanted - 1;
    for (const { spec } of state.claims.listByIndex(BY_KEY, `${namespace}/${id}`)) present += spec.replicas ?? 1;
    const place = places.take(id, { present, limit });
    if (place !== undefined) return place;
    const message = `this API key may have ${limit} sandboxes at a time; kill some, or ask for a larger quota`;
    throw new ApiError({ status: 429, message, headers: { 'Retry-After': '5' } });
  }
}

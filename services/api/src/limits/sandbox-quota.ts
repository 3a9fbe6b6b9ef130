import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import type { Deps } from '../wiring/deps.ts';
import { ApiError } from '../errors/api-error.ts';
import { BY_KEY } from '../wiring/informers.ts';
import { allowanceOf } from './allowance.ts';

/**
 * Takes room for so many more sandboxes of the key, until they are counted among those there are: paused ones count too, and
 * batches whole. Throws an ApiError 429.
 */
export function takePlace({ world, places, settings }: Deps, key: ApiKey, wanted = 1): Disposable {
  const { sandboxes: limit } = allowanceOf(key, settings);
  const { id, namespace } = key;
  const isCounted = ({ metadata }: SandboxClaim): boolean =>
    metadata.namespace === namespace && metadata.annotations?.[annotations.apiKeyId] === id;
  let present = wanted - 1;
  for (const { spec } of world.claims.all([BY_KEY, `${namespace}/${id}`], isCounted)) present += spec.replicas ?? 1;
  const place = places.take(id, { present, limit });
  if (place !== undefined) return place;
  const message = `this API key may have ${limit} sandboxes at a time; kill some, or ask for a larger quota`;
  throw new ApiError({ status: 429, message, headers: { 'Retry-After': '5' } });
}

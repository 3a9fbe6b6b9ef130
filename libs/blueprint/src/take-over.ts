import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube/objects';
import { ownedBy } from './owner.ts';

/**
 * Merge patch by which a pool takes over a Sandbox without a controller. It carries the Sandbox's uid and resourceVersion, so
 * that only the first writer succeeds (docs/reference/sandbox-warm-pool.md#members).
 */
export function takeOverPatch({ metadata }: Sandbox, pool: SandboxWarmPool): JsonObject {
  const { uid = '', resourceVersion = '', ownerReferences = [] } = metadata;
  const owners = [...ownerReferences, ownedBy(pool)];
  return { metadata: { uid, resourceVersion, ownerReferences: owners.map((owner) => ({ ...owner })) } };
}

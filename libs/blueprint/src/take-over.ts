import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube/objects';
import { ownedBy } from './owner.ts';

/**
 * Merge patch that makes a Sandbox nobody controls a member of a pool. It carries the Sandbox's uid and resourceVersion,
 * so that whoever takes it first has it (API contract, members).
 */
export function takeOverPatch({ metadata }: Sandbox, pool: SandboxWarmPool): JsonObject {
  const { uid = '', resourceVersion = '', ownerReferences = [] } = metadata;
  const owners = [...ownerReferences, ownedBy(pool)];
  return { metadata: { uid, resourceVersion, ownerReferences: owners.map((owner) => ({ ...owner })) } };
}

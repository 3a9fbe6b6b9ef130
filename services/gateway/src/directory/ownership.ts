import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { OwnerReference } from '@sandlot/kube/objects';

/**
 * The claim that holds an id. Any author of claims can use any id, so the oldest claim keeps it: no one takes over the traffic
 * of another. Among claims of the same second, the first one wins.
 */
export function findHolder(claims: Iterable<SandboxClaim>): SandboxClaim | undefined {
  let first: SandboxClaim | undefined;
  for (const claim of claims) if (first === undefined || getCreationTime(claim) < getCreationTime(first)) first = claim;
  return first;
}

const getCreationTime = ({ metadata }: SandboxClaim): string => metadata.creationTimestamp ?? '';

/** The owner reference to the claim of a Sandbox; undefined for one of a batch, of a pool, or created directly. */
export function findOwningClaim({ metadata }: Sandbox): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ kind, controller }) => kind === 'SandboxClaim' && controller === true);
}

import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { OwnerReference } from '@sandlot/kube';

/** Whom a request is for: by the id of the E2B API, or by namespace and name. */
export type Query =
  | { readonly by: 'id'; readonly id: string }
  | {
      readonly by: 'name';
      readonly namespace: string;
      readonly name: string;
      /** Of the Sandbox, if the client knows which incarnation it means. */
      readonly uid: string | undefined;
    };

/** What is known about whom a request is for. */
export interface Situation {
  readonly claim: SandboxClaim | undefined;
  readonly sandbox: Sandbox | undefined;
}

/** A text that stands for what a query asks for, so that those who ask the same share an answer. */
export function queryKey(query: Query): string {
  return query.by === 'id' ? query.id : `${query.namespace}/${query.name}`;
}

/**
 * The claim that an id stands for. Whoever may make claims may put any id on one: the first that had it keeps it, so that
 * nobody takes over the traffic of another. Of those of one second it is the one that was seen first.
 */
export function holderOf(claims: Iterable<SandboxClaim>): SandboxClaim | undefined {
  let first: SandboxClaim | undefined;
  for (const claim of claims) if (first === undefined || createdAt(claim) < createdAt(first)) first = claim;
  return first;
}

const createdAt = ({ metadata }: SandboxClaim): string => metadata.creationTimestamp ?? '';

/** The claim that owns a Sandbox; undefined for one of a batch, of a pool, or that was authored directly. */
export function owningClaim({ metadata }: Sandbox): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ kind, controller }) => kind === 'SandboxClaim' && controller === true);
}

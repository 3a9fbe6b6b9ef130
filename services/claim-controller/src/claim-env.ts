import type { ClaimVariable, SandboxClaim } from '@sandlot/api-types';

/** All variables of a claim as container variables: without a runtime there is no other way to deliver `envs`. */
export function variablesOf({ spec }: SandboxClaim): readonly ClaimVariable[] {
  return [...(spec.env ?? []), ...(spec.envs ?? [])];
}

/** Names of the Secrets that a claim takes variables from; those that need not exist are marked. */
export function secretNames({ spec }: SandboxClaim): readonly { readonly name: string; readonly optional: boolean }[] {
  return (spec.envs ?? []).flatMap(({ valueFrom }) =>
    valueFrom === undefined
      ? []
      : [{ name: valueFrom.secretKeyRef.name, optional: valueFrom.secretKeyRef.optional === true }],
  );
}

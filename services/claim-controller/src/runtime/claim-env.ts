import type { ClaimVariable, SandboxClaim } from '@sandlot/api-types';

/** What decides how variables travel: the template, or a Sandbox that was made from it. */
export interface RuntimeHolder {
  readonly spec: { readonly runtime?: { readonly inject?: boolean | undefined } | undefined };
}

/** Whether the in-sandbox daemon takes the `envs` of claims. */
export function hasRuntime({ spec }: RuntimeHolder): boolean {
  return spec.runtime?.inject === true;
}

/** The variables of a claim that only a container can be given: without a daemon there is no other way for `envs`. */
export function containerVariables({ spec }: SandboxClaim, holder: RuntimeHolder): readonly ClaimVariable[] {
  return hasRuntime(holder) ? (spec.env ?? []) : [...(spec.env ?? []), ...(spec.envs ?? [])];
}

/** Whether variables of the claim come from Secrets. */
export function takesSecrets({ spec }: SandboxClaim): boolean {
  return (spec.envs ?? []).some(({ valueFrom }) => valueFrom !== undefined);
}

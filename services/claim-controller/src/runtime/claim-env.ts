import type { ClaimVariable, Sandbox, SandboxClaim } from '@sandlot/api-types';

/** Why a claim cannot have variables that the API stored, in an installation without an API. */
export const NO_STORED_ENVS =
  'the API stored the variables of this claim, and this installation runs no API; set the chart value api.enabled=true';

/** A template, or a Sandbox made from it: its runtime decides how variables reach the container. */
export interface RuntimeHolder {
  readonly spec: { readonly runtime?: { readonly inject?: boolean | undefined } | undefined };
}

/** Whether the in-sandbox daemon receives the `envs` of claims. */
export function hasRuntime({ spec }: RuntimeHolder): boolean {
  return spec.runtime?.inject === true;
}

/** The claim's variables that the container spec has to carry. Without a daemon, `envs` are among them. */
export function listContainerVariables({ spec }: SandboxClaim, holder: RuntimeHolder): readonly ClaimVariable[] {
  return hasRuntime(holder) ? (spec.env ?? []) : [...(spec.env ?? []), ...(spec.envs ?? [])];
}

/** Whether the claim takes variables from Secrets, those that the API stored included. */
export function canTakeSecrets({ spec }: SandboxClaim): boolean {
  return (spec.envs ?? []).some(({ valueFrom }) => valueFrom !== undefined);
}

/** The `env` of a claim for the first container of its Sandbox, where the daemon runs: the daemon hands on no variable of its own. */
export function getFirstContainerVariables({ spec }: SandboxClaim, sandbox: Sandbox): Record<string, string> {
  const first = sandbox.spec.podTemplate.spec.containers[0]?.name;
  const own = (spec.env ?? []).filter(({ containerName = '' }) => containerName === '' || containerName === first);
  return Object.fromEntries(own.map(({ name, value }) => [name, value]));
}

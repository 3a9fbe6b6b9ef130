import type { ObjectMeta } from '@sandlot/kube/objects';
import type { SandboxClaim } from '../objects.ts';

/**
 * As `secretKeyRef.name` of a claim: the values that the API stored for this claim, in a namespace that tenants cannot read.
 * The slash keeps the name apart from those of Secrets.
 */
export const STORED_ENVS = 'sandlot.dev/envs';

/**
 * Name of the Secret with the values that the API stored for a claim. The UID is in it, so that a claim never reaches the
 * values of another one, or of an earlier one with its name.
 */
export function formatStoredEnvsName({
  metadata: { uid = '' },
}: {
  readonly metadata: Pick<ObjectMeta, 'uid'>;
}): string {
  return `envs-${uid}`;
}

/** Whether the API stored values of variables for the claim. */
export function hasStoredEnvs({ spec }: Pick<SandboxClaim, 'spec'>): boolean {
  return (spec.envs ?? []).some(({ valueFrom }) => valueFrom?.secretKeyRef.name === STORED_ENVS);
}

/** Whether the claim takes variables from Secrets of its namespace. */
export function namesSecrets({ spec }: Pick<SandboxClaim, 'spec'>): boolean {
  return (spec.envs ?? []).some(
    ({ valueFrom }) => valueFrom !== undefined && valueFrom.secretKeyRef.name !== STORED_ENVS,
  );
}

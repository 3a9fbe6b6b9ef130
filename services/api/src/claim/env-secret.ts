import { annotations, formatStoredEnvsName, hasStoredEnvs, labels, STORED_ENVS } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import { isAlreadyExists, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';

/** Names of environment variables with their values. */
export type Variables = readonly (readonly [name: string, value: string])[];

export interface EnvSecretDeps {
  readonly client: Pick<KubeClient, 'create'>;
  /** The namespace of these Secrets, which tenants cannot read. */
  readonly envsNamespace: string;
}

/** Key of a variable's value in its Secret. It is a number, because names of variables may have letters that keys may not. */
function formatEnvSecretKey(index: number): string {
  return `env-${index}`;
}

/**
 * Creates the Secret with the values of the environment variables, after the claim, whose UID is in its name. The
 * claim-controller waits for it, and deletes it after the claim. The API may create Secrets there, and read them where sandboxes can be forked. Rejects
 * with a KubeError.
 */
export async function createEnvSecret(
  { client, envsNamespace: namespace }: EnvSecretDeps,
  claim: SandboxClaim,
  { envs }: { readonly envs: Variables },
): Promise<void> {
  const { namespace: tenant = '', name: id = '' } = claim.metadata;
  const entries = envs.map(
    ([, value], index) => [formatEnvSecretKey(index), Buffer.from(value).toString('base64')] as const,
  );
  const metadata = {
    namespace,
    name: formatStoredEnvsName(claim),
    labels: { [labels.sandboxId]: id },
    annotations: { [annotations.storedFor]: `${tenant}/${id}` },
  };
  const secret: Secret = { metadata, type: 'Opaque', immutable: true, data: Object.fromEntries(entries) };
  try {
    await client.create(secrets, secret, { priority: 'claim' });
  } catch (error) {
    // An earlier try whose answer was lost created it: no other request has this claim's UID.
    if (!isAlreadyExists(error)) throw error;
  }
}

/** The fields of a claim that refer to these variables. */
export function buildEnvs(envs: Variables): Pick<SandboxClaimSpec, 'envs'> {
  if (envs.length === 0) return {};
  const refTo = (index: number) => ({ secretKeyRef: { name: STORED_ENVS, key: formatEnvSecretKey(index) } });
  return { envs: envs.map(([name], index) => ({ name, valueFrom: refTo(index) })) };
}

export interface EnvReaderDeps {
  readonly client: Pick<KubeClient, 'get'>;
  readonly envsNamespace: string;
}

/** The variables that the API stored for a claim, in the order of the claim. Rejects with a KubeError. */
export async function readStoredEnvs(deps: EnvReaderDeps, claim: SandboxClaim): Promise<Variables> {
  if (!hasStoredEnvs(claim)) return [];
  const key = { namespace: deps.envsNamespace, name: formatStoredEnvsName(claim) };
  const { data = {} } = await deps.client.get(secrets, key, { priority: 'claim' });
  return (claim.spec.envs ?? []).flatMap(({ name, valueFrom }) => {
    const value = data[valueFrom?.secretKeyRef.key ?? ''];
    return value === undefined ? [] : [[name, Buffer.from(value, 'base64').toString()] as const];
  });
}

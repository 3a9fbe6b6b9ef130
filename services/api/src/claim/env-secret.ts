import { annotations, formatStoredEnvsName, labels } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import type { CreateRequest } from '../e2b/request/read-create.ts';

export interface EnvSecretDeps {
  readonly client: Pick<KubeClient, 'create'>;
  /** The namespace of these Secrets, which tenants cannot read. */
  readonly envsNamespace: string;
}

/** Key of a variable's value in its Secret. It is a number, because names of variables may have letters that keys may not. */
export function formatEnvSecretKey(index: number): string {
  return `env-${index}`;
}

/**
 * Creates the Secret with the values of the environment variables, after the claim, whose UID is in its name. The
 * claim-controller waits for it, and deletes it after the claim. The API may create Secrets there and nothing else. Rejects
 * with a KubeError.
 */
export async function createEnvSecret(
  { client, envsNamespace: namespace }: EnvSecretDeps,
  claim: SandboxClaim,
  { envs }: Pick<CreateRequest, 'envs'>,
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

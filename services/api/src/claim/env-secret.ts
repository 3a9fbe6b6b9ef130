import { labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { getApiVersion, isAlreadyExists, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import type { CreateRequest } from '../e2b/request/read-create.ts';

/** Name of the Secret with the values of a sandbox's environment variables. */
export function formatEnvSecretName(id: string): string {
  return `${id}-env`;
}

/** Key of a variable's value in that Secret. It is a number, because names of variables may have letters that keys may not. */
export function formatEnvSecretKey(index: number): string {
  return `env-${index}`;
}

/**
 * Creates the Secret with the values of the environment variables, after the claim and owned by it, so that garbage collection
 * deletes it even if this process dies. The claim-controller waits for the Secret. Rejects with a KubeError.
 */
export async function createEnvSecret(
  { client }: { readonly client: Pick<KubeClient, 'create' | 'mergePatch'> },
  { metadata }: SandboxClaim,
  { envs }: Pick<CreateRequest, 'envs'>,
): Promise<void> {
  const { namespace, name: id = '', uid = '' } = metadata;
  const key = { namespace, name: formatEnvSecretName(id) };
  const entries = envs.map(
    ([, value], index) => [formatEnvSecretKey(index), Buffer.from(value).toString('base64')] as const,
  );
  const data = Object.fromEntries(entries);
  const owner = { apiVersion: getApiVersion(sandboxClaims), kind: sandboxClaims.kind, name: id, uid };
  const secretLabels = { [labels.claimEnv]: 'true', [labels.sandboxId]: id };
  const secret: Secret = { metadata: { ...key, labels: secretLabels, ownerReferences: [owner] }, type: 'Opaque', data };
  try {
    await client.create(secrets, secret, { priority: 'claim' });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // A repeated create has the id of its first sandbox, whose Secret may not be garbage-collected yet.
    const patch = { metadata: { labels: secretLabels, ownerReferences: [owner] }, data };
    await client.mergePatch(secrets, key, patch, { priority: 'claim' });
  }
}

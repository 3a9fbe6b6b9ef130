import { labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { apiVersionOf, isAlreadyExists, secrets } from '@sandlot/kube';
import type { Secret } from '@sandlot/kube';
import type { Deps } from '../wiring/deps.ts';
import { envSecretKey, envSecretName } from './from-e2b.ts';
import type { CreateRequest } from './from-e2b.ts';

/**
 * Stores the values of a sandbox's variables right after its claim was made, to which they belong: they go with it, also
 * when the claim or this process is gone already. Whoever binds the claim waits for them. Rejects with a KubeError.
 */
export async function storeEnvs(
  { client }: Pick<Deps, 'client'>,
  { metadata }: SandboxClaim,
  { envs }: CreateRequest,
): Promise<void> {
  const { namespace, name: id = '', uid = '' } = metadata;
  const key = { namespace, name: envSecretName(id) };
  const entries = envs.map(([, value], index) => [envSecretKey(index), Buffer.from(value).toString('base64')] as const);
  const data = Object.fromEntries(entries);
  const owner = { apiVersion: apiVersionOf(sandboxClaims), kind: sandboxClaims.kind, name: id, uid };
  const marks = { [labels.claimEnv]: 'true', [labels.sandboxId]: id };
  const secret: Secret = { metadata: { ...key, labels: marks, ownerReferences: [owner] }, type: 'Opaque', data };
  try {
    await client.create(secrets, secret, { priority: 'claim' });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // That of an earlier sandbox of the same id, which is not collected yet.
    const patch = { metadata: { labels: marks, ownerReferences: [owner] }, data };
    await client.mergePatch(secrets, key, patch, { priority: 'claim' });
  }
}

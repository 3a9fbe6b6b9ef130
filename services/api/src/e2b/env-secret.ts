import { labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { apiVersionOf, isAlreadyExists, isNotFound, secrets } from '@sandlot/kube';
import type { ObjectKey, Secret } from '@sandlot/kube';
import type { Deps } from '../deps.ts';
import { envSecretKey, envSecretName } from './claim.ts';
import type { CreateRequest } from './claim.ts';

type SecretDeps = Pick<Deps, 'client' | 'log'>;

function secretKey({ namespace, name }: ObjectKey): ObjectKey {
  return { namespace, name: envSecretName(name) };
}

/**
 * Stores the values of a sandbox's variables before there is a claim that names them: whoever binds it reads them at once.
 * One that is left over from an earlier try of the same create has the same values.
 */
export async function storeEnvs({ client }: SecretDeps, sandbox: ObjectKey, { envs }: CreateRequest): Promise<void> {
  const data = envs.map(([, value], index) => [envSecretKey(index), Buffer.from(value).toString('base64')] as const);
  const secret: Secret = {
    metadata: {
      ...secretKey(sandbox),
      labels: { [labels.claimEnv]: 'true', [labels.sandboxId]: sandbox.name },
    },
    type: 'Opaque',
    data: Object.fromEntries(data),
  };
  try {
    await client.create(secrets, secret, { priority: 'claim' });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** From here on the Secret goes with its claim. Nobody waits for it; a failure leaves the Secret to itself, and is logged. */
export async function ownEnvs({ client, log }: SecretDeps, claim: SandboxClaim): Promise<void> {
  const { namespace, name = '', uid = '' } = claim.metadata;
  const { kind } = sandboxClaims;
  const owner = { apiVersion: apiVersionOf(sandboxClaims), kind, name, uid };
  try {
    await client.mergePatch(secrets, secretKey({ namespace, name }), { metadata: { ownerReferences: [owner] } });
  } catch (err) {
    log.warn({ err, namespace, sandbox: name }, 'the Secret of a sandbox has no owner; delete it after the sandbox');
  }
}

/** Of a create that came to nothing. */
export async function dropEnvs({ client, log }: SecretDeps, sandbox: ObjectKey): Promise<void> {
  try {
    await client.delete(secrets, secretKey(sandbox));
  } catch (err) {
    if (isNotFound(err)) return;
    const { namespace, name } = sandbox;
    log.warn({ err, namespace, sandbox: name }, 'the Secret of a sandbox that was never made is left; delete it');
  }
}

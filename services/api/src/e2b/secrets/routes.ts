import { z } from 'zod';
import { notEnabled } from '../../errors/refusals.ts';
import { errorAnswer } from '../../errors/schema.ts';
import { toSecretError } from '../../errors/secret-errors.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Answer, AnswerSpec, Route, TenantCall } from '../../http/route.ts';
import { Vault } from '../../vault/vault.ts';
import type { VaultOptions } from '../../vault/vault.ts';
import type { VaultSecret } from '../../vault/vault-secret.ts';
import { buildSecretPage } from './page.ts';
import { newSecret, secretAnswer, secretParams, secretQuery, secretUpdate } from './schemas.ts';
import type { SecretAnswer } from './schemas.ts';

export interface SecretDeps extends Omit<VaultOptions, 'vaultNamespace'> {
  /** Undefined: the installation has no vault. */
  readonly vaultNamespace: string | undefined;
}

const backendFailed: AnswerSpec = { description: 'The cluster failed.', schema: errorAnswer };
const shape = { tag: 'E2B secrets', invalid: 'Invalid secrets request' } as const;
const one = { description: 'The secret, without its value.', schema: secretAnswer };

/** Secrets of a team: their values can be written, and never read. */
export function buildSecretRoutes(deps: SecretDeps): readonly Route[] {
  return [...buildReads(deps), ...buildWrites(deps)];
}

function buildReads(deps: SecretDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint(
          'listSecrets',
          'get /secrets',
          'Lists the secrets of the team, page by page, without their values.',
        ),
        ...shape,
        query: secretQuery,
        answers: {
          200: {
            description: 'A page, by name.',
            schema: z.array(secretAnswer),
            headers: z.object({
              'x-next-token': z.string().optional().meta({ description: 'The next page; absent on the last.' }),
            }),
          },
          502: backendFailed,
        },
      },
      ({ key, query }) =>
        withVault(deps, key.namespace, async (vault) => {
          const { items, nextToken } = buildSecretPage(await vault.list(), query);
          const headers = nextToken === undefined ? {} : { 'x-next-token': nextToken };
          return { status: 200, body: items.map(buildAnswer), headers };
        }),
    ),
    route(
      {
        ...endpoint('getSecret', 'get /secrets/{secretID}', 'Says what a secret is called, and which version it has.'),
        ...shape,
        params: secretParams,
        answers: { 200: one, 502: backendFailed },
      },
      ({ key, params }) =>
        withVault(deps, key.namespace, async (vault) => ({
          status: 200,
          body: buildAnswer(await vault.get(params.secretID)),
        })),
    ),
  ];
}

function buildWrites(deps: SecretDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('createSecret', 'post /secrets', 'Creates a secret, which headers of requests may have.'),
        ...shape,
        body: newSecret,
        answers: { 201: one, 502: backendFailed },
        action: 'secret.create',
      },
      (call) =>
        withVault(deps, call.key.namespace, async (vault) => {
          const { name, value, metadata } = call.body;
          call.trail.about({ name });
          const created = await vault.create(name, { value, metadata: metadata ?? undefined });
          return { status: 201, body: tell(call, created) };
        }),
    ),
    route(
      {
        ...endpoint('updateSecret', 'post /secrets/{secretID}', 'Gives a secret a new value, as its next version.'),
        ...shape,
        params: secretParams,
        body: secretUpdate,
        answers: { 200: one, 502: backendFailed },
        action: 'secret.update',
      },
      (call) =>
        withVault(deps, call.key.namespace, async (vault) => {
          const { value, metadata } = call.body;
          const updated = await vault.update(call.params.secretID, { value, metadata: metadata ?? undefined });
          return { status: 200, body: tell(call, updated) };
        }),
    ),
    route(
      {
        ...endpoint('deleteSecret', 'delete /secrets/{secretID}', 'Deletes a secret with all its versions.'),
        ...shape,
        params: secretParams,
        answers: { 204: { description: 'Done.' }, 502: backendFailed },
        action: 'secret.delete',
      },
      (call) =>
        withVault(deps, call.key.namespace, async (vault) => {
          tell(call, await vault.remove(call.params.secretID));
          return { status: 204 };
        }),
    ),
  ];
}

/** Runs an operation on the secrets of a namespace. Throws an ApiError: 403 without a vault, 502 and 504 if the cluster fails. */
async function withVault(
  { vaultNamespace, ...deps }: SecretDeps,
  namespace: string,
  run: (vault: Vault) => Promise<Answer>,
): Promise<Answer> {
  if (vaultNamespace === undefined) throw notEnabled('secrets are');
  try {
    return await run(new Vault({ ...deps, vaultNamespace }, namespace));
  } catch (error) {
    throw toSecretError(error);
  }
}

/** Names the secret in the audit record of the request. */
function tell({ trail }: Pick<TenantCall, 'trail'>, secret: VaultSecret): SecretAnswer {
  trail.about({ name: secret.name, uid: secret.id });
  return buildAnswer(secret);
}

function buildAnswer({ id, name, version, metadata, createdAt, updatedAt }: VaultSecret): SecretAnswer {
  return { secretID: id, name, currentVersion: version, metadata: { ...metadata }, createdAt, updatedAt };
}

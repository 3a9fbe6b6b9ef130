import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createKubeClient, defineResource, KubeError, loadCredentials } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import { copyKeys, createKey, dnsLabel, keyLimits, listKeys, revokeKey, roles } from '@sandlot/tenancy';
import type { ApiKey, ApiKeyInput, KeyPlace } from '@sandlot/tenancy';
import { CliError } from './errors.ts';
import type { Terminal } from './events.ts';
import { formatTable } from './table.ts';

export const keysHelp = `  sandlot keys create --namespace NAME [--team NAME] [--role tenant|admin] [--description TEXT]
                      [--sandboxes N] [--creates-per-second N] [--max-timeout SECONDS] [--never-timeout] [--keep-failed] [--choose-name]
      makes an API key and shows it, this once
  sandlot keys list [-o json]
  sandlot keys revoke ID
  sandlot keys copy --from NAMESPACE
      copies keys that an earlier version kept in another namespace

  --keys-namespace NAME  where keys are kept (default: sandlot-system-keys)
  --kubeconfig FILE      default: KUBECONFIG, else the one of \`npm run up\`
`;

const options = {
  namespace: { type: 'string', short: 'n' },
  team: { type: 'string' },
  role: { type: 'string', default: 'tenant' },
  description: { type: 'string', default: '' },
  sandboxes: { type: 'string' },
  'creates-per-second': { type: 'string' },
  'max-timeout': { type: 'string' },
  'never-timeout': { type: 'boolean' },
  'keep-failed': { type: 'boolean' },
  'choose-name': { type: 'boolean' },
  from: { type: 'string' },
  'keys-namespace': { type: 'string', default: 'sandlot-system-keys' },
  kubeconfig: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
} as const;

/** Runs `sandlot keys`. Resolves with the exit code. Throws CliError. */
export async function runKeysCommand(
  args: readonly string[],
  terminal: Pick<Terminal, 'out' | 'env'>,
): Promise<number> {
  const { values, positionals } = parseOptions(args);
  const [command = 'list', id, ...rest] = positionals;
  if (rest.length > 0 || !['copy', 'create', 'list', 'revoke'].includes(command)) {
    throw buildUsageError(`"keys ${positionals.join(' ')}" is no command`);
  }
  const run = (work: (place: KeyPlace) => Promise<string>): Promise<number> => runInCluster(values, terminal, work);
  const json = values.output === 'json';
  if (command === 'create') {
    const input = buildInput(values);
    return run(async (place) => formatCreatedKey(await createKey(place, input), json));
  }
  if (command === 'list') return run(async (place) => formatKeys(await listKeys(place), json));
  if (command === 'copy') return run((place) => copyFrom(place, values.from));
  if (id === undefined) throw buildUsageError('keys revoke needs the id of a key, as keys list shows it');
  return run(async (place) => {
    if (await revokeKey(place, id)) return `revoked ${id}`;
    throw new CliError(`there is no API key "${id}"`, 'See them with: sandlot keys list');
  });
}

async function copyFrom(place: KeyPlace, from: string | undefined): Promise<string> {
  if (!dnsLabel.safeParse(from).success || from === undefined) {
    throw buildUsageError('keys copy needs --from, the namespace that has the keys');
  }
  return `copied ${await copyKeys(place, from)} keys from ${from} to ${place.namespace}`;
}

type Values = ReturnType<typeof parseOptions>['values'];

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw buildUsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Returns the key that the arguments describe. Throws CliError. */
function buildInput(values: Values): ApiKeyInput {
  const { namespace, team = namespace, description } = values;
  const role = roles.find((one) => one === values.role);
  if (role === undefined) throw buildUsageError(`--role takes tenant or admin, not "${values.role}"`);
  for (const name of [namespace, team]) {
    if (!dnsLabel.safeParse(name).success)
      throw buildUsageError('keys create needs --namespace, the name of a namespace');
  }
  const limits = keyLimits.safeParse({
    ...readNumber(values, 'sandboxes', 'sandboxes'),
    ...readNumber(values, 'creates-per-second', 'createsPerSecond'),
    ...readNumber(values, 'max-timeout', 'maxTimeoutSeconds'),
    ...readPermissions(values),
  });
  if (!limits.success)
    throw buildUsageError('--sandboxes, --creates-per-second and --max-timeout take numbers from 0 on');
  return { namespace: namespace ?? '', team: team ?? '', role, description, limits: limits.data };
}

function readPermissions(values: Values): Partial<ApiKeyInput['limits']> {
  return {
    ...(values['never-timeout'] === true ? { neverTimeout: true } : {}),
    ...(values['keep-failed'] === true ? { keepFailed: true } : {}),
    ...(values['choose-name'] === true ? { chooseName: true } : {}),
  };
}

function readNumber(
  values: Values,
  flag: 'sandboxes' | 'creates-per-second' | 'max-timeout',
  name: string,
): Record<string, number> {
  const text = values[flag];
  return text === undefined ? {} : { [name]: text === '' ? Number.NaN : Number(text) };
}

async function runInCluster(
  values: Values,
  { out, env }: Pick<Terminal, 'out' | 'env'>,
  work: (place: KeyPlace) => Promise<string>,
): Promise<number> {
  const file = values.kubeconfig ?? env['KUBECONFIG'] ?? join(import.meta.dirname, '../../../.sandlot/kubeconfig');
  if (!existsSync(file)) {
    throw new CliError(
      `there is no kubeconfig ${file}`,
      'Name one with --kubeconfig, or start a cluster with: npm run up',
    );
  }
  const client = createKubeClient({
    credentials: await loadCredentials({ kubeconfig: file }),
    userAgent: 'sandlot-cli',
  });
  try {
    const by = await readUserName(client);
    out.write(`${await work({ client, namespace: values['keys-namespace'], by })}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const advice =
      'Keys are Secrets: the kubeconfig needs the right to read and write them in the namespace of the keys.';
    throw new CliError(error.message, advice);
  } finally {
    await client.close();
  }
}

interface SelfReview extends KubeObject {
  readonly status?: { readonly userInfo?: { readonly username?: string | undefined } | undefined } | undefined;
}

const selfReviews = defineResource<SelfReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
  namespaced: false,
});

/** Returns the kubeconfig's user as the API server knows it, for the audit log. Rejects with a KubeError. */
async function readUserName(client: KubeClient): Promise<string> {
  const { status } = await client.create(selfReviews, { metadata: {} });
  return status?.userInfo?.username ?? 'unknown';
}

function formatCreatedKey({ key, text }: { readonly key: ApiKey; readonly text: string }, json: boolean): string {
  if (json) return JSON.stringify({ ...withoutHash(key), key: text });
  return `${text}\n\nid ${key.id}, namespace ${key.namespace}, role ${key.role}. The key is not shown again.`;
}

function formatKeys(keys: readonly ApiKey[], json: boolean): string {
  if (json) return JSON.stringify(keys.map(withoutHash));
  if (keys.length === 0) return 'No API keys.';
  const rows = keys.map(({ id, namespace, team, role, createdAt, description }) => [
    id,
    namespace,
    team,
    role,
    createdAt,
    description,
  ]);
  return formatTable([['ID', 'NAMESPACE', 'TEAM', 'ROLE', 'CREATED', 'DESCRIPTION'], ...rows]);
}

/** Leaves out the hash of the key, which stays secret. */
function withoutHash({ id, namespace, team, role, description, limits, createdAt }: ApiKey): object {
  return { id, namespace, team, role, description, limits, createdAt };
}

function buildUsageError(problem: string): CliError {
  return new CliError(problem, `usage:\n${keysHelp}`, 'Usage');
}

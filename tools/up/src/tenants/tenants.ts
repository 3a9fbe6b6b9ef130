import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKubeClient, loadCredentials, isAlreadyExists, isNotFound, namespaces, services } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Progress, ProgressStep } from '@sandlot/local-cluster';
import { createKey, hashApiKey, listKeys } from '@sandlot/tenancy';
import { createCommandError } from '../command.ts';
import type { BuiltImage } from '../images/build.ts';
import { formatImage } from '../images/publish.ts';
import type { Registry } from '../images/publish.ts';
import type { ImageName } from '../images/recipes.ts';
import { keysNamespace, release, sandboxDomain } from '../install/values.ts';
import { checkoutRoot } from '../paths.ts';
import { waitForPool } from '../pools.ts';
import type { Target } from '../target.ts';
import { readEnv, writeEnv } from './env-file.ts';

const STEP = 'Preparing the tenants';

/** Templates and their images. Each file in tools/up/tenants has a template and a pool of that name. */
const offers = {
  base: 'sandbox-base',
  'code-interpreter-v1': 'code-interpreter',
  'code-interpreter-full': 'code-interpreter-full',
  'mcp-gateway': 'mcp-gateway',
} as const satisfies Record<string, ImageName>;
type Offer = keyof typeof offers;

/** Two tenants, so that their isolation can be tried. `key` is the variable that holds the API key. */
const tenants = [
  {
    namespace: 'tenant-a',
    key: 'E2B_API_KEY',
    offers: ['base', 'code-interpreter-v1', 'code-interpreter-full', 'mcp-gateway'],
  },
  { namespace: 'tenant-b', key: 'E2B_API_KEY_2', offers: ['base'] },
] as const satisfies readonly { namespace: string; key: string; offers: readonly Offer[] }[];
type Tenant = (typeof tenants)[number];

export interface TenantOptions {
  readonly images: readonly BuiltImage[];
  /** The registry that the node pulls them from. */
  readonly registry: Registry;
  readonly progress: Progress;
}

/**
 * Creates namespaces, templates, warm pools and API keys for two tenants, and writes the variables for clients to
 * `.sandlot/env`. Keeps keys of an earlier run that the cluster still has. Throws UpError.
 */
export async function prepareTenants(target: Target, options: TenantOptions): Promise<void> {
  const credentials = await loadCredentials({ kubeconfig: target.kubeconfigPath });
  const client = createKubeClient({ credentials, userAgent: 'sandlot-up' });
  const step = options.progress.startStep(STEP);
  try {
    const offered = await Promise.all(tenants.map((tenant) => prepareTenant(target, client, { tenant, options })));
    await writeAccess(target.kubeconfigPath, client);
    step.finish(await waitForPools(client, offered.flat(), step));
  } catch (error) {
    step.fail();
    throw error;
  } finally {
    await client.close();
  }
}

/**
 * Writes the variables for clients to `.sandlot/env`: the address of the gateway, which a new installation changes, and API keys that
 * the cluster has.
 */
export async function writeAccess(kubeconfig: string, client: KubeClient): Promise<void> {
  const url = await findGatewayUrl(client);
  await writeEnv({
    KUBECONFIG: kubeconfig,
    E2B_API_URL: url,
    E2B_SANDBOX_URL: url,
    E2B_VOLUME_API_URL: url,
    E2B_DOMAIN: sandboxDomain,
    SANDLOT_GATEWAY_URL: url,
    ...(await ensureKeys(client)),
  });
}

interface PoolKey {
  readonly namespace: string;
  readonly name: string;
}

async function prepareTenant(
  target: Target,
  client: KubeClient,
  { tenant, options }: { readonly tenant: Tenant; readonly options: TenantOptions },
): Promise<readonly PoolKey[]> {
  const { namespace } = tenant;
  await client.create(namespaces, { metadata: { name: namespace } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const offered = await Promise.all(tenant.offers.map((offer) => readManifest(offer, options)));
  const manifests = [...offered, JSON.stringify(buildLogBinding())];
  const applied = await target.kubectl(['-n', namespace, 'apply', '-f', '-'], manifests.join('---\n'));
  if (applied.code !== 0) throw createCommandError(STEP, `kubectl -n ${namespace} apply`, applied);
  return tenant.offers.map((name) => ({ namespace, name }));
}

/** Lets the API read the logs of the tenant's sandboxes. The namespace is made after the chart, so no value can name it. */
function buildLogBinding(): object {
  const name = `${release.name}-api-logs`;
  const apiGroup = 'rbac.authorization.k8s.io';
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: `${release.name}-api`, namespace: release.namespace }],
  };
}

async function readManifest(offer: Offer, { images, registry }: TenantOptions): Promise<string> {
  const name = offers[offer];
  const tag = images.find((image) => image.name === name)?.tag ?? 'latest';
  const text = await readFile(join(checkoutRoot, `tools/up/tenants/${offer}.yaml`), 'utf8');
  return text.replace(`image: ${name}`, `image: ${formatImage(registry, { name, tag })}`);
}

/** Returns the tenants' API keys by variable name. Creates those that the cluster does not have. */
async function ensureKeys(client: KubeClient): Promise<Record<string, string>> {
  const place = { client, namespace: keysNamespace };
  const before = await readEnv();
  const known = new Map((await listKeys(place)).map(({ hash, namespace }) => [hash, namespace]));
  const found: Record<string, string> = {};
  for (const { namespace, key: variable } of tenants) {
    const old = before[variable];
    const isKept = old !== undefined && known.get(hashApiKey(old)) === namespace;
    found[variable] = isKept ? old : await createTenantKey(place, namespace);
  }
  return found;
}

async function createTenantKey(place: Parameters<typeof createKey>[0], namespace: string): Promise<string> {
  const description = 'made by npm run up';
  const input = { namespace, team: namespace, role: 'tenant', description, limits: { neverTimeout: true } } as const;
  return (await createKey(place, input)).text;
}

/** Returns the URL of the gateway's Service, which this machine reaches because it is the node. Undefined if not found. */
async function findGatewayUrl(client: KubeClient): Promise<string | undefined> {
  const key = { namespace: release.namespace, name: `${release.name}-gateway` };
  const service = await client.get(services, key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const { clusterIP, ports = [] } = service?.spec ?? {};
  const port = (ports.find(({ name }) => name === 'http') ?? ports[0])?.port;
  return typeof clusterIP !== 'string' || port === undefined ? undefined : `http://${clusterIP}:${port}`;
}

async function waitForPools(client: KubeClient, pools: readonly PoolKey[], step: ProgressStep): Promise<string> {
  let members = 0;
  for (const pool of pools) {
    members += await waitForPool(client, pool, (text) => step.update(`${pool.namespace}/${pool.name}: ${text}`));
  }
  return `${tenants.length} tenants, ${members} warm sandboxes, .sandlot/env`;
}

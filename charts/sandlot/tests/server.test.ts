import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFolder, helm, release, template, valueSets } from './chart.ts';

const DAY_MS = 86_400_000;

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane({ controllerManager: true });
  const places = [release.namespace, 'team-a', 'dry-run', 'agent-sandbox-system', 'sandlot-keys'];
  const items = places.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  await kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
});

afterAll(() => plane.stop());

async function kubectl(args: readonly string[], input?: string): Promise<string> {
  const { stdout, stderr, code } = await plane.kubectl(args, input);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

let isInstalled = false;

/** Installs or upgrades the release. */
async function install(...flags: readonly string[]): Promise<void> {
  const args = ['upgrade', '--install', release.name, chartFolder, '-n', release.namespace, ...flags];
  const { code, stderr } = await helm(args, { KUBECONFIG: plane.kubeconfigPath });
  if (code !== 0) throw new Error(stderr);
  isInstalled = true;
}

/** Installs the release unless an earlier test has. */
async function ensureInstalled(): Promise<void> {
  if (!isInstalled) await install();
}

async function readPasswords(): Promise<Readonly<Record<string, unknown>>> {
  const read = async (secret: string): Promise<unknown> => {
    const text = await kubectl(['-n', release.namespace, 'get', 'secret', secret, '-o', 'json']);
    return (JSON.parse(text) as { data: unknown }).data;
  };
  return {
    nats: await read('sandlot-nats-auth'),
    redis: await read('sandlot-redis-auth'),
    runtime: await read('sandlot-runtime'),
    natsCertificate: await read('sandlot-nats-tls'),
    redisCertificate: await read('sandlot-redis-tls'),
  };
}

async function readTemplates(): Promise<string> {
  const path = '{range .items[*]}{.metadata.name} {.spec.template.metadata.annotations}{"\\n"}{end}';
  return kubectl(['-n', release.namespace, 'get', 'deployments,statefulsets', '-o', `jsonpath=${path}`]);
}

/** The text without what Helm creates after the installation, of kinds that the installation brings. */
function withoutHooks(text: string): string {
  return text
    .split(/^---$/m)
    .filter((part) => !part.includes('helm.sh/hook'))
    .join('---');
}

/** The text with all objects of the API's namespaces in that of the release: a dry run creates no namespace. */
function inOneNamespace(text: string): string {
  return text.replaceAll(/namespace: sandlot-\S+/g, `namespace: ${release.namespace}`);
}

describe('the chart on a real API server', () => {
  it.each(Object.entries(valueSets))('renders only valid objects with %s values', async (_, values) => {
    const { stdout } = await template(values);
    const applied = await kubectl(
      ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'],
      inOneNamespace(withoutHooks(stdout)),
    );
    expect(applied).toContain('deployment.apps/sandlot-claim-controller serverside-applied');
  });

  it('causes no warning in a namespace with the restricted Pod Security Standard', async () => {
    const label = 'pod-security.kubernetes.io/warn=restricted';
    await kubectl(['label', 'namespace', release.namespace, label, '--overwrite']);
    const { stdout } = await template({ crds: { enabled: false } });
    const args = ['apply', '--server-side', '--dry-run=server', '-f', '-'];
    const { stderr } = await plane.kubectl(args, inOneNamespace(stdout));
    expect(stderr).toBe('');
  });

  it('keeps passwords and pods on upgrade, and generates new passwords if their Secret was deleted', async () => {
    await install();
    const [before, podsBefore] = [await readPasswords(), await readTemplates()];
    await install('--set', 'log.level=debug');
    expect(await readPasswords()).toEqual(before);
    expect(await readTemplates()).toBe(podsBefore);

    await kubectl(['-n', release.namespace, 'delete', 'secret', 'sandlot-nats-auth']);
    await install();
    const after = await readPasswords();
    expect(after['nats']).not.toEqual(before['nats']);
    expect(after['redis']).toEqual(before['redis']);
    expect(await readTemplates()).not.toBe(podsBefore);
  });

  it('adds the seed to the keys of an earlier release, and keeps the others', async () => {
    await ensureInstalled();
    const { runtime: before } = await readPasswords();
    const patch = JSON.stringify([{ op: 'remove', path: '/data/identity.seed' }]);
    await kubectl(['-n', release.namespace, 'patch', 'secret', 'sandlot-runtime', '--type=json', '-p', patch]);
    await install();
    const { runtime: after } = await readPasswords();
    expect(after).toEqual({ ...(before as object), 'identity.seed': expect.any(String) as string });
    expect(after).not.toEqual(before);
  });

  it('replaces a certificate in an upgrade of its last year, and restarts its server and their clients', async () => {
    await ensureInstalled();
    const [before, podsBefore] = [await readPasswords(), await readTemplates()];
    const soon = `sandlot.dev/expires-at=${new Date(Date.now() + 300 * DAY_MS).toISOString().slice(0, 10)}`;
    await kubectl(['-n', release.namespace, 'annotate', '--overwrite', 'secret', 'sandlot-nats-tls', soon]);
    await install();
    const after = await readPasswords();
    expect(after['natsCertificate']).not.toEqual(before['natsCertificate']);
    expect(after).toEqual({ ...before, natsCertificate: after['natsCertificate'] });
    const changed = (await readTemplates()).split('\n').filter((line) => !podsBefore.split('\n').includes(line));
    expect(changed.map((line) => line.split(' ')[0]).toSorted()).toEqual([
      'sandlot-api',
      'sandlot-claim-controller',
      'sandlot-gateway',
      'sandlot-nats',
      'sandlot-sandbox-controller',
      'sandlot-streams',
      'sandlot-warmpool-controller',
    ]);
  });

  it('installs CRDs that serve the kinds of agent-sandbox in both versions, and snapshots', async () => {
    await ensureInstalled();
    const names = [
      'sandboxes.agents',
      'sandboxclaims.extensions.agents',
      'sandboxtemplates.extensions.agents',
      'sandboxwarmpools.extensions.agents',
    ];
    const ours = ['sandboxsnapshots', 'sandboxsnapshotclasses'].map((name) => `crd/${name}.sandlot.dev`);
    const crds = [...names.map((name) => `crd/${name}.x-k8s.io`), ...ours];
    await kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...crds]);
    const served = await kubectl([
      'get',
      ...crds,
      '-o',
      'jsonpath={range .items[*]}{.spec.versions[*].name}{"\\n"}{end}',
    ]);
    expect(served.trim().split('\n')).toEqual([...names.map(() => 'v1beta1 v1alpha1'), ...ours.map(() => 'v1alpha1')]);
  });

  it('needs at most half of the size limit of a Secret for its release', async () => {
    await ensureInstalled();
    const selector = `owner=helm,name=${release.name}`;
    const text = await kubectl(['-n', release.namespace, 'get', 'secrets', '-l', selector, '-o', 'json']);
    const { items } = JSON.parse(text) as { items: { data: { release: string } }[] };
    for (const { data } of items) expect(Buffer.from(data.release, 'base64').length).toBeLessThan(512 * 1024);
  });

  it('refuses an upgrade that leaves API keys of an earlier version behind, until they are copied', async () => {
    await ensureInstalled();
    const key = { metadata: { name: 'api-key-1', labels: { 'sandlot.dev/api-key': 'true' } } };
    const secretIn = (namespace: string): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', ...key, metadata: { ...key.metadata, namespace } });
    await kubectl(['create', '-f', '-'], secretIn(release.namespace));
    await expect(install()).rejects.toThrow('1 API keys are still in namespace sandlot-system');
    await kubectl(['create', '-f', '-'], secretIn(`${release.namespace}-keys`));
    await install();
  });

  it('keeps the CRDs on uninstall', async () => {
    await ensureInstalled();
    await helm(['uninstall', release.name, '-n', release.namespace], { KUBECONFIG: plane.kubeconfigPath });
    isInstalled = false;
    const left = await kubectl(['get', 'crd', '-o', 'name']);
    expect(left.trim().split('\n')).toHaveLength(6);
    expect(await kubectl(['-n', release.namespace, 'get', 'deployments', '-o', 'name'])).toBe('');
  });
});

import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chartFolder, helm, release, template, valueSets } from './chart.ts';

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane({ controllerManager: true });
  const places = [release.namespace, 'team-a', 'team-b', 'dry-run', 'agent-sandbox-system', 'sandlot-keys'];
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
    const { stderr } = await plane.kubectl(args, inOneNamespace(withoutHooks(stdout)));
    expect(stderr).toBe('');
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
    // `kubectl wait` fails at once on a CRD that has no conditions yet.
    await vi.waitFor(() => kubectl(['wait', '--for=condition=Established', '--timeout=20s', ...crds]), {
      timeout: 60_000,
      interval: 200,
    });
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
    expect(left.trim().split('\n')).toHaveLength(7);
    expect(await kubectl(['-n', release.namespace, 'get', 'deployments', '-o', 'name'])).toBe('');
  });
});

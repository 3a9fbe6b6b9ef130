import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxClaims, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runMigrateCommand } from './migrate.ts';
import { kruiseKinds } from './migrate/kruise.ts';

/** Those of Sandlot. */
const CRDS = join(import.meta.dirname, '../../../charts/sandlot/files/crds');
const POD = { containers: [{ name: 'main', image: 'python:3.12' }] };
const NAMESPACE = 'team-a';

const kinds: Readonly<Record<string, string>> = { sandboxsets: 'SandboxSet', sandboxclaims: 'SandboxClaim' };

let plane: ControlPlane;
let client: KubeClient;
beforeAll(async () => {
  plane = await startControlPlane({ crds: [CRDS] });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await plane.kubectl(['apply', '-f', '-'], Object.keys(kinds).map(formatCrd).join('\n---\n'));
  // `kubectl wait` fails at once on a CRD that has no conditions yet.
  await vi.waitFor(
    async () => {
      const { code, stderr } = await plane.kubectl([
        'wait',
        '--for=condition=Established',
        'crd',
        '--all',
        '--timeout=20s',
      ]);
      expect(code, stderr).toBe(0);
    },
    { timeout: 60_000, interval: 200 },
  );
  const metadata = { name: 'python', namespace: NAMESPACE };
  const make = (kind: keyof typeof kruiseKinds, spec: object): Promise<KubeObject> =>
    client.create(kruiseKinds[kind], { metadata, spec } as KubeObject);
  await make('SandboxSet', { replicas: 2, template: { spec: POD }, probes: [{ name: 'idle' }] });
  await make('SandboxClaim', { templateName: 'python', envVars: { A: '1' } });
});
afterAll(async () => {
  await client.close();
  await plane.stop();
});

/** A CRD of the other project, which prunes nothing. */
function formatCrd(plural: string): string {
  const kind = kinds[plural] ?? '';
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = [{ name: 'v1alpha1', served: true, storage: true, schema }];
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.agents.kruise.io` },
    spec: { group: 'agents.kruise.io', scope: 'Namespaced', names: { plural, kind }, versions },
  });
}

async function run(...args: readonly string[]) {
  const written = { out: '', err: '' };
  const write = (to: keyof typeof written) => ({ write: (text: string) => (written[to] += text) });
  const terminal = { out: write('out'), err: write('err'), env: { KUBECONFIG: plane.kubeconfigPath } };
  return { code: await runMigrateCommand(args, terminal), ...written };
}

describe('sandlot migrate openkruise', () => {
  it('prints manifests that the API server takes, reports what is lost, and writes nothing', async () => {
    const { code, out, err } = await run('openkruise', '--namespace', NAMESPACE);
    expect(code).toBe(3);
    expect(err).toContain('SandboxSet team-a/python → SandboxTemplate, SandboxWarmPool\n  lost     spec.probes: ');
    const { code: applied, stderr } = await plane.kubectl(['apply', '--dry-run=server', '-f', '-'], out);
    expect([applied, stderr]).toEqual([0, '']);
    expect((await client.listAll(sandboxWarmPools, { namespace: NAMESPACE })).items).toEqual([]);
  });

  it('reads a file without a cluster', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sandlot-migrate-'));
    try {
      const file = join(folder, 'set.yaml');
      const set = {
        apiVersion: 'agents.kruise.io/v1alpha1',
        kind: 'SandboxSet',
        metadata: { name: 'a' },
        spec: { replicas: 1, template: { spec: POD } },
      };
      await writeFile(
        file,
        JSON.stringify({ kind: 'List', items: [set, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }] }),
      );
      const { code, out, err } = await run('openkruise', '--file', file, '--kubeconfig', '/nowhere');
      expect([code, err.split('\n')[0]]).toEqual([0, 'SandboxSet default/a → SandboxTemplate, SandboxWarmPool']);
      expect(out).not.toContain('Secret');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('creates the objects, and leaves alone those that exist', async () => {
    await client.create(sandboxTemplates, {
      metadata: { name: 'python', namespace: NAMESPACE },
      spec: { podTemplate: { spec: POD }, ttlSeconds: 5 },
    });
    expect((await run('openkruise', '--apply')).out.split('\n')).toEqual([
      'SandboxTemplate team-a/python: exists, and was left as it is',
      'SandboxWarmPool team-a/python: created',
      'SandboxClaim team-a/python: created',
      '',
    ]);
    const key = { namespace: NAMESPACE, name: 'python' };
    expect((await client.get(sandboxTemplates, key)).spec.ttlSeconds).toBe(5);
    expect((await client.get(sandboxClaims, key)).spec.warmPoolRef).toEqual({ name: 'python' });
  });

  it.each([
    [['--file', '/nowhere.yaml'], 'there is no file /nowhere.yaml'],
    [['--namespace', 'empty'], 'there is no object of agents.kruise.io'],
    [['--unknown'], "Unknown option '--unknown'"],
  ])('refuses %j', async (args, message) => {
    await expect(run('openkruise', ...args)).rejects.toThrow(message);
  });
});

describe('sandlot migrate to-agent-sandbox', () => {
  const key = { namespace: NAMESPACE, name: 'old' };
  const sandboxTemplateRef = { name: 'python' };

  it('rewrites what agent-sandbox could not read, once', async () => {
    await client.create(sandboxes, { metadata: key, spec: { replicas: 0, podTemplate: { spec: POD } } });
    await client.create(sandboxClaims, { metadata: key, spec: { sandboxTemplateRef, warmpool: 'none' } });
    const shown = await run('to-agent-sandbox', '--namespace', NAMESPACE);
    expect(shown.out).toContain('SandboxClaim team-a/python\n  lost     spec.envs: ');
    expect([shown.code, shown.out.split('\n').at(-2)]).toEqual([3, '2 to change; 2 lost, 0 changed, 0 check']);
    expect((await client.get(sandboxes, key)).spec.replicas).toBe(0);
    const applied = await run('to-agent-sandbox', '--namespace', NAMESPACE, '--apply');
    expect([applied.code, applied.out]).toEqual([3, expect.stringContaining('Sandbox team-a/old: changed')]);
    expect((await client.get(sandboxes, key)).spec).toMatchObject({ operatingMode: 'Suspended' });
    expect((await client.get(sandboxes, key)).spec.replicas).toBeUndefined();
    const { spec } = await client.get(sandboxClaims, key);
    expect(spec.warmPoolRef).toEqual({ name: 'shadow-pool-python' });
    expect([spec.sandboxTemplateRef, spec.warmpool]).toEqual([undefined, undefined]);
    const pool = await client.get(sandboxWarmPools, { namespace: NAMESPACE, name: 'shadow-pool-python' });
    expect(pool.spec).toMatchObject({ replicas: 0, sandboxTemplateRef });
    expect((await run('to-agent-sandbox', '--namespace', NAMESPACE)).out).toContain('0 to change; 2 lost');
  });

  it('reads no file', async () => {
    await expect(run('to-agent-sandbox', '--file', 'a.yaml')).rejects.toThrow('reads the cluster');
  });
});

import { findCondition, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFolder, find, podTemplates, release, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';

const CONTROLLERS = ['claim-controller', 'sandbox-controller', 'warmpool-controller'] as const;
const BRINGS_RIGHTS = /^(ServiceAccount|Role|RoleBinding)$/;
const PATIENCE = { timeout: 100_000, interval: 100 };

let plane: ControlPlane;
let client: KubeClient;
let rights: readonly Rendered[];
const running = new Map<string, ServiceProcess>();

/** A control plane with simulated nodes, and the controllers with the accounts, Roles and namespaces that the chart gives them. */
beforeAll(async () => {
  const crds = [`${chartFolder}/files/crds`];
  plane = await startControlPlane({ crds, kwokNodes: 2, scheduler: true, controllerManager: true });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  const values = { watchNamespaces: ['team-a', 'team-b', 'team-late'], rbac: { aggregate: false } };
  const objects = await render(values);
  rights = objects.filter(({ kind }) => BRINGS_RIGHTS.test(kind));
  for (const name of [release.namespace, 'sandlot-system-keys', 'sandlot-system-envs', 'team-a', 'team-b', 'team-c'])
    await client.create(namespaces, { metadata: { name } });
  await applyRights((namespace) => namespace !== 'team-late');
  for (const name of CONTROLLERS) running.set(name, await startController(name, objects));
});

afterAll(async () => {
  await Promise.all([...running.values()].map((one) => one.kill()));
  await client.close();
  await plane.stop();
});

async function applyRights(isWanted: (namespace: string | undefined) => boolean): Promise<void> {
  const items = rights.filter(({ metadata }) => isWanted(metadata.namespace));
  const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  if (code !== 0) throw new Error(stderr);
}

async function startController(name: string, objects: readonly Rendered[]): Promise<ServiceProcess> {
  const account = `${release.name}-${name}`;
  const [, pod] = podTemplates([find(objects, 'Deployment', account)])[0] ?? [];
  const served = pod?.spec.containers[0]?.env?.find((variable) => variable.name === 'WATCH_NAMESPACES')?.value ?? '';
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${release.namespace}`];
  const KUBECONFIG = await plane.kubeconfigFor(`system:serviceaccount:${release.namespace}:${account}`, groups);
  const env = { KUBECONFIG, WATCH_NAMESPACES: served, POD_NAMESPACE: release.namespace, POD_NAME: account, LOG_LEVEL: 'info' };
  return startServiceProcess(new URL(`../../../../services/${name}/src/main.ts`, import.meta.url), env);
}

/** A template, a pool of one member, and a claim that takes it and one that starts cold. */
async function fill(namespace: string): Promise<void> {
  const spec = { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } };
  await client.create(sandboxTemplates, { metadata: { namespace, name: 'template' }, spec });
  const pool = { replicas: 1, sandboxTemplateRef: { name: 'template' } };
  await client.create(sandboxWarmPools, { metadata: { namespace, name: 'pool' }, spec: pool });
  for (const name of ['first', 'second'])
    await client.create(sandboxClaims, { metadata: { namespace, name }, spec: { warmPoolRef: { name: 'pool' } } });
}

async function listReady(namespace: string): Promise<string[]> {
  const { items } = await client.listAll(sandboxClaims, { namespace });
  const ready = items.filter(({ status }) => findCondition(status?.conditions, 'Ready')?.status === 'True');
  return ready.map(({ metadata, status }) => `${metadata.name ?? ''} ${status?.sandbox?.name === undefined ? 'without' : 'with'} Sandbox`).sort();
}

const readHealth = async (name: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${running.get(name)?.probePort ?? 0}/readyz`)).text();

const BOTH = ['first with Sandbox', 'second with Sandbox'];
const LATE = 'namespace team-late is not served: the API server forbids to list its objects';

describe('a release with Roles in two of three namespaces', () => {
  it('serves the claims of both, and leaves the third alone', async () => {
    await Promise.all(['team-a', 'team-b', 'team-c'].map(fill));
    for (const namespace of ['team-a', 'team-b']) await expect.poll(() => listReady(namespace), PATIENCE).toEqual(BOTH);
    expect((await client.listAll(sandboxes, { namespace: 'team-c' })).items).toEqual([]);
    const { items } = await client.listAll(sandboxClaims, { namespace: 'team-c' });
    expect(items.map(({ status }) => status)).toEqual([undefined, undefined]);
  });

  it('is ready although a namespace of its list does not exist, and names it', async () => {
    for (const name of CONTROLLERS) expect(await readHealth(name)).toBe(`ok\n${LATE}\n`);
  });

  it('serves that namespace once it exists with its Roles', async () => {
    await client.create(namespaces, { metadata: { name: 'team-late' } });
    await fill('team-late');
    await applyRights((namespace) => namespace === 'team-late');
    await expect.poll(() => listReady('team-late'), PATIENCE).toEqual(BOTH);
    for (const name of CONTROLLERS) await expect.poll(() => readHealth(name), PATIENCE).toBe('ok\n');
    const members = (await client.listAll(sandboxes, { namespace: 'team-late' })).items;
    expect(members.length).toBeLessThanOrEqual(3);
  });
});

import { findCondition, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { buildAdoptionPatch } from '@sandlot/blueprint';
import { createKubeClient, events, loadCredentials, namespaces } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BINDING, CRDS, ROLE, USER } from '../test/control-plane.ts';

const POOL = { namespace: 'team-a', name: 'pool' };

let plane: ControlPlane;
let client: KubeClient;
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  plane = await startControlPlane({ crds: [CRDS], kwokNodes: 1, scheduler: true, controllerManager: true });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  for (const object of [ROLE, BINDING]) await plane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const start = async (name: string, kubeconfig: string): Promise<void> => {
    const main = new URL(`../../${name}/src/main.ts`, import.meta.url);
    processes.push(await startServiceProcess(main, { KUBECONFIG: kubeconfig }));
  };
  await start('sandbox-controller', plane.kubeconfigPath);
  await start('warmpool-controller', await plane.kubeconfigFor(USER));
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await client.create(namespaces, { metadata: { name: POOL.namespace } });
  await client.create(sandboxTemplates, { metadata: { ...POOL, name: 'template' }, spec: { podTemplate } });
  const spec = { replicas: 4, sandboxTemplateRef: { name: 'template' } };
  await client.create(sandboxWarmPools, { metadata: { ...POOL }, spec });
});
afterAll(async () => {
  for (const process of processes) await process.kill();
  await client.close();
  await plane.stop();
});

const members = async (): Promise<Sandbox[]> => {
  const { items } = await client.listAll(sandboxes, { namespace: POOL.namespace });
  return items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxWarmPool');
};

/** Polls ten times a second, for at most a minute. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the condition did not hold within a minute');
}

/** The first status for which `holds` is true. */
async function statusWhen(holds: (status: SandboxWarmPoolStatus) => boolean): Promise<SandboxWarmPoolStatus> {
  let status: SandboxWarmPoolStatus = {};
  await eventually(async () => {
    ({ status = {} } = await client.get(sandboxWarmPools, POOL));
    return holds(status);
  });
  return status;
}

const scaleTo = (replicas: number) =>
  plane.kubectl(['scale', 'swp', POOL.name, '-n', POOL.namespace, `--replicas=${replicas}`]);

it('fills a pool exactly to its size', async () => {
  const status = await statusWhen(({ readyReplicas }) => readyReplicas === 4);
  expect(status).toMatchObject({ replicas: 4, desiredReplicas: 4, updatedReplicas: 4 });
  expect(findCondition(status.conditions, 'Available')?.status).toBe('True');
  expect(await members()).toHaveLength(4);
});

it('follows the scale subresource up and down', async () => {
  expect((await scaleTo(7)).code).toBe(0);
  await statusWhen(({ readyReplicas }) => readyReplicas === 7);
  expect((await scaleTo(3)).code).toBe(0);
  await statusWhen(({ replicas, readyReplicas }) => replicas === 3 && readyReplicas === 3);
  expect(await members()).toHaveLength(3);
});

it('counts members as current although the API server filled in defaults', async () => {
  expect(await statusWhen(({ updatedReplicas }) => updatedReplicas === 3)).toMatchObject({ replicas: 3 });
});

it('refills after an adoption, and counts the adopted Sandbox as in use', async () => {
  const spec = { warmPoolRef: { name: POOL.name } };
  const claim = await client.create(sandboxClaims, { metadata: { ...POOL, name: 'job' }, spec });
  const template = await client.get(sandboxTemplates, { ...POOL, name: 'template' });
  const [member] = await members();
  if (member === undefined) throw new Error('the pool is empty');
  const key = { namespace: POOL.namespace, name: member.metadata.name ?? '' };
  await client.mergePatch(sandboxes, key, buildAdoptionPatch({ claim, template, member, poolName: POOL.name }));
  await statusWhen(({ readyReplicas, inUse }) => readyReplicas === 3 && inUse === 1);
  expect((await members()).map(({ metadata }) => metadata.name)).not.toContain(key.name);
  expect((await client.get(sandboxes, key)).metadata.ownerReferences?.[0]?.name).toBe('job');
});

const change = (spec: JsonObject): Promise<unknown> => client.mergePatch(sandboxWarmPools, POOL, { spec });

it('rolls a new template out to its members with Events, and leaves the claimed Sandbox alone', async () => {
  await change({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } } });
  const old = (await members()).map(({ metadata }) => metadata.name);
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox:2' }] } };
  await client.mergePatch(sandboxTemplates, { ...POOL, name: 'template' }, { spec: { podTemplate } });
  await statusWhen(({ updatedReplicas }) => updatedReplicas !== 3);
  await statusWhen((status) => status.updatedReplicas === 3 && status.readyReplicas === 3 && status.replicas === 3);
  expect((await members()).filter(({ metadata }) => old.includes(metadata.name))).toEqual([]);
  expect(await statusWhen(({ inUse }) => inUse === 1)).toMatchObject({ replicas: 3 });
  await eventually(async () => {
    const { items } = await client.list(events, { namespace: POOL.namespace });
    const reasons = items.map(({ reason }) => reason);
    return reasons.includes('RolloutStarted') && reasons.includes('RolloutFinished');
  });
});

it('takes over a member that lost its owner', async () => {
  const [member] = await members();
  const key = { namespace: POOL.namespace, name: member?.metadata.name ?? '' };
  await client.mergePatch(sandboxes, key, { metadata: { ownerReferences: [] } });
  await eventually(async () => {
    const { metadata } = await client.get(sandboxes, key);
    return metadata.ownerReferences?.[0]?.kind === 'SandboxWarmPool' && metadata.deletionTimestamp === undefined;
  });
  await statusWhen(({ replicas, readyReplicas }) => replicas === 3 && readyReplicas === 3);
  expect((await members()).map(({ metadata }) => metadata.uid)).toContain(member?.metadata.uid);
});

it('shows its size to an autoscaler through the scale subresource', async () => {
  const path = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${POOL.namespace}/sandboxwarmpools/${POOL.name}/scale`;
  const { stdout } = await plane.kubectl(['get', '--raw', path]);
  expect(JSON.parse(stdout)).toMatchObject({
    kind: 'Scale',
    spec: { replicas: 3 },
    status: { replicas: 3, selector: 'agents.x-k8s.io/warm-pool-sandbox=91dd7983' },
  });
});

it('autoscales by the Sandboxes in use, and never writes the spec', async () => {
  await change({ autoscaling: { maxReplicas: 9, targetFreePercent: 80, scaleDownDelaySeconds: 1 } });
  const status = await statusWhen(({ desiredReplicas, readyReplicas }) => desiredReplicas === 4 && readyReplicas === 4);
  expect(status.lastScaleTime).toMatch(/Z$/);
  expect((await client.get(sandboxWarmPools, POOL)).spec.replicas).toBe(3);
});

it('follows an open schedule rather than autoscaling', async () => {
  const schedules = [
    { name: 'always', cron: '* * * * *', durationSeconds: 3_600, timeZone: 'Asia/Tokyo', replicas: 2 },
  ];
  await change({ schedules });
  const status = await statusWhen(({ activeSchedule, replicas }) => activeSchedule === 'always' && replicas === 2);
  expect(status.desiredReplicas).toBe(2);
});

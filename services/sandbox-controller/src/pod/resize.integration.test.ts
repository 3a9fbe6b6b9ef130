import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READY, RealCluster, at, container, eventually, findMessage, running } from '../../test/real-cluster.ts';

const MARK = 'sandlot.dev/inplace-cpu';
const SMALL = { requests: { cpu: '100m' }, limits: { cpu: '200m' } };
const CPU = { requests: { cpu: '1' }, limits: { cpu: '1500m' } };

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ audit: true });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The kubelet reports a Pod that runs with these resources. */
async function report(name: string, resources: object, conditions: readonly Condition[] = []): Promise<void> {
  const { conditions: usual = [], ...status } = running();
  const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
  const main = { name: 'main', image: 'busybox', imageID: '', ready: true, restartCount: 0, state };
  const containerStatuses = [{ ...main, resources: { ...resources } }];
  await cluster.report(name, { ...status, conditions: [...usual, ...conditions], containerStatuses });
}

type Condition = { readonly type: string; readonly status: 'True'; readonly reason: string; readonly message: string };

/** A Ready Sandbox whose container has these resources. */
async function start(name: string, resources: object): Promise<void> {
  await cluster.create(name, {
    podTemplate: { spec: { containers: [{ ...container, resources: { ...resources } }] } },
  });
  await cluster.untilPod(name);
  await report(name, resources);
  await cluster.until(name, READY);
}

/** What the adoption by a claim that asks for CPU writes. */
function adopt(name: string, mark: string, resources: object): Promise<Sandbox> {
  const containers = [{ ...container, resources: { ...resources } }];
  const spec = { podTemplate: { spec: { containers } } };
  return cluster.client.mergePatch(sandboxes, at(name), { metadata: { annotations: { [MARK]: mark } }, spec });
}

const untilMarked = (name: string, mark: string) =>
  eventually(
    () => cluster.pod(name),
    (pod) => pod.metadata.annotations?.[MARK] === mark,
  );

const countResizes = async (name: string): Promise<number> =>
  (await cluster.requests({ resource: 'pods', subresource: 'resize', name })).length;

describe('on a real API server, the CPU that a claim asks for', () => {
  it('is given to the running Pod with the rights of the role, once', async () => {
    await start('fast', SMALL);
    const before = await cluster.pod('fast');
    await adopt('fast', 'request=1,limit=1.5', CPU);
    const pod = await untilMarked('fast', 'request=1,limit=1.5');
    expect(pod.spec.containers[0]?.resources).toEqual(CPU);
    expect(pod.metadata.uid).toBe(before.metadata.uid);
    await cluster.until('fast', 'Ready=False/ResizePending');
    await report('fast', SMALL, [
      { type: 'PodResizePending', status: 'True', reason: 'Infeasible', message: 'capacity: 1000' },
    ]);
    const refused = await cluster.until('fast', 'Ready=False/ResizeInfeasible');
    expect(findMessage(refused, 'Ready')).toContain('capacity: 1000. Ask for less');
    await report('fast', CPU);
    await cluster.until('fast', READY);
    expect(await countResizes('fast')).toBe(1);
  });

  it('stays as another writer changes it afterwards', async () => {
    await start('changed', SMALL);
    await adopt('changed', 'limit=1', { ...SMALL, limits: { cpu: '1' } });
    await untilMarked('changed', 'limit=1');
    const resources = { ...SMALL, limits: { cpu: '300m' } };
    const patch = { spec: { containers: [{ ...container, resources }] } };
    await cluster.client.mergePatch(pods, at('changed'), patch, { subresource: 'resize' });
    await report('changed', resources);
    await cluster.until('changed', READY);
    expect((await cluster.pod('changed')).spec.containers[0]?.resources?.limits).toEqual({ cpu: '300m' });
    expect(await countResizes('changed')).toBe(1);
  });

  it('is refused with a reason when it would change the QoS class', async () => {
    await start('besteffort', {});
    await adopt('besteffort', 'request=1', { requests: { cpu: '1' } });
    const { status } = await cluster.until('besteffort', 'Ready=False/ResizeRejected');
    expect(JSON.stringify(status)).toContain('Ask for CPU that keeps the QoS class of the Pod');
    expect(await countResizes('besteffort')).toBe(0);
  });

  it('is refused with a reason on a node that cannot resize', async () => {
    await start('old-node', SMALL);
    const old = { name: 'main', image: 'busybox', imageID: '', ready: true, restartCount: 0 };
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    await cluster.report('old-node', { ...running(), containerStatuses: [{ ...old, state }] });
    await adopt('old-node', 'limit=1', { ...SMALL, limits: { cpu: '1' } });
    const { status } = await cluster.until('old-node', 'Ready=False/ResizeRejected');
    expect(JSON.stringify(status)).toContain('Use nodes whose kubelet is Kubernetes 1.33 or newer');
  });

  it('is refused with a reason beyond a LimitRange and a ResourceQuota, and given once they allow it', async () => {
    await start('bounded', SMALL);
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: at('bounds'),
      spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] },
    });
    await adopt('bounded', 'limit=1.5', { ...SMALL, limits: { cpu: '1500m' } });
    const limited = await cluster.until('bounded', 'Ready=False/ResizeRejected');
    expect(findMessage(limited, 'Ready')).toContain('maximum cpu usage per Container is 1');
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: at('quota'),
      spec: { hard: { 'limits.cpu': '1' } },
    });
    await cluster.kubectl(['delete', 'limitrange', 'bounds']);
    const counted = await cluster.untilSandbox('bounded', (found) => /quota/.test(findMessage(found, 'Ready') ?? ''));
    expect(findMessage(counted, 'Ready')).toContain('exceeded quota: quota');
    await cluster.kubectl(['delete', 'resourcequota', 'quota']);
    await untilMarked('bounded', 'limit=1.5');
  }, 120_000);
});

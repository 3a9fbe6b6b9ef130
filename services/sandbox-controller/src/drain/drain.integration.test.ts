import { buildHibernationName, formatRfc3339, sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSpec } from '@sandlot/api-types';
import { isTooManyRequests, nodes, podDisruptionBudgets, pods } from '@sandlot/kube';
import type { JsonObject, Pod } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { at, eventually, NAMESPACE, READY, RealCluster } from '../../test/real-cluster.ts';

const HIBERNATE = { suspensionStrategy: { type: 'Hibernate' } } as const;
const NODE = 'node-1';
const BUDGET = 'sandlot-memory';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({}, { SNAPSHOTS_ENABLED: 'true', DRAIN_ENABLED: 'true' });
  await cluster.client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A Ready Sandbox whose Pod is on the node. */
async function start(name: string, spec: Partial<SandboxSpec> = HIBERNATE): Promise<Pod> {
  await cluster.create(name, spec);
  await cluster.untilPod(name);
  await run(name, NODE);
  await eventually(
    () => cluster.find(podDisruptionBudgets, BUDGET),
    (budget) => budget?.status?.observedGeneration === 1,
  );
  return cluster.pod(name);
}

/** The Pod runs on the node, and the Sandbox is Ready. */
async function run(name: string, nodeName: string): Promise<void> {
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: at(name), target: { kind: 'Node', name: nodeName } };
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/binding`;
  await cluster.kubectl(['create', '--raw', path, '-f', '-'], JSON.stringify(binding));
  await cluster.runPod(name);
  await cluster.until(name, READY);
}

async function tryToEvict(name: string): Promise<boolean> {
  try {
    await cluster.client.evict(at(name));
    return true;
  } catch (error) {
    if (error instanceof Error && isTooManyRequests(error)) return false;
    throw error;
  }
}

/** The snapshot-controller writes the status of the save of this Pod. */
async function reportSave({ metadata }: Pod, status: JsonObject): Promise<string> {
  const { name: podName = '', uid: podUID = '' } = metadata;
  const name = buildHibernationName(podName, podUID);
  const save = await eventually(
    () => cluster.find(sandboxSnapshots, name),
    (found) => found !== undefined,
  );
  const sandboxUID = (await cluster.sandbox(podName)).metadata.uid ?? '';
  const source = { sandboxUID, podName, podUID, nodeName: NODE };
  const patch = { status: { source, ...status } };
  await cluster.client.mergePatch(sandboxSnapshots, at(name), patch, { subresource: 'status' });
  return save?.metadata.uid ?? '';
}

const cordon = (verb: 'cordon' | 'uncordon'): Promise<string> => cluster.kubectl([verb, NODE]);
const remove = (name: string): Promise<string> =>
  cluster.kubectl(['delete', 'pod', name, '--grace-period=0', '--force']);

describe('on a real API server', { timeout: 60_000 }, () => {
  it('kubectl drain waits for the save, and the next Pod continues from it', async () => {
    const before = await start('mover');
    expect(await tryToEvict('mover')).toBe(false);
    const drained = cluster.plane.kubectl(['drain', NODE, '--timeout=50s']);
    const uid = await reportSave(before, { phase: 'Saving' });
    expect(await tryToEvict('mover')).toBe(false);
    expect((await cluster.pod('mover')).metadata.deletionTimestamp).toBeUndefined();
    await reportSave(before, { phase: 'Ready', nodeName: NODE, fingerprint: 'f1', savedAt: '2026-01-01T12:00:00Z' });
    await eventually(
      () => cluster.pod('mover'),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    await remove('mover');
    expect(await drained).toMatchObject({ code: 0 });
    const next = await cluster.untilPod('mover', before);
    expect(next.metadata.annotations?.['sandlot.dev/restore-snapshot']).toBe(uid);
    expect(next.metadata.labels?.['sandlot.dev/memory']).toBe('protected');
    await cordon('uncordon');
  });

  it('kubectl drain ends, and does not follow a Sandbox to another node', async () => {
    const { client, plane } = cluster;
    await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-2' } });
    await client.create(sandboxSnapshotClasses, { metadata: { name: 'far' }, spec: { store: 'Bucket' } });
    const hibernate = { snapshotClassName: 'far' };
    const before = await start('leaver', { suspensionStrategy: { type: 'Hibernate', hibernate } });
    const drained = plane.kubectl(['drain', NODE, '--timeout=50s']);
    await reportSave(before, { phase: 'Saving' });
    const now = formatRfc3339(systemClock.now());
    const remote = { state: 'Uploaded', digest: 'd', at: now };
    await reportSave(before, { phase: 'Ready', nodeName: NODE, fingerprint: 'f1', savedAt: now, remote });
    await eventually(
      () => cluster.pod('leaver'),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    await remove('leaver');
    const next = await cluster.untilPod('leaver', before);
    await run('leaver', 'node-2');
    expect(await drained).toMatchObject({ code: 0 });
    expect((await cluster.pod('leaver')).metadata).toMatchObject({ uid: next.metadata.uid });
    await cordon('uncordon');
  });

  it('a Pod whose memory cannot be saved is evicted', async () => {
    const before = await start('stuck');
    await cordon('cordon');
    await reportSave(before, { phase: 'Failed' });
    await eventually(
      () => cluster.pod('stuck'),
      ({ metadata }) => metadata.labels?.['sandlot.dev/memory'] === 'unsaved',
    );
    await eventually(
      () => tryToEvict('stuck'),
      (isEvicted) => isEvicted,
    );
    await remove('stuck');
    const next = await cluster.untilPod('stuck', before);
    expect(next.metadata.annotations?.['sandlot.dev/restore-snapshot']).toBeUndefined();
    await cordon('uncordon');
  });

  it('an uncordoned node keeps the Pod', async () => {
    const before = await start('stayer');
    await cordon('cordon');
    await reportSave(before, { phase: 'Saving' });
    await cordon('uncordon');
    await cluster.untilGone(sandboxSnapshots, buildHibernationName('stayer', before.metadata.uid ?? ''));
    expect((await cluster.pod('stayer')).metadata.uid).toBe(before.metadata.uid);
    expect(await tryToEvict('stayer')).toBe(false);
  });

  it('the budget goes with the last Sandbox that has memory', async () => {
    for (const name of ['mover', 'leaver', 'stuck', 'stayer'])
      await cluster.edit(name, { suspensionStrategy: { type: 'Stop', hibernate: null } });
    await cluster.untilGone(podDisruptionBudgets, BUDGET);
    expect((await cluster.find(pods, 'stayer'))?.metadata.labels?.['sandlot.dev/memory']).toBeUndefined();
  });
});

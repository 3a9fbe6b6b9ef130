import { buildHibernationName, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import { events, pods } from '@sandlot/kube';
import type { JsonObject, Pod } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { at, eventually, NAMESPACE, ownedBy, READY, RealCluster, SUSPENDED, work } from '../../test/real-cluster.ts';

const HIBERNATE = { suspensionStrategy: { type: 'Hibernate' } } as const;
const MARK = 'sandlot.dev/restore-snapshot';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ audit: true }, { SNAPSHOTS_ENABLED: 'true' });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The SandboxSnapshot that saves this Pod, once there is one. */
async function untilSaving(pod: Pod): Promise<SandboxSnapshot> {
  const name = getSaveName(pod);
  await eventually(
    () => cluster.find(sandboxSnapshots, name),
    (found) => found !== undefined && found.metadata.deletionTimestamp === undefined,
  );
  return cluster.client.get(sandboxSnapshots, at(name));
}

const getSaveName = ({ metadata: { name = '', uid = '' } }: Pod): string => buildHibernationName(name, uid);

/** The snapshot-controller writes the status. */
function report(name: string, status: SandboxSnapshotStatus): Promise<SandboxSnapshot> {
  const json = JSON.parse(JSON.stringify(status)) as JsonObject;
  return cluster.client.mergePatch(sandboxSnapshots, at(name), { status: json }, { subresource: 'status' });
}

/** The snapshot-controller holds the object for the data on a node. */
async function complete(save: SandboxSnapshot, pod: Pod): Promise<SandboxSnapshot> {
  const { name = '' } = save.metadata;
  const { name: podName = '', uid: podUID = '' } = pod.metadata;
  const finalizers = ['sandlot.dev/snapshot-data'];
  await cluster.client.mergePatch(sandboxSnapshots, at(name), { metadata: { finalizers } });
  const { metadata } = await cluster.sandbox(save.spec.sandboxName);
  const source = { sandboxUID: metadata.uid ?? '', podName, podUID, nodeName: 'node-1' };
  return report(name, {
    phase: 'Ready',
    source,
    nodeName: 'node-1',
    fingerprint: 'f1',
    savedAt: '2026-01-01T12:00:00Z',
  });
}

async function settle(save: SandboxSnapshot, pod: Pod, state: 'Announced' | 'Restored' | 'Failed'): Promise<void> {
  const { name: podName = '', uid: podUID = '' } = pod.metadata;
  const restore = { podName, podUID, nodeName: 'node-1', state, at: new Date().toISOString().replace(/\.\d+Z$/, 'Z') };
  await report(save.metadata.name ?? '', { restore });
}

/** The agent has deleted the data of a SandboxSnapshot that is being deleted. */
async function releaseData(save: SandboxSnapshot): Promise<void> {
  const { name = '' } = save.metadata;
  await eventually(
    () => cluster.client.get(sandboxSnapshots, at(name)),
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
  );
  await cluster.letGo(sandboxSnapshots, name);
  await cluster.untilGone(sandboxSnapshots, name);
}

/** A Sandbox that runs, is suspended and saved. */
async function hibernate(name: string, spec = {}): Promise<{ readonly before: Pod; readonly save: SandboxSnapshot }> {
  await cluster.ready(name, { ...HIBERNATE, ...spec });
  const before = await cluster.pod(name);
  await cluster.edit(name, { operatingMode: 'Suspended' });
  const save = await complete(await untilSaving(before), before);
  await cluster.untilGone(pods, name);
  await cluster.until(name, SUSPENDED);
  return { before, save };
}

async function listReasons(name: string): Promise<string[]> {
  const { items } = await cluster.client.list(events, { namespace: NAMESPACE });
  return items.filter(({ regarding }) => regarding.name === name).map(({ reason }) => reason);
}

async function untilEvent(name: string, reason: string): Promise<void> {
  await eventually(
    () => listReasons(name),
    (found) => found.includes(reason),
  );
}

describe.concurrent('a Sandbox that hibernates', () => {
  it('is saved, goes on in another Pod on the same node, and leaves nothing behind', async () => {
    await cluster.ready('sleeper', { ...HIBERNATE, volumeClaimTemplates: [work] });
    const before = await cluster.pod('sleeper');
    await cluster.edit('sleeper', { operatingMode: 'Suspended' });
    const save = await untilSaving(before);
    expect(save.spec).toEqual({ sandboxName: 'sleeper', whenSaved: 'StayPaused', contents: 'Memory' });
    expect(save.metadata.ownerReferences).toEqual(ownedBy(await cluster.sandbox('sleeper')));
    await report(save.metadata.name ?? '', { phase: 'Saving' });
    await cluster.until('sleeper', 'Suspended=False/Hibernating');
    expect((await cluster.pod('sleeper')).metadata.deletionTimestamp).toBeUndefined();
    await complete(save, before);
    await cluster.untilGone(pods, 'sleeper');
    await cluster.until('sleeper', SUSPENDED);
    await untilEvent('sleeper', 'Hibernated');
    await cluster.edit('sleeper', { operatingMode: 'Running' });
    const next = await cluster.untilPod('sleeper', before);
    expect([next.metadata.annotations?.[MARK], next.metadata.labels?.[MARK]]).toEqual([
      save.metadata.uid,
      save.metadata.uid,
    ]);
    const term = {
      matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }],
    };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
    expect(next.spec['affinity']).toEqual({ nodeAffinity: required });
    await settle(save, next, 'Announced');
    await settle(save, next, 'Restored');
    await cluster.runPod('sleeper', before);
    await cluster.until('sleeper', READY);
    await releaseData(save);
    await untilEvent('sleeper', 'Restored');
    expect((await cluster.pod('sleeper')).metadata.uid).toBe(next.metadata.uid);
  });

  it('goes on in its Pod when it is woken while it is being saved', async () => {
    await cluster.ready('restless', HIBERNATE);
    const before = await cluster.pod('restless');
    await cluster.edit('restless', { operatingMode: 'Suspended' });
    const save = await untilSaving(before);
    await report(save.metadata.name ?? '', { phase: 'Saving' });
    await cluster.edit('restless', { operatingMode: 'Running' });
    await cluster.untilGone(sandboxSnapshots, save.metadata.name ?? '');
    await cluster.until('restless', READY);
    expect((await cluster.pod('restless')).metadata.uid).toBe(before.metadata.uid);
  });

  it('begins anew after a restore that failed, and its memory goes', async () => {
    const { before, save } = await hibernate('unlucky');
    await cluster.edit('unlucky', { operatingMode: 'Running' });
    const next = await cluster.untilPod('unlucky', before);
    await settle(save, next, 'Failed');
    await releaseData(save);
    const anew = await cluster.untilPod('unlucky', next);
    expect(anew.metadata.annotations?.[MARK]).toBeUndefined();
    await cluster.runPod('unlucky', next);
    await cluster.until('unlucky', READY);
    await untilEvent('unlucky', 'RestoreFailed');
  });

  it('takes its memory with it when it is deleted', async () => {
    const { save } = await hibernate('doomed');
    await cluster.kubectl(['delete', 'sandbox', 'doomed', '--wait=false']);
    await releaseData(save);
  });
});

describe('a Sandbox without the strategy', () => {
  it('is suspended and resumed without a request about SandboxSnapshots', async () => {
    const about = () => cluster.requests({ resource: 'sandboxsnapshots' });
    await cluster.ready('plain');
    const before = await cluster.pod('plain');
    const writes = (await about()).filter(({ verb }) => verb !== 'watch').length;
    expect(writes).toBeGreaterThan(0);
    await cluster.edit('plain', { operatingMode: 'Suspended' });
    await cluster.until('plain', SUSPENDED);
    await cluster.edit('plain', { operatingMode: 'Running' });
    await cluster.runPod('plain', before);
    await cluster.until('plain', READY);
    expect((await about()).filter(({ verb }) => verb !== 'watch')).toHaveLength(writes);
  });
});

describe('a Sandbox whose namespace may have no SandboxSnapshot', () => {
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: at('no-memory'),
    spec: { hard: { 'count/sandboxsnapshots.sandlot.dev': '0' } },
  };

  it('is stopped, and an Event has the words of the API server', async () => {
    await cluster.ready('poor', HIBERNATE);
    await cluster.apply(quota);
    await eventually(
      () => cluster.kubectl(['get', 'resourcequota', 'no-memory', '-o', 'jsonpath={.status.hard}']),
      (text) => text.includes('sandboxsnapshots'),
    );
    await cluster.edit('poor', { operatingMode: 'Suspended' });
    await cluster.untilGone(pods, 'poor');
    await cluster.until('poor', SUSPENDED);
    await untilEvent('poor', 'HibernationFailed');
  });
});

import { annotations, buildStartName, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import { events, pods } from '@sandlot/kube';
import type { JsonObject, Pod } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  at,
  eventually,
  findMessage,
  NAMESPACE,
  ownedBy,
  READY,
  RealCluster,
  SUSPENDED,
} from '../../test/real-cluster.ts';

const FAIL = { restoreFrom: { snapshotName: 'trained' } } as const;
const BOOT = { restoreFrom: { snapshotName: 'trained', onFailure: 'Boot' } } as const;
const WAITS = 'Waits for the copy of SandboxSnapshot "trained"';
const FAILED = 'Ready=False/RestoreFailed';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ audit: true }, { SNAPSHOTS_ENABLED: 'true' });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const getCopyName = ({ metadata: { name = '', uid = '' } }: Sandbox): string => buildStartName(name, uid);
const getMark = ({ metadata }: Pod): string | undefined => metadata.annotations?.[annotations.restoreSnapshot];
const getRecord = ({ metadata }: Sandbox): string | undefined => metadata.annotations?.[annotations.startMemory];

async function untilCopying(name: string): Promise<SandboxSnapshot> {
  const copyName = getCopyName(await cluster.sandbox(name));
  await eventually(
    () => cluster.find(sandboxSnapshots, copyName),
    (found) => found !== undefined,
  );
  return cluster.client.get(sandboxSnapshots, at(copyName));
}

/** The snapshot-controller writes the status. */
function report({ metadata: { name = '' } }: SandboxSnapshot, status: SandboxSnapshotStatus): Promise<SandboxSnapshot> {
  const json = JSON.parse(JSON.stringify(status)) as JsonObject;
  return cluster.client.mergePatch(sandboxSnapshots, at(name), { status: json }, { subresource: 'status' });
}

/** The agent has copied the data, and the snapshot-controller holds the object for it. */
async function complete(copy: SandboxSnapshot): Promise<SandboxSnapshot> {
  const finalizers = ['sandlot.dev/snapshot-data'];
  await cluster.client.mergePatch(sandboxSnapshots, at(copy.metadata.name ?? ''), { metadata: { finalizers } });
  const { metadata } = await cluster.sandbox(copy.spec.sandboxName);
  const source = { sandboxUID: metadata.uid ?? '', podName: 'source', podUID: 'uid-source', nodeName: 'node-1' };
  return report(copy, {
    phase: 'Ready',
    source,
    nodeName: 'node-1',
    fingerprint: 'f1',
    savedAt: '2026-01-01T12:00:00Z',
  });
}

function fail(copy: SandboxSnapshot, message: string): Promise<SandboxSnapshot> {
  const condition = { type: 'Ready', status: 'False', reason: 'SnapshotNotFound', message } as const;
  return report(copy, { phase: 'Failed', conditions: [{ ...condition, lastTransitionTime: '2026-01-01T12:00:00Z' }] });
}

async function settle(copy: SandboxSnapshot, pod: Pod, state: 'Announced' | 'Restored' | 'Failed'): Promise<void> {
  const { name: podName = '', uid: podUID = '' } = pod.metadata;
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  await report(copy, { restore: { podName, podUID, nodeName: 'node-1', state, at: time } });
}

/** The agent has deleted the data of a SandboxSnapshot that is being deleted. */
async function releaseData({ metadata: { name = '' } }: SandboxSnapshot): Promise<void> {
  await eventually(
    () => cluster.client.get(sandboxSnapshots, at(name)),
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
  );
  await cluster.letGo(sandboxSnapshots, name);
  await cluster.untilGone(sandboxSnapshots, name);
}

/** A Sandbox whose first Pod waits to be restored. */
async function begin(name: string, spec = {}): Promise<{ readonly copy: SandboxSnapshot; readonly pod: Pod }> {
  await cluster.create(name, { ...FAIL, ...spec });
  const copy = await complete(await untilCopying(name));
  return { copy, pod: await cluster.untilPod(name) };
}

/** The node restores the Pod, and the Sandbox is Ready. */
async function finish(name: string, { copy, pod }: Awaited<ReturnType<typeof begin>>): Promise<void> {
  await settle(copy, pod, 'Announced');
  await settle(copy, pod, 'Restored');
  await cluster.runPod(name);
  await cluster.until(name, READY);
  await releaseData(copy);
}

async function untilEvent(name: string, reason: string): Promise<void> {
  await eventually(
    async () => (await cluster.client.list(events, { namespace: NAMESPACE })).items,
    (found) => found.some((event) => event.regarding.name === name && event.reason === reason),
  );
}

describe.concurrent('a Sandbox with restoreFrom', () => {
  it('waits for its copy, starts from it, and leaves nothing behind', async () => {
    const sandbox = await cluster.create('fork', FAIL);
    const copy = await untilCopying('fork');
    expect(copy.spec).toEqual({
      sandboxName: 'fork',
      whenSaved: 'StayPaused',
      contents: 'Memory',
      copyOf: { snapshotName: 'trained' },
    });
    expect(copy.metadata.ownerReferences).toEqual(ownedBy(sandbox));
    await report(copy, { phase: 'Saving' });
    await cluster.untilSaid('fork', WAITS);
    expect(await cluster.isGone(pods, 'fork')).toBe(true);
    await complete(copy);
    const pod = await cluster.untilPod('fork');
    expect([getMark(pod), getRecord(await cluster.sandbox('fork'))]).toEqual([copy.metadata.uid, copy.metadata.uid]);
    await finish('fork', { copy, pod });
    expect(getRecord(await cluster.sandbox('fork'))).toBe('restored');
    await untilEvent('fork', 'Restored');
    await cluster.client.delete(pods, at('fork'));
    expect(getMark(await cluster.untilPod('fork', pod))).toBeUndefined();
    expect(await cluster.isGone(sandboxSnapshots, copy.metadata.name ?? '')).toBe(true);
  });

  it('is Ready only once its node has confirmed the restore', async () => {
    const { copy, pod } = await begin('hasty');
    await settle(copy, pod, 'Announced');
    await cluster.runPod('hasty');
    await cluster.untilSaid('hasty', 'Pod runs, and its node has not confirmed yet that it was restored');
    await finish('hasty', { copy, pod });
  });

  it('makes its copy when it first runs', async () => {
    await cluster.create('lazy', { ...FAIL, operatingMode: 'Suspended' });
    await cluster.until('lazy', SUSPENDED);
    expect(await cluster.isGone(sandboxSnapshots, getCopyName(await cluster.sandbox('lazy')))).toBe(true);
    await cluster.edit('lazy', { operatingMode: 'Running' });
    const copy = await complete(await untilCopying('lazy'));
    await finish('lazy', { copy, pod: await cluster.untilPod('lazy') });
  });

  it('has no Pod and says why when its copy fails, also after the next start of it', async () => {
    await cluster.create('refused', FAIL);
    await fail(await untilCopying('refused'), 'There is no SandboxSnapshot "trained"');
    const said = await cluster.until('refused', FAILED);
    expect(findMessage(said, 'Ready')).toContain('There is no SandboxSnapshot "trained"');
    await cluster.untilGone(sandboxSnapshots, getCopyName(said));
    await untilEvent('refused', 'RestoreFailed');
    await cluster.edit('refused', { operatingMode: 'Suspended' });
    await cluster.until('refused', SUSPENDED);
    await cluster.edit('refused', { operatingMode: 'Running' });
    await cluster.until('refused', FAILED);
    expect(await cluster.isGone(pods, 'refused')).toBe(true);
  });

  it('keeps no Pod whose restore failed', async () => {
    const { copy, pod } = await begin('damaged');
    await settle(copy, pod, 'Failed');
    await cluster.untilGone(pods, 'damaged');
    await cluster.until('damaged', FAILED);
    await releaseData(copy);
  });

  it('boots in another Pod if it may', async () => {
    const { copy, pod } = await begin('flexible', BOOT);
    await settle(copy, pod, 'Failed');
    expect(getMark(await cluster.untilPod('flexible', pod))).toBeUndefined();
    await cluster.runPod('flexible', pod);
    await cluster.until('flexible', READY);
    await untilEvent('flexible', 'RestoreFailed');
    await releaseData(copy);
  });

  it('takes its copy with it when it is deleted', async () => {
    await cluster.create('doomed', FAIL);
    const copy = await complete(await untilCopying('doomed'));
    await cluster.kubectl(['delete', 'sandbox', 'doomed', '--wait=false']);
    await releaseData(copy);
  });
});

describe('a controller that is killed', () => {
  it('before and after the record leaves each start to its successor', async () => {
    await cluster.create('early', FAIL);
    const early = await untilCopying('early');
    const late = await begin('late');
    await cluster.killController();
    await complete(early);
    await settle(late.copy, late.pod, 'Announced');
    await settle(late.copy, late.pod, 'Restored');
    await cluster.runPod('late');
    await cluster.startController('second');
    await cluster.until('late', READY);
    await releaseData(late.copy);
    await finish('early', { copy: early, pod: await cluster.untilPod('early') });
    expect((await cluster.pod('late')).metadata.uid).toBe(late.pod.metadata.uid);
  });
});

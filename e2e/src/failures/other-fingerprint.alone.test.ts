import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findCondition, isUploaded, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { machinePaths } from '@sandlot/local-cluster';
import type { AddedNode } from '@sandlot/local-cluster';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { patchSpec, waitForEvent, waitForPhase, waitForReadySandbox, waitForSandbox } from '../support/lifecycle.ts';
import { expectToCountOn, readCount, startCounter } from '../support/memory/counter.ts';
import { pause } from '../support/memory/writer.ts';
import { openBucket } from '../support/nodes/bucket.ts';
import { readFingerprint, upgradeRunscOf } from '../support/nodes/runsc.ts';
import { FIRST_NODE, addSecondNode } from '../support/nodes/second-node.ts';
import { runSandlot } from '../support/sandlot.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
let node: AddedNode;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  team = stack.use(await createTeam('fingerprint'));
  stack.use(await openBucket());
  stack.defer(async () => {
    await team.kubectl('uncordon', FIRST_NODE);
  });
});
afterAll(() => stack.disposeAsync());

async function sleepInBucket(name: string): Promise<SandboxSnapshot> {
  await patchSpec(team, name, { operatingMode: 'Suspended' });
  await waitForPhase(team, name, 'Suspended');
  return eventually('the bucket has its memory', async () => {
    const snapshot = await findSnapshot();
    return snapshot !== undefined && isUploaded(snapshot) ? snapshot : undefined;
  });
}

async function findSnapshot(name = 'waiting'): Promise<SandboxSnapshot | undefined> {
  const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
  return items.find(({ spec }) => spec.sandboxName === name);
}

/** What the component of the added node keeps of snapshots and restores that names this snapshot, in its store and its notes. */
async function listTraces(uid: string): Promise<string[]> {
  const traces: string[] = [];
  for (const folder of ['snapshots', 'node']) {
    const root = join(machinePaths.addedLib, node.name, 'lib', folder);
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const isNamed = path.includes(uid) || (entry.isFile() && (await readFile(path, 'utf8')).includes(uid));
      if (isNamed) traces.push(path);
    }
  }
  return traces;
}

it('memory waits for a node with its fingerprint, and no other one is tried', async () => {
  const before = await startCounter(team, 'waiting', {
    suspensionStrategy: { type: 'Hibernate', hibernate: { onFailure: 'KeepRunning' } },
  });
  node = stack.use(await addSecondNode(team));
  const returnRunsc = await upgradeRunscOf(team, node.name);
  const { metadata, status } = await sleepInBucket('waiting');
  expect(status?.fingerprint).toBe(await readFingerprint(team, FIRST_NODE));
  expect(await readFingerprint(team, node.name)).not.toBe(status?.fingerprint);

  await team.kubectl('cordon', FIRST_NODE);
  await patchSpec(team, 'waiting', { operatingMode: 'Running' });
  const waiting = await waitForSandbox(
    team,
    'waiting',
    (one) => findCondition(one.status?.conditions, 'PodScheduled')?.reason === 'Unschedulable',
  );
  expect(findCondition(waiting.status?.conditions, 'PodScheduled')?.message).toContain('affinity');
  expect((await waitForEvent(team, 'waiting', 'PodUnschedulable')).note).toContain(
    'Only a node that can have the saved memory of the Sandbox will do',
  );
  // Long enough for the scheduler and the controllers to try again.
  await pause(10_000);
  const pod = await team.client.get(pods, { namespace: team.namespace, name: 'waiting' });
  expect(pod.spec.nodeName).toBeUndefined();
  expect((await findSnapshot())?.status).toMatchObject({ phase: 'Ready', nodeName: FIRST_NODE });
  expect((await findSnapshot())?.status).not.toHaveProperty('restore');
  expect(await listTraces(metadata.uid ?? '')).toEqual([]);

  await returnRunsc();
  await waitForReadySandbox(team, 'waiting');
  await waitForEvent(team, 'waiting', 'Restored');
  const after = await team.client.get(pods, { namespace: team.namespace, name: 'waiting' });
  expect(after.spec.nodeName).toBe(node.name);
  await expectToCountOn(team, 'waiting', before);
});

const hibernations = async (...args: readonly string[]): Promise<unknown> =>
  JSON.parse(await runSandlot('hibernations', ...args, '-n', team.namespace, '-o', 'json'));

it('npx sandlot hibernations refresh saves memory anew that no node can restore after an upgrade of gVisor', async () => {
  const { namespace } = team;
  await team.apply(`
apiVersion: sandlot.dev/v1alpha1
kind: SandboxSnapshotClass
metadata: {name: ${namespace}}
spec: {store: Node}
`);
  stack.defer(async () => {
    await team.kubectl('delete', 'sandboxsnapshotclass', namespace);
  });
  const before = await startCounter(team, 'stale', {
    suspensionStrategy: { type: 'Hibernate', hibernate: { snapshotClassName: namespace } },
  });
  await patchSpec(team, 'stale', { operatingMode: 'Suspended' });
  await waitForPhase(team, 'stale', 'Suspended');
  const old = await findSnapshot('stale');
  const row = { namespace, name: 'stale', node: node.name, snapshot: old?.metadata.name };
  expect(await hibernations('list')).toEqual([{ ...row, outlook: 'Memory' }]);
  expect(await hibernations('refresh')).toEqual([]);

  await upgradeRunscOf(team, node.name);
  expect(await hibernations('list')).toEqual([{ ...row, outlook: 'Files' }]);
  expect(await hibernations('refresh')).toEqual([
    { namespace, name: 'stale', woke: 'Files', sleeps: 'Memory', node: node.name, isLost: false },
  ]);
  await waitForPhase(team, 'stale', 'Suspended');
  const saved = await findSnapshot('stale');
  expect(saved?.metadata.uid).not.toBe(old?.metadata.uid);
  expect(saved?.status?.fingerprint).toBe(await readFingerprint(team, node.name));

  await patchSpec(team, 'stale', { operatingMode: 'Running' });
  const { status } = await waitForReadySandbox(team, 'stale');
  expect(status?.resumedFrom).toBe('Memory');
  // It lost its processes at the refresh, and no more.
  expect((await readCount(team, 'stale')).secret).not.toBe(before.secret);
});

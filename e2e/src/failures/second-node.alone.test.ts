import { isUploaded } from '@sandlot/api-types';
import type { AddedNode } from '@sandlot/local-cluster';
import { pods } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBox, patchSpec, waitForEvent, waitForPhase, waitForReadySandbox } from '../support/lifecycle.ts';
import { openBucket } from '../support/nodes/bucket.ts';
import type { Bucket } from '../support/nodes/bucket.ts';
import { FIRST_NODE, addSecondNode } from '../support/nodes/second-node.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { findHibernationOf, readPodOf } from '../support/sdk/objects.ts';
import { hear, startWitness } from '../support/sdk/witness.ts';
import type { Testimony } from '../support/sdk/witness.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
let bucket: Bucket;
let node: AddedNode;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  team = stack.use(await createTeam('second-node'));
  stack.defer(async () => {
    await team.kubectl('uncordon', FIRST_NODE);
  });
  bucket = stack.use(await openBucket());
});
afterAll(() => stack.disposeAsync());

async function sleepInBucket(sandbox: Sandbox): Promise<void> {
  expect(await sandbox.pause()).toBe(true);
  await eventually('the bucket has its memory', async () => {
    const snapshot = await findHibernationOf(team.client, sandbox);
    return snapshot !== undefined && isUploaded(snapshot) ? true : undefined;
  });
}

/** Wakes the sandbox, and expects that the program of before goes on there. */
async function wakeOn(nodeName: string, sandbox: Sandbox, before: Testimony): Promise<void> {
  await Sandbox.connect(sandbox.sandboxId, await readAccess());
  const after = await hear(sandbox);
  expect(after).toMatchObject({ secret: before.secret, pid: before.pid, bytes: before.bytes });
  expect(after.count).toBeGreaterThanOrEqual(before.count);
  expect((await readPodOf(team.client, sandbox)).spec.nodeName).toBe(nodeName);
}

/** A Sandbox of this image that sleeps on the added node, in a class without a bucket. */
async function startUnlucky(image: string): Promise<void> {
  const snapshotClassName = team.namespace;
  await team.apply(`
apiVersion: sandlot.dev/v1alpha1
kind: SandboxSnapshotClass
metadata: {name: ${snapshotClassName}}
spec: {store: Node}
`);
  stack.defer(async () => {
    await team.kubectl('delete', 'sandboxsnapshotclass', snapshotClassName);
  });
  await createBox(team, 'unlucky', {
    container: { image },
    pod: { runtimeClassName: 'gvisor' },
    spec: { suspensionStrategy: { type: 'Hibernate', hibernate: { snapshotClassName } } },
  });
  await waitForReadySandbox(team, 'unlucky');
  const pod = await team.client.get(pods, { namespace: team.namespace, name: 'unlucky' });
  expect(pod.spec.nodeName).toBe(node.name);
  await patchSpec(team, 'unlucky', { operatingMode: 'Suspended' });
  await waitForPhase(team, 'unlucky', 'Suspended');
}

it('memory in a bucket goes on where it was saved, on another node, and after the loss of its node, and leaves the bucket', async () => {
  await using sandbox = await openSandbox();
  const before = await startWitness(sandbox);
  const { spec } = await readPodOf(team.client, sandbox);
  const { image = '' } = spec.containers[0] ?? {};
  expect(spec.nodeName).toBe(FIRST_NODE);
  node = stack.use(await addSecondNode(team));

  // The scheduler would choose the added node, which is empty.
  await sleepInBucket(sandbox);
  await wakeOn(FIRST_NODE, sandbox, before);

  await sleepInBucket(sandbox);
  await team.kubectl('cordon', FIRST_NODE);
  // It has the node pull the image of both, for which a client of a wake would not wait.
  await startUnlucky(image);
  await wakeOn(node.name, sandbox, before);
  await team.kubectl('uncordon', FIRST_NODE);

  await sleepInBucket(sandbox);
  await node.remove();
  await wakeOn(FIRST_NODE, sandbox, before);

  await sleepInBucket(sandbox);
  expect(await bucket.listObjects()).not.toEqual([]);
  await sandbox.kill();
  await eventually('nothing is left in the bucket', async () => {
    const left = await bucket.listObjects();
    if (left.length > 0) throw new Error(left.join('\n'));
    return true;
  });
});

it('memory without a bucket is lost with its node, and an Event and the status say so', async () => {
  await patchSpec(team, 'unlucky', { operatingMode: 'Running' });
  await waitForReadySandbox(team, 'unlucky');
  const { note } = await waitForEvent(team, 'unlucky', 'RestoreFailed');
  expect(note).toContain(`Node ${node.name}, which had the data, is gone`);
  const { status } = await waitForReadySandbox(team, 'unlucky');
  expect([status?.resumedFrom, status?.lost?.message]).toEqual(['Volumes', note]);
});

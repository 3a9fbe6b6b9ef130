import { Sandbox } from '@e2b/code-interpreter';
import { isUploaded, sandboxSnapshots } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { AddedNode } from '@sandlot/local-cluster';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBox, patchSpec, waitForEvent, waitForPhase, waitForReadySandbox } from '../support/lifecycle.ts';
import { openBucket } from '../support/nodes/bucket.ts';
import type { Bucket } from '../support/nodes/bucket.ts';
import { cordon, drain, uncordon, WITH_MEMORY } from '../support/nodes/drain.ts';
import { offerNetworkDisks } from '../support/nodes/network-disks.ts';
import { FIRST_NODE, addSecondNode } from '../support/nodes/second-node.ts';
import { LIFETIME_MS, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { expectContents, fill } from '../support/sdk/contents.ts';
import type { Contents } from '../support/sdk/contents.ts';
import { offerFullTemplate } from '../support/sdk/full-template.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { startPython } from '../support/sdk/python-program.ts';
import type { PythonProgram } from '../support/sdk/python-program.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** Of the template, and of the class of its disks. */
const NAME = `elsewhere-${process.pid}`;
/** Each save, upload and start of the two sandboxes takes seconds. */
const PATIENCE_MS = 600_000;

let team: Team;
let bucket: Bucket;
let node: AddedNode;
let access: Access;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  access = await readAccess();
  team = stack.use(await createTeam('second-node'));
  stack.defer(() => uncordon(team, FIRST_NODE));
  stack.use(await offerNetworkDisks(team, NAME, 2));
  stack.use(await offerFullTemplate(team.client, NAME, NAME));
  bucket = stack.use(await openBucket());
});
afterAll(() => stack.disposeAsync());

/** A sandbox of each client, with everything in it that it has to keep. Each client lets its own sleep and wakes it. */
interface Pair extends AsyncDisposable {
  readonly ids: readonly [typescript: string, python: string];
  pause(): Promise<void>;
  connect(): Promise<void>;
  /** Expects that all that was in both goes on. Their requests wait at the gateway while they move. */
  expectContents(): Promise<void>;
}

async function startPair(): Promise<Pair> {
  await using started = new AsyncDisposableStack();
  const sandbox = await Sandbox.create(NAME, { ...access, timeoutMs: LIFETIME_MS });
  started.defer(async () => {
    await sandbox.kill();
  });
  const before = await fill(sandbox);
  const python = started.use(await startPython('moved.py', { SANDLOT_TEMPLATE: NAME }, PATIENCE_MS));
  const { id } = (await python.nextLine()) as { readonly id: string };
  const all = started.move();
  return {
    ids: [sandbox.sandboxId, id],
    pause: async () => {
      expect(await sandbox.pause()).toBe(true);
      python.send('pause');
      expect(await python.nextLine()).toEqual({ state: 'paused' });
    },
    connect: async () => {
      await sandbox.connect({ timeoutMs: LIFETIME_MS });
      python.send('connect');
      await expectAll(sandbox, before, python);
    },
    expectContents: () => {
      python.send('check');
      return expectAll(sandbox, before, python);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function expectAll(sandbox: Sandbox, before: Contents, python: PythonProgram): Promise<void> {
  await expectContents(sandbox, before);
  expect(await python.nextLine()).toEqual({ state: 'running' });
  expect(await python.nextLine()).toEqual({ error: null });
}

/** Without a pool, the Pod of a sandbox has its name. */
async function expectOn(nodeName: string, { ids }: Pair): Promise<void> {
  const found = await Promise.all(ids.map((name) => team.client.get(pods, { namespace: TENANT, name })));
  expect(found.map(({ spec }) => spec.nodeName)).toEqual(ids.map(() => nodeName));
}

async function sleepInBucket(pair: Pair): Promise<void> {
  await pair.pause();
  await eventually('the bucket has the memory of both', async () => {
    const { items } = await team.client.list(sandboxSnapshots, { namespace: TENANT });
    const saved = items.filter(({ spec }) => pair.ids.includes(spec.sandboxName));
    return saved.length === pair.ids.length && saved.every(isUploaded) ? true : undefined;
  });
}

async function wakeOn(nodeName: string, pair: Pair): Promise<void> {
  await pair.connect();
  await expectOn(nodeName, pair);
}

/** Empties a node, and expects that both go on, on the other node, without a call of their clients. */
async function drainTo(nodeName: string, from: string, pair: Pair): Promise<void> {
  await drain(team, WITH_MEMORY, from);
  await pair.expectContents();
  await expectOn(nodeName, pair);
  await uncordon(team, from);
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

it(
  'memory in a bucket goes on where it was saved, on another node, after a drain, and after the loss of its node',
  async () => {
    await using pair = await startPair();
    const { spec } = await team.client.get(pods, { namespace: TENANT, name: pair.ids[0] });
    const { image = '' } = spec.containers[0] ?? {};
    await expectOn(FIRST_NODE, pair);
    node = stack.use(await addSecondNode(team));

    // The scheduler would choose the added node, which is empty.
    await sleepInBucket(pair);
    await wakeOn(FIRST_NODE, pair);

    await sleepInBucket(pair);
    await cordon(team, FIRST_NODE);
    // It has the node pull the image of both, for which a client of a wake would not wait.
    await startUnlucky(image);
    await wakeOn(node.name, pair);
    await uncordon(team, FIRST_NODE);

    await drainTo(FIRST_NODE, node.name, pair);
    await drainTo(node.name, FIRST_NODE, pair);

    await sleepInBucket(pair);
    await node.remove();
    await wakeOn(FIRST_NODE, pair);
    await sleepInBucket(pair);
    expect(await bucket.listObjects()).not.toEqual([]);
  },
  PATIENCE_MS,
);

it('the memory of sandboxes that were killed leaves the bucket', async () => {
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

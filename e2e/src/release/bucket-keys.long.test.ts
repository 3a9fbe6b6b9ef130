// The keys of the bucket are rotated while memory travels through the bucket, from one node to the other and back.
import { setTimeout as sleep } from 'node:timers/promises';
import { isHibernationOf, isUploaded, sandboxSnapshots } from '@sandlot/api-types';
import { pods, secrets } from '@sandlot/kube';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { patchSpec, waitForEvent, waitForReadySandbox } from '../support/lifecycle.ts';
import { repeat } from '../support/load/repeat.ts';
import type { Running } from '../support/load/repeat.ts';
import { Tally } from '../support/load/tally.ts';
import { expectToCountOn, readCount, startCounter } from '../support/memory/counter.ts';
import type { Count } from '../support/memory/counter.ts';
import { openBucket } from '../support/nodes/bucket.ts';
import type { Bucket } from '../support/nodes/bucket.ts';
import { cordon, uncordon } from '../support/nodes/drain.ts';
import { addSecondNode, FIRST_NODE } from '../support/nodes/second-node.ts';
import { rotate } from '../support/releases/rotate.ts';
import { readSandboxNamed } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** The time that docs/operations/rotate-keys.md asks to wait until every node has the file, in milliseconds. */
const TWO_MINUTES_MS = 120_000;
const PAUSE_MS = 1_000;
const TRAVELLER = 'traveller';

const stack = new AsyncDisposableStack();
const tallies = { pauses: new Tally(), wakes: new Tally() };
const counts = new Map<string, Count>();
let team: Team;
let bucket: Bucket;
let otherNode: string;
let travels: Running;
/** The ids of the keys, the oldest first. */
let ids: readonly string[];

beforeAll(async () => {
  team = stack.use(await createTeam('bucket-keys'));
  bucket = stack.use(await openBucket());
  for (const name of ['before', 'between', 'after', 'lost', TRAVELLER]) {
    counts.set(name, await startCounter(team, name, { suspensionStrategy: { type: 'Hibernate' } }));
  }
  const node = stack.use(await addSecondNode(team));
  otherNode = node.name;
  // Before the bucket is taken away: that rolls the release out, on the first node.
  stack.defer(() => uncordon(team, FIRST_NODE));
  ids = await readKeyIds();
}, 1_200_000);
afterAll(() => stack.disposeAsync());

const keysSecret = () => ({ namespace: inject('releaseNamespace'), name: 'sandlot-bucket-keys' });

async function readLines(): Promise<readonly string[]> {
  const { data = {} } = await team.client.get(secrets, keysSecret());
  return Buffer.from(data['keys'] ?? '', 'base64')
    .toString()
    .trim()
    .split('\n');
}

async function readKeyIds(): Promise<readonly string[]> {
  return (await readLines()).map((line) => line.split(' ')[0] ?? '');
}

/** Suspends a sandbox, waits until the bucket has its memory, and returns the id of the key that sealed it. */
async function fallAsleep(name: string): Promise<string> {
  await patchSpec(team, name, { operatingMode: 'Suspended' });
  const uid = await eventually(`the bucket has the memory of ${name}`, async () => {
    const sandbox = await readSandboxNamed(team, name);
    const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
    const snapshot = items.find((each) => isHibernationOf(each, sandbox) && isUploaded(each));
    return snapshot?.metadata.uid;
  });
  return bucket.readKeyId(uid);
}

async function wakeUp(name: string): Promise<string> {
  await patchSpec(team, name, { operatingMode: 'Running' });
  await waitForReadySandbox(team, name);
  return readNode(name);
}

async function readNode(name: string): Promise<string> {
  const { spec } = await team.client.get(pods, { namespace: team.namespace, name });
  return spec.nodeName ?? '';
}

/** The program of before goes on, and counts from where it was. */
async function expectMemory(name: string): Promise<void> {
  const before = counts.get(name);
  if (before === undefined) throw new Error(`${name} never counted`);
  await expectToCountOn(team, name, before);
}

/** Sends the sandbox through the bucket to the other of the two nodes. */
async function travel(): Promise<void> {
  const from = await readNode(TRAVELLER);
  await tallies.pauses.run(() => fallAsleep(TRAVELLER));
  await cordon(team, from);
  await tallies.wakes.run(async () => {
    const to = await wakeUp(TRAVELLER);
    if (to === from) throw new Error(`${TRAVELLER} woke on ${from}, which is cordoned`);
    await expectMemory(TRAVELLER);
  });
  await uncordon(team, from);
}

it('seals with the key of before until the switch, and with the new one after it', async () => {
  const [first = ''] = ids;
  expect([await fallAsleep('before'), await fallAsleep('lost')]).toEqual([first, first]);
  travels = repeat(PAUSE_MS, travel);
  stack.defer(() => travels.stop());
  await rotate('bucket-keys', 'keys', 'prepare');
  ids = await readKeyIds();
  expect(ids).toEqual([first, expect.not.stringMatching(first)]);
  await sleep(TWO_MINUTES_MS);
  expect(await fallAsleep('between')).toBe(first);
  await rotate('bucket-keys', 'keys', 'switch');
  await sleep(TWO_MINUTES_MS);
  expect(await fallAsleep('after')).toBe(ids[1]);
}, 900_000);

it('no pause and no wake through the bucket failed meanwhile', async () => {
  await travels.stop();
  const [pauses, wakes] = [tallies.pauses.read(), tallies.wakes.read()];
  process.stdout.write(
    `Keys of the bucket: ${pauses.succeeded} of ${pauses.started} pauses, ${wakes.succeeded} of ${wakes.started} wakes\n`,
  );
  expect([pauses.failures, wakes.failures]).toEqual([[], []]);
  expect(wakes.succeeded).toBeGreaterThan(2);
}, 300_000);

it('wakes sandboxes from before, from within and from after the rotation on the other node, with their memory', async () => {
  await cordon(team, FIRST_NODE);
  for (const name of ['before', 'between', 'after']) {
    expect(await wakeUp(name)).toBe(otherNode);
    await expectMemory(name);
  }
}, 300_000);

it('refuses memory whose key was removed and names the key, and the program starts anew', async () => {
  const [first = '', second = ''] = ids;
  const left = (await readLines()).filter((line) => !line.startsWith(first));
  const data = { keys: Buffer.from(`${left.join('\n')}\n`).toString('base64') };
  await team.client.mergePatch(secrets, keysSecret(), { data });
  expect(await readKeyIds()).toEqual([second]);
  await sleep(TWO_MINUTES_MS);
  await patchSpec(team, 'lost', { operatingMode: 'Running' });
  const { note } = await waitForEvent(team, 'lost', 'RestoreFailed');
  expect(note).toContain(`the node has no key "${first}"`);
  await waitForReadySandbox(team, 'lost');
  expect((await readCount(team, 'lost')).secret).not.toBe(counts.get('lost')?.secret);
}, 600_000);

it('leaves nothing in the bucket once all are awake', async () => {
  await eventually('the bucket is empty', async () => {
    const objects = await bucket.listObjects();
    if (objects.length > 0) throw new Error(objects.join('\n'));
    return true;
  });
});

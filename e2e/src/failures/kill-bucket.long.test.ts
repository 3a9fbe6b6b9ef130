// kill -9 while memory is on its way into the bucket, and out of it onto another node.
import { isUploaded, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { AddedNode } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { patchSpec, waitForReadySandbox } from '../support/lifecycle.ts';
import { expectToCountOn, startCounter } from '../support/memory/counter.ts';
import type { Count } from '../support/memory/counter.ts';
import { pause } from '../support/memory/writer.ts';
import { openBucket } from '../support/nodes/bucket.ts';
import type { Bucket } from '../support/nodes/bucket.ts';
import { cordon, uncordon } from '../support/nodes/drain.ts';
import { FIRST_NODE, addSecondNode } from '../support/nodes/second-node.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';
import { Trace, turn } from '../support/traces.ts';

const NAME = 'travels';
/** Bytes that do not compress: enough for a transfer to take longer than a look at the status. */
const BALLAST = 192 * 1024 * 1024;

let team: Team;
let bucket: Bucket;
let node: AddedNode;
let before: Count;
let digest: string;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  team = stack.use(await createTeam('kill-bucket'));
  stack.defer(() => uncordon(team, FIRST_NODE));
  bucket = stack.use(await openBucket());
  before = await startCounter(team, NAME, { suspensionStrategy: { type: 'Hibernate' } });
  await team.sh(NAME, `head -c ${BALLAST} /dev/urandom > /tmp/ballast`);
  digest = await readDigest();
  node = stack.use(await addSecondNode(team));
});
afterAll(() => stack.disposeAsync());

const readDigest = (): Promise<string> => team.sh(NAME, 'sha256sum /tmp/ballast');

async function findSnapshot(): Promise<SandboxSnapshot | undefined> {
  const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
  return items[0];
}

/** Waits until the only snapshot of the Sandbox is as wanted. */
function waitForSnapshot(what: string, isWanted: (snapshot: SandboxSnapshot) => boolean | undefined): Promise<true> {
  return eventually(what, async () => {
    const snapshot = await findSnapshot();
    return snapshot !== undefined && isWanted(snapshot) === true ? true : undefined;
  });
}

interface Kill {
  readonly victim: string;
  readonly delayMs: number;
}

/** Returns whether the kill met the upload. */
async function sleep({ victim, delayMs }: Kill): Promise<boolean> {
  await replaceRestartedPods(team.client, victim);
  await patchSpec(team, NAME, { operatingMode: 'Suspended' });
  await waitForSnapshot('the upload has begun', ({ status }) => status?.remote?.state === 'Uploading');
  await pause(delayMs);
  await killProcessesOf(team.client, victim);
  const hasMet = (await findSnapshot())?.status?.remote?.state === 'Uploading';
  await waitUntilRecovered(team.client, victim);
  await waitForSnapshot('the bucket has its memory', isUploaded);
  return hasMet;
}

/** Returns whether the kill met the download, or the restore after it. */
async function wakeOn(nodeName: string, { victim, delayMs }: Kill): Promise<boolean> {
  await replaceRestartedPods(team.client, victim);
  await patchSpec(team, NAME, { operatingMode: 'Running' });
  await waitForSnapshot('its node has it from the bucket', ({ status }) => {
    const { restore } = status ?? {};
    return restore?.state === 'Announced' && restore.nodeName === nodeName;
  });
  await pause(delayMs);
  await killProcessesOf(team.client, victim);
  const hasMet = (await findSnapshot())?.status?.restore?.state === 'Announced';
  await waitUntilRecovered(team.client, victim);
  await waitForReadySandbox(team, NAME);
  await expectToCountOn(team, NAME, before);
  expect(await readDigest()).toBe(digest);
  const pod = await team.client.get(pods, { namespace: team.namespace, name: NAME });
  expect(pod.spec.nodeName).toBe(nodeName);
  return hasMet;
}

describe.each(['node', 'snapshot-controller'])('kill -9 of %s', (victim) => {
  it('during uploads and downloads loses no byte of the memory, which goes on where it is needed', async () => {
    const met: [upload: boolean, download: boolean][] = [];
    for (const delayMs of [0, 300]) {
      const { spec } = await team.client.get(pods, { namespace: team.namespace, name: NAME });
      const [from, to] = spec.nodeName === FIRST_NODE ? [FIRST_NODE, node.name] : [node.name, FIRST_NODE];
      const upload = await sleep({ victim, delayMs });
      await cordon(team, from);
      met.push([upload, await wakeOn(to, { victim, delayMs })]);
      await uncordon(team, from);
    }
    expect([met.some(([upload]) => upload), met.some(([, download]) => download)]).toEqual([true, true]);
  }, 400_000);
});

it('an upload belongs to the trace of the suspension, a download to that of the resume', async () => {
  const { spec } = await team.client.get(pods, { namespace: team.namespace, name: NAME });
  const suspension = await Trace.waitFor(await turn(team, NAME, 'Suspended'), ['snapshot.save', 'snapshot.upload']);
  await cordon(team, spec.nodeName);
  const resume = await Trace.waitFor(await turn(team, NAME, 'Running'), ['snapshot.download', 'snapshot.restore']);
  await uncordon(team, spec.nodeName);
  for (const span of [suspension.only('snapshot.upload'), resume.only('snapshot.download')])
    expect(span).toMatchObject({ status: 'unset', attributes: { 'sandlot.sandbox.name': NAME } });
});

it('the bucket is empty once the memory was used up', async () => {
  await eventually('nothing is left in the bucket', async () => {
    const left = await bucket.listObjects();
    if (left.length > 0) throw new Error(left.join('\n'));
    return true;
  });
});

// The controller dies after each of its writes, and before each answer of an agent, and another one takes over.
import { annotations, sandboxTemplates } from '@sandlot/api-types';
import type { RequestInfo } from '@sandlot/kube-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addSandboxWithDisk, bind, listCopies } from '../test/disks.ts';
import { Harness, PLACE } from '../test/harness.ts';
import { addCopy, addStart, COPY, START } from '../test/starts.ts';
import { TestAgent } from '../test/test-agent.ts';

const OTHER = 'node-2';
const USER = 'snapshot-controller';
const isWriteOfController = ({ user, resource }: RequestInfo): boolean => user === USER && resource !== 'events';

let h: Harness;
let other: TestAgent;

beforeEach(async () => {
  const bucket = new Map();
  h = await Harness.start(await TestAgent.start({ bucket }));
  other = await TestAgent.start({ node: OTHER, host: '127.0.0.2', port: h.agent.port, bucket });
  h.addNode(OTHER, '127.0.0.2');
  h.addClass({ store: 'Bucket', disks: { method: 'Clone' } });
  addSandboxWithDisk(h);
});
afterEach(async () => {
  await h[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const uidOf = (name?: string): string => h.snapshot(name).metadata.uid ?? '';

/** Plays the kubelet and the shim: the Pod is restored from the snapshot, and no other one is. */
async function restore(agent: TestAgent, podUID: string, name?: string): Promise<void> {
  await h.until(() => agent.grants.has(podUID));
  agent.begin(podUID);
  agent.end(podUID, 'Restored');
  await h.until(() => h.status(name).restore?.state === 'Restored');
  expect(h.status(name).restore).toMatchObject({ podUID });
  const of = [...h.agent.grants.values(), ...other.grants.values()];
  expect(of.filter(({ snapshotUid }) => snapshotUid === uidOf(name))).toHaveLength(1);
}

/** Deletes the snapshot, and expects that nothing is left of it. */
async function remove(name?: string): Promise<void> {
  const uid = uidOf(name);
  await h.deleteSnapshot(name);
  await h.until(() => h.isGone(name));
  const stores = [h.agent.stored, other.stored, h.agent.bucket ?? new Map<string, unknown>(), h.agent.holds];
  for (const store of stores) expect([...store.keys()]).not.toContain(`${PLACE}/${uid}`);
}

/** A hibernation that another node takes from the bucket. */
async function hibernate(): Promise<void> {
  h.hibernate();
  await h.until(() => h.summary() === 'Ready/Saved');
  expect(h.agent.begun).toHaveLength(1);
  h.removePod('notebook');
  await h.until(() => h.status().remote?.state === 'Uploaded');
  await restore(other, h.addMarkedPod('notebook', { node: OTHER }).metadata.uid ?? '');
  await remove();
  expect(h.agent.paused.size, 'the saved Pod never goes on').toBe(1);
}

/** A snapshot with a disk and a template, from which a Sandbox starts. */
async function fork(): Promise<void> {
  h.hibernate({ whenSaved: 'Resume', sandboxName: 'notebook-2', templateName: 'trained' });
  await h.until(() => {
    if (listCopies(h).some(({ status }) => status?.phase !== 'Bound')) bind(h);
    return h.status().remote?.state === 'Uploaded';
  });
  expect(h.summary()).toBe('Ready/Saved');
  expect(h.agent.begun).toHaveLength(1);
  expect([...h.agent.holds.values()]).toEqual(['released']);
  expect(h.status().disks).toHaveLength(1);
  expect(h.api.objects(sandboxTemplates, PLACE)).toHaveLength(1);
  addStart(h, { volumeClaimTemplates: [{ metadata: { name: 'work' }, spec: {} }] });
  addCopy(h, { savedTemplate: h.snapshot().metadata.annotations?.[annotations.savedTemplate] ?? '' });
  await h.until(() => h.summary(COPY) === 'Ready/Saved');
  expect(h.agent.copies).toHaveLength(1);
  const mark = { 'sandlot.dev/restore-snapshot': uidOf(COPY) };
  const pod = h.addPod(START, { owner: h.owner(START), marks: { labels: mark, annotations: mark } });
  await restore(h.agent, pod.metadata.uid ?? '', COPY);
  await remove(COPY);
  await remove();
  await h.until(() => listCopies(h).length === 0);
}

interface Death {
  /** Whether the controller has come so far. */
  hasStruck(): boolean;
  end(): void;
}

function dieAfterWrites(writes: number): Death {
  const death = h.api.faults.failAfterWrites(writes, { match: isWriteOfController });
  const hasStruck = (): boolean => h.api.writes().some((write) => isWriteOfController(write) && write.code === 0);
  return { hasStruck, end: () => death.end() };
}

function dieUnheard(agent: TestAgent, changes: number): Death {
  agent.answers = changes;
  return { hasStruck: () => agent.changes > changes, end: () => void (agent.answers = Infinity) };
}

/** Lets one controller die in the middle of the story, and another one end it. */
async function liveTwice(story: () => Promise<void>, death: Death): Promise<void> {
  const first = await h.startController();
  const replace = async (): Promise<void> => {
    await h.until(() => death.hasStruck());
    await h.kill(first);
    death.end();
    await h.startController();
  };
  await Promise.all([story(), replace()]);
}

/** Requests that change something, each of them once. */
const countChanges = ({ requests }: TestAgent): number =>
  new Set(requests.filter((request) => !request.startsWith('GET '))).size;

const count = (length: number): number[] => Array.from({ length }, (_, index) => index);

describe.each([
  { what: 'a hibernation that goes on elsewhere', story: hibernate, writes: 10, here: 4, there: 3 },
  { what: 'a snapshot and a Sandbox from it', story: fork, writes: 16, here: 8, there: 0 },
])('$what comes to its end', ({ story, writes, here, there }) => {
  it('with so many writes and requests', async () => {
    await h.startController();
    await story();
    const written = h.api.writes().filter((write) => isWriteOfController(write) && write.code < 300);
    expect([written.length, countChanges(h.agent), countChanges(other)]).toEqual([writes, here, there]);
  });

  it.each(count(writes))('when the controller dies after %i writes', async (before) => {
    await liveTwice(story, dieAfterWrites(before));
  });

  it.each(count(here))('when it dies before it hears answer %i of the node', async (before) => {
    await liveTwice(story, dieUnheard(h.agent, before));
  });

  it.each(count(there))('when it dies before it hears answer %i of the other node', async (before) => {
    await liveTwice(story, dieUnheard(other, before));
  });
});

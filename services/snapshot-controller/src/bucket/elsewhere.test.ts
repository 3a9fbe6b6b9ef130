// Restores on a node that gets the data from the bucket.
import { findCondition, labels, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import { nodes } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY, PLACE } from '../../test/harness.ts';
import { addCopy, addStart, COPY, START } from '../../test/starts.ts';
import { HASH, TestAgent } from '../../test/test-agent.ts';

const OTHER = 'node-2';
let h: Harness;
let other: TestAgent;

beforeEach(async () => {
  const bucket = new Map();
  h = await Harness.start(await TestAgent.start({ bucket }));
  other = await TestAgent.start({ node: OTHER, host: '127.0.0.2', port: h.agent.port, bucket });
  h.addNode(OTHER, '127.0.0.2');
  h.addClass({ store: 'Bucket' });
});
afterEach(async () => {
  await h[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
const state = (name?: string): string | undefined => h.status(name).restore?.state;
const snapshotUID = (name?: string): string => h.snapshot(name).metadata.uid ?? '';
const puts = (agent: TestAgent): string[] => agent.requests.filter((request) => request.startsWith('PUT '));

/** A hibernation that the bucket has, and whose Pod is gone. */
async function sleepInBucket(): Promise<void> {
  await h.startController();
  await h.asleep();
  await h.until(() => h.status().remote?.state === 'Uploaded');
}

describe('a Pod on another node than the one that has the data', () => {
  it('is announced by the status first; then its node downloads, and then lets it begin', async () => {
    await sleepInBucket();
    other.holdsTransfers = true;
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => puts(other).length === 1);
    expect(h.status().restore).toMatchObject({ podUID: uidOf(pod), nodeName: OTHER, state: 'Announced' });
    expect(other.grants.size).toBe(0);
    other.finishTransfers();
    await h.until(() => other.grants.has(uidOf(pod)));
    const path = `${PLACE}/${snapshotUID()}`;
    expect(puts(other)).toEqual([`PUT /v1/downloads/${path}`, `PUT /v1/restores/${uidOf(pod)}`]);
    other.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
    expect(h.agent.requests.some((request) => request.startsWith('PUT /v1/restores'))).toBe(false);
  });

  it('gets the files from the bucket when the memory has failed', async () => {
    await sleepInBucket();
    const first = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(first)));
    h.agent.end(uidOf(first), 'Failed', 'another version of gVisor');
    await h.until(() => state() === 'Failed');
    h.removePod('notebook');
    const second = h.addMarkedPod('notebook', { node: OTHER, only: 'files' });
    await h.until(() => other.grants.get(uidOf(second))?.only === 'files');
    other.end(uidOf(second), 'Restored');
    await h.until(() => state() === 'Restored');
  });

  it('has both nodes and the bucket cleaned up, and the old Pod never goes on', async () => {
    await sleepInBucket();
    expect(h.agent.paused.size).toBe(1);
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => other.grants.has(uidOf(pod)));
    other.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect([h.agent.stored.size, other.stored.size, h.agent.bucket?.size]).toEqual([0, 0, 0]);
    expect(h.agent.paused.size).toBe(1);
  });

  it('lets the old Pod go on if the new one never began', async () => {
    await sleepInBucket();
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => other.grants.has(uidOf(pod)));
    h.removePod('notebook');
    await h.until(() => state() === 'Withdrawn');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect([h.agent.paused.size, other.stored.size]).toEqual([0, 0]);
  });

  it('is followed by the controller that takes over', async () => {
    const first = await h.startController();
    await h.asleep();
    await h.until(() => h.status().remote?.state === 'Uploaded');
    other.holdsTransfers = true;
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => puts(other).length === 1);
    await h.kill(first);
    other.finishTransfers();
    await h.startController();
    await h.until(() => other.grants.has(uidOf(pod)));
    other.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
  });

  it('that ends during the download is not announced to the node afterwards, and the next one may have it', async () => {
    await sleepInBucket();
    other.holdsTransfers = true;
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => puts(other).length === 1);
    h.removePod('notebook');
    await h.until(() => state() === 'Withdrawn');
    other.finishTransfers();
    const next = h.addMarkedPod('notebook', { node: 'node-1' });
    await h.until(() => h.agent.grants.has(uidOf(next)));
    expect(other.grants.has(uidOf(pod))).toBe(false);
    h.agent.end(uidOf(next), 'Restored');
    await h.until(() => state() === 'Restored');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
  });

  it('waits while the bucket does not answer, for longer than for an agent', async () => {
    await sleepInBucket();
    other.transferRefusal = { status: 500, code: 'RemoteFailed', message: 'no route to the bucket' };
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => state() === 'Announced');
    await h.elapse(300_000);
    expect(state()).toBe('Announced');
    other.transferRefusal = undefined;
    await h.until(() => other.grants.has(uidOf(pod)));
  });

  it.each([
    ['has lost it', { status: 404, code: 'Absent', message: 'it is not there' }, 'Failed/DataLost'],
    ['has something else', { status: 422, code: 'RemoteRefused', message: 'another digest' }, 'Ready/Saved'],
  ])('is not restored when the bucket %s', async (_what, refusal, summary) => {
    await sleepInBucket();
    other.transferRefusal = refusal;
    h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => state() === 'Failed');
    expect(h.summary()).toBe(summary);
  });

  it('is refused while the upload has not ended', async () => {
    h.agent.holdsTransfers = true;
    await h.startController();
    await h.asleep();
    await h.until(() => h.status().remote?.state === 'Uploading');
    h.addMarkedPod('notebook', { node: OTHER });
    await h.elapse(10_000);
    expect(puts(other)).toEqual([]);
    h.agent.finishTransfers();
    await h.until(() => other.grants.size === 1);
  });

  it('is the only one, also with two controllers that both believe they lead', async () => {
    await h.startController();
    await sleepInBucket();
    h.addMarkedPod('notebook', { node: OTHER });
    h.addMarkedPod('second');
    await h.until(() => state() === 'Announced');
    await h.elapse(10_000);
    expect([...h.agent.grants.keys(), ...other.grants.keys()]).toEqual([h.status().restore?.podUID]);
  });
});

describe('a node that is gone', () => {
  it('loses nothing that the bucket has, and another one restores it', async () => {
    await sleepInBucket();
    h.removeNode();
    await h.until(() => h.status().nodeName === undefined);
    expect(h.summary()).toBe('Ready/Saved');
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => other.grants.has(uidOf(pod)));
    other.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect([other.stored.size, h.agent.bucket?.size]).toEqual([0, 0]);
  });

  it('loses what was not uploaded yet', async () => {
    h.agent.holdsTransfers = true;
    await h.startController();
    await h.asleep();
    h.removeNode();
    await h.until(() => h.summary() === 'Failed/DataLost');
  });

  it('on which a Pod may have begun ends the restore, and no other Pod gets the memory', async () => {
    await sleepInBucket();
    const pod = h.addMarkedPod('notebook', { node: OTHER });
    await h.until(() => other.grants.has(uidOf(pod)));
    h.removeNode(OTHER);
    await h.until(() => state() === 'Failed');
    h.removePod('notebook');
    h.addMarkedPod('notebook');
    await h.elapse(10_000);
    expect(h.agent.grants.size).toBe(0);
  });

  it('and comes back keeps the Pod standing still that its Sandbox has left', async () => {
    await h.startController();
    h.agent.paused.add('uid-of-a-pod');
    h.agent.addOrphan(PLACE, '2025-01-01T00:00:00Z');
    await h.until(() => h.agent.requests.includes(`DELETE /v1/snapshots/${PLACE}/uid-of-none?pod=stay`));
  });
});

describe('a hibernation that no node can restore', () => {
  function relabel(name: string, value: string): void {
    h.api.change(nodes, { name }, (node) => {
      node.metadata.labels = { ...node.metadata.labels, [labels.snapshotFingerprint]: value };
    });
  }

  beforeEach(async () => {
    await sleepInBucket();
    const isLabelled = (name: string): boolean =>
      h.api.object(nodes, { name })?.metadata.labels?.[labels.snapshotFingerprint] === HASH;
    await h.until(() => isLabelled('node-1') && isLabelled(OTHER));
  });

  /** gVisor is upgraded, and what the agents say of it is on the Nodes. */
  async function upgrade(): Promise<void> {
    for (const name of ['node-1', OTHER]) h.removeAgent(name);
    await h.elapse(1_000);
    for (const name of ['node-1', OTHER]) relabel(name, 'another');
    await h.elapse(1_000);
  }

  it('loses its memory alone once a Pod has waited for a minute, if its files were kept', async () => {
    await upgrade();
    const pod = h.addWaitingPod('notebook');
    await h.elapse(65_000);
    await h.until(() => state() === 'Failed');
    expect(h.status().restore).toMatchObject({ podUID: uidOf(pod) });
    expect(h.status().restore?.message).toContain('No node can restore it');
    expect(h.summary()).toBe('Ready/Saved');
  });

  it('is lost once a Pod has waited for a minute, if they were not', async () => {
    h.api.change(sandboxSnapshots, KEY, (snapshot) => {
      snapshot.status = { ...snapshot.status, hasFiles: false };
    });
    await upgrade();
    h.addWaitingPod('notebook');
    await h.elapse(50_000);
    expect(h.summary()).toBe('Ready/Saved');
    await h.elapse(15_000);
    await h.until(() => h.summary() === 'Failed/DataLost');
    expect(findCondition(h.status().conditions, 'Ready')?.message).toContain('No node can restore it');
  });

  it('is kept while no Pod waits for it, or a Pod of somebody else does', async () => {
    await upgrade();
    await h.elapse(200_000);
    h.addWaitingPod('intruder', { owner: h.addSandbox('other') });
    h.addWaitingPod('intruder', { namespace: 'team-b' });
    await h.elapse(200_000);
    expect(h.summary()).toBe('Ready/Saved');
  });

  it('is kept when a node comes in time', async () => {
    await upgrade();
    h.addWaitingPod('notebook');
    await h.elapse(40_000);
    relabel(OTHER, HASH);
    await h.elapse(100_000);
    expect(h.summary()).toBe('Ready/Saved');
  });
});

describe('a copy of a snapshot that the bucket has', () => {
  beforeEach(async () => {
    await h.startController();
    h.hibernate({ whenSaved: 'Resume' });
    await h.until(() => h.status().remote?.state === 'Uploaded');
    addStart(h);
  });

  const start = (node: string): Pod => {
    const uid = snapshotUID(COPY);
    const mark = { 'sandlot.dev/restore-snapshot': uid };
    return h.addPod(START, { owner: h.owner(START), node, marks: { labels: mark, annotations: mark } });
  };

  it('is restored on another node from what that one downloads of the original', async () => {
    addCopy(h);
    await h.until(() => h.summary(COPY) === 'Ready/Saved');
    expect(h.status(COPY)).toMatchObject({
      remoteOf: snapshotUID(),
      remote: { state: 'Uploaded' },
      nodeName: 'node-1',
    });
    const pod = start(OTHER);
    await h.until(() => other.grants.has(uidOf(pod)));
    expect(puts(other)).toEqual([
      `PUT /v1/downloads/${PLACE}/${snapshotUID()}`,
      `PUT /v1/copies/${PLACE}/${snapshotUID(COPY)}`,
      `PUT /v1/restores/${uidOf(pod)}`,
    ]);
    other.end(uidOf(pod), 'Restored');
    await h.until(() => state(COPY) === 'Restored');
    await h.deleteSnapshot(COPY);
    await h.until(() => h.isGone(COPY));
    expect(h.agent.bucket?.size).toBe(1);
  });

  it('needs no node while it is made, if that of the original is gone', async () => {
    h.removeNode();
    await h.until(() => h.status().nodeName === undefined);
    addCopy(h);
    await h.until(() => h.summary(COPY) === 'Ready/Saved');
    expect(h.status(COPY)).toMatchObject({ fingerprint: HASH, remoteOf: snapshotUID() });
    const pod = start(OTHER);
    await h.until(() => other.grants.has(uidOf(pod)));
    other.end(uidOf(pod), 'Restored');
    await h.until(() => state(COPY) === 'Restored');
    await h.deleteSnapshot(COPY);
    await h.until(() => h.isGone(COPY));
  });

  it('needs no agent that is away while it is made', async () => {
    h.removeAgent();
    addCopy(h);
    await h.elapse(200_000);
    await h.until(() => h.summary(COPY) === 'Ready/Saved');
    expect(h.status(COPY).nodeName).toBeUndefined();
  });

  it('has the data of its original, whatever its author notes on it afterwards', async () => {
    h.agent.bucket?.set(`${PLACE}/of-somebody`, { stored: {}, digest: 'sha256:of-somebody' });
    addCopy(h);
    await h.until(() => h.summary(COPY) === 'Ready/Saved');
    h.api.change(sandboxSnapshots, { ...KEY, name: COPY }, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'sandlot.dev/copied-from': 'of-somebody' };
    });
    const pod = start(OTHER);
    await h.until(() => other.grants.has(uidOf(pod)));
    expect(puts(other).filter((request) => request.includes('of-somebody'))).toEqual([]);
    expect(h.api.object(sandboxes, { namespace: PLACE, name: START })).toBeDefined();
  });
});

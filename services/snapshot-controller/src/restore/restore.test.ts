import { sandboxSnapshots } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../../test/harness.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
const announcements = (): string[] => h.agent.requests.filter((request) => request.startsWith('PUT /v1/restores/'));
const state = (): string | undefined => h.status().restore?.state;

describe('a Pod that is marked for a restore', () => {
  it('is announced to the node after the status says so, and followed to its end', async () => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    expect(h.status().restore).toMatchObject({ podName: 'notebook', podUID: uidOf(pod), state: 'Announced' });
    h.agent.begin(uidOf(pod));
    h.agent.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
    await h.eventually(() => expect(h.bus.published.map(({ type }) => type)).toContain('sandbox.restored'));
  });

  it('is published although the sandbox-controller deletes the snapshot at once', async () => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    h.api.onChange(sandboxSnapshots, () => {
      if (!h.isGone() && state() === 'Restored') h.api.remove(sandboxSnapshots, KEY);
    });
    h.agent.end(uidOf(pod), 'Restored');
    await h.until(() => h.isGone());
    await h.eventually(() => expect(h.bus.published.map(({ type }) => type)).toContain('sandbox.restored'));
  });

  it('whose restore failed says why', async () => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    h.agent.end(uidOf(pod), 'Failed', 'runsc: exit status 1');
    await h.until(() => state() === 'Failed');
    expect(h.status().restore?.message).toBe('runsc: exit status 1');
    await h.eventually(() => {
      const failed = h.bus.published.find(({ type }) => type === 'sandbox.restore.failed');
      expect(failed?.data).toMatchObject({ podName: 'notebook', kept: 'Memory', message: 'runsc: exit status 1' });
    });
  });

  it.each([
    ['of a warm pool is announced as spare', { pool: 'hash' }, true],
    ['of a claim is announced as one that a user waits for', {}, undefined],
  ])('%s', async (_who, origin, spare) => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook', origin);
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    expect(h.agent.grants.get(uidOf(pod))?.spare).toBe(spare);
  });

  it('of a warm pool is announced to an older agent as any other', async () => {
    h.agent.isOld = true;
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook', { pool: 'hash' });
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    h.agent.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
  });

  it('is not announced before it is on a node, nor before the snapshot is Ready', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate();
    await h.until(() => h.status().phase === 'Saving');
    h.removePod('notebook');
    h.addMarkedPod('notebook');
    await h.elapse(5_000);
    expect(announcements()).toEqual([]);
    h.agent.finishSaves();
    await h.until(() => announcements().length === 1);
  });
});

describe('a Pod is never announced', () => {
  it.each([
    ['from another namespace', { namespace: 'team-b' }],
    ['on a node without the data', { node: 'node-2' }],
    ['whose annotation names another snapshot', { annotated: 'another' }],
  ])('%s', async (_what, parts) => {
    await h.startController();
    await h.asleep();
    h.addMarkedPod('intruder', parts);
    await h.elapse(10_000);
    expect(announcements()).toEqual([]);
    expect(h.status().restore).toBeUndefined();
  });

  it('of another Sandbox', async () => {
    const other = h.addSandbox('other');
    await h.startController();
    await h.asleep();
    h.addMarkedPod('intruder', { owner: other });
    await h.elapse(10_000);
    expect(announcements()).toEqual([]);
  });

  it('that another object controls by the UID of the Sandbox', async () => {
    await h.startController();
    await h.asleep();
    h.addMarkedPod('intruder', { owner: { ...h.owner(), kind: 'SandboxClaim' } });
    await h.elapse(10_000);
    expect(announcements()).toEqual([]);
  });

  it.each(['Restored', 'Failed'] as const)('after another one had %s', async (end) => {
    await h.startController();
    await h.asleep();
    const first = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(first)));
    h.agent.end(uidOf(first), end);
    await h.until(() => state() === end);
    h.addMarkedPod('second');
    await h.elapse(10_000);
    expect(announcements()).toHaveLength(1);
  });

  it('beside another one, also with two controllers that both believe they lead', async () => {
    await Promise.all([h.startController(), h.startController()]);
    await h.asleep();
    const marked = [h.addMarkedPod('notebook'), h.addMarkedPod('second')];
    await h.until(() => state() === 'Announced');
    await h.elapse(10_000);
    const granted = [...h.agent.grants.keys()];
    expect(granted).toEqual([h.status().restore?.podUID]);
    expect(marked.map(uidOf)).toContain(granted[0]);
    expect(new Set(announcements()).size).toBe(1);
  });
});

describe('a controller that does not see what another leader wrote', () => {
  it('announces no second Pod', async () => {
    await h.startController();
    await h.asleep();
    using _ = h.api.faults.stallWatches({ resource: 'sandboxsnapshots' });
    const at = '2026-01-01T12:00:00Z';
    const restore = { podName: 'rival', podUID: 'uid-rival', nodeName: 'node-1', state: 'Announced', at } as const;
    h.api.change(sandboxSnapshots, KEY, (snapshot) => {
      snapshot.status = { ...snapshot.status, restore };
    });
    h.addMarkedPod('notebook');
    await h.elapse(10_000);
    expect(announcements()).toEqual([]);
    expect(h.status().restore).toEqual(restore);
  });
});

describe('a controller that is killed in the middle of a restore', () => {
  it('leaves one that the next one follows', async () => {
    const first = await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    await h.kill(first);
    h.agent.begin(uidOf(pod));
    h.agent.end(uidOf(pod), 'Restored');
    await h.startController();
    await h.until(() => state() === 'Restored');
  });
});

describe('a Pod that ends', () => {
  it('before it began gives the snapshot back, and the next Pod may have it', async () => {
    await h.startController();
    await h.asleep();
    const first = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(first)));
    h.removePod('notebook');
    await h.until(() => state() === 'Withdrawn');
    const second = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(second)));
    h.agent.end(uidOf(second), 'Restored');
    await h.until(() => state() === 'Restored');
    expect(h.status().restore?.podUID).toBe(uidOf(second));
  });

  it('after it began has used the snapshot up', async () => {
    await h.startController();
    await h.asleep();
    const first = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(first)));
    h.agent.grants.set(uidOf(first), { snapshotUid: h.snapshot().metadata.uid ?? '', state: 'Begun', message: '' });
    h.removePod('notebook');
    await h.until(() => state() === 'Failed');
    h.addMarkedPod('notebook');
    await h.elapse(10_000);
    expect(announcements()).toHaveLength(1);
  });
});

describe('an agent', () => {
  it('that forgot the announcement gets it again', async () => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    h.agent.forget();
    await h.until(() => announcements().length === 2 && h.agent.grants.has(uidOf(pod)));
    h.agent.end(uidOf(pod), 'Restored');
    await h.until(() => state() === 'Restored');
  });

  it('that lost the data fails the restore and the snapshot', async () => {
    await h.startController();
    await h.asleep();
    h.agent.stored.clear();
    h.addMarkedPod('notebook');
    await h.until(() => h.summary() === 'Failed/DataLost');
    expect(state()).toBe('Failed');
  });

  it('that is away for long does not fail the restore of a Pod that runs', async () => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.has(uidOf(pod)));
    h.runPod('notebook');
    h.removeAgent();
    h.agent.forget();
    await h.elapse(200_000);
    expect(state()).toBe('Announced');
    h.addNode();
    h.agent.grants.set(uidOf(pod), { snapshotUid: h.snapshot().metadata.uid ?? '', state: 'Restored', message: '' });
    await h.until(() => state() === 'Restored');
  });
});

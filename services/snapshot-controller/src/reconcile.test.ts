import { labels, sandboxSnapshots } from '@sandlot/api-types';
import { nodes, pods } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, NODE, PLACE } from '../test/harness.ts';
import { BYTES, HASH } from '../test/test-agent.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const saves = (): string[] => h.agent.requests.filter((request) => request.startsWith('PUT /v1/snapshots/'));

describe('a hibernation', () => {
  it('is Ready with size, node and fingerprint once the agent has saved the Pod', async () => {
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Ready/Saved');
    const { podUID, ...source } = h.status().source ?? {};
    expect(source).toEqual({ sandboxUID: h.owner().uid, podName: 'notebook', nodeName: NODE });
    expect(h.status()).toMatchObject({
      savedAt: '2026-01-01T12:00:00Z',
      sizeBytes: BYTES,
      nodeName: NODE,
      fingerprint: HASH,
      fingerprintText: 'runsc release-20260905.0, amd64',
    });
    expect(h.agent.begun).toMatchObject([{ mode: 'Hibernate', source: { sandboxName: 'notebook', podUid: podUID } }]);
    expect(h.snapshot().metadata.finalizers).toEqual(['sandlot.dev/snapshot-data']);
  });

  it('has its finalizer and its source before the agent is asked', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate();
    await h.until(() => saves().length === 1);
    expect(h.snapshot().metadata.finalizers).toEqual(['sandlot.dev/snapshot-data']);
    expect(h.status()).toMatchObject({ phase: 'Saving', source: { podName: 'notebook' } });
    expect(h.writes().filter((write) => write !== 'patch nodes')).toEqual([
      'patch sandboxsnapshots',
      'patch sandboxsnapshots/status',
    ]);
  });

  it('costs three writes', async () => {
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Ready/Saved');
    await h.elapse(5_000);
    expect(h.writes().filter((write) => write.includes('sandboxsnapshots'))).toHaveLength(3);
  });

  it('publishes what happened, for the snapshot and for the Sandbox', async () => {
    await h.startController();
    h.hibernate();
    await h.eventually(() =>
      expect(h.bus.published.map(({ type }) => type)).toEqual(['snapshot.ready', 'sandbox.hibernated']),
    );
  });
});

describe('a snapshot of a Sandbox that goes on', () => {
  it('is saved without standing still', async () => {
    await h.startController();
    h.hibernate({ whenSaved: 'Resume' });
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(h.agent.begun).toMatchObject([{ mode: 'Snapshot' }]);
  });
});

describe('no save begins', () => {
  it.each([
    ['for a Sandbox that does not exist', { sandboxName: 'other' }, 'Failed/SandboxNotFound'],
    ['for a class that does not exist', { snapshotClassName: 'other' }, 'Failed/NoSnapshotClass'],
  ])('%s', async (_what, spec, expected) => {
    await h.startController();
    h.hibernate(spec);
    await h.until(() => h.summary() === expected);
    expect(saves()).toEqual([]);
    expect(h.snapshot().metadata.finalizers ?? []).toEqual([]);
  });

  it.each([
    ['for a hibernation of a Sandbox that is to run', { operatingMode: 'Running' }, 'Failed/NotSuspended'],
    ['for a hibernation of a Sandbox that stops', { suspensionStrategy: { type: 'Stop' } }, 'Failed/NotSuspended'],
  ] as const)('%s', async (_what, spec, expected) => {
    h.addSandbox('awake', spec);
    await h.startController();
    h.hibernate({ sandboxName: 'awake' });
    await h.until(() => h.summary() === expected);
    expect(saves()).toEqual([]);
  });

  it('for a hibernation that another Sandbox owns', async () => {
    h.addSandbox('other');
    await h.startController();
    h.hibernate({ sandboxName: 'other' });
    await h.until(() => h.summary() === 'Failed/NotSuspended');
  });

  it('for a Sandbox without a Pod that runs', async () => {
    h.removePod('notebook');
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Failed/SandboxNotRunning');
  });
});

describe('a save that the agent refuses', () => {
  it.each([
    [507, 'NoSpace', 'Failed/NoSpace'],
    [422, 'NotGVisor', 'Failed/NotGVisor'],
    [404, 'PodAbsent', 'Failed/NotGVisor'],
    [409, 'Conflict', 'Failed/SaveFailed'],
    [500, 'SaveFailed', 'Failed/SaveFailed'],
  ])('with %i %s has the reason and the words of the agent: %s', async (status, code, expected) => {
    h.agent.refusal = { status, code, message: 'in these words' };
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === expected);
    expect(h.status().conditions).toMatchObject([{ status: 'False', message: 'in these words' }]);
    await h.eventually(() => expect(h.bus.published.map(({ type }) => type)).toEqual(['snapshot.failed']));
  });

  it('because the Pod ended says so', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate();
    await h.until(() => saves().length === 1);
    h.removePod('notebook');
    h.agent.refusal = { status: 404, code: 'PodAbsent', message: 'absent' };
    h.agent.forget();
    await h.until(() => h.summary() === 'Failed/SandboxNotRunning');
  });

  it('because the node is busy is asked for again', async () => {
    h.agent.refusal = { status: 503, code: 'Busy', message: 'two saves run' };
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Saving/NodeBusy');
    h.agent.refusal = undefined;
    await h.until(() => h.summary() === 'Ready/Saved');
  });

  it('is deleted after the time that its class keeps failures', async () => {
    h.agent.refusal = { status: 507, code: 'NoSpace', message: 'full' };
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Failed/NoSpace');
    await h.elapse(590_000);
    expect(h.summary()).toBe('Failed/NoSpace');
    await h.elapse(15_000);
    await h.until(() => h.isGone());
  });
});

describe('an agent that is away', () => {
  it('is waited for', async () => {
    h.removeAgent();
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Saving/NoNodeAgent');
    h.addNode();
    await h.until(() => h.summary() === 'Ready/Saved');
  });

  it('fails the save after two minutes', async () => {
    h.removeAgent();
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Saving/NoNodeAgent');
    await h.elapse(125_000);
    await h.until(() => h.summary() === 'Failed/NoNodeAgent');
  });

  it('that dies in the middle of a save is asked again', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate();
    await h.until(() => saves().length === 1);
    h.agent.holdsSaves = false;
    h.agent.forget();
    await h.until(() => h.summary() === 'Ready/Saved');
  });
});

describe('a controller that is killed in the middle of a save', () => {
  it('leaves a save that the next one joins', async () => {
    h.agent.holdsSaves = true;
    const first = await h.startController();
    h.hibernate();
    await h.until(() => saves().length === 1);
    await h.kill(first);
    await h.startController();
    await h.until(() => saves().length === 2);
    h.agent.finishSaves();
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(h.agent.begun).toHaveLength(1);
  });

  it.each(['hold', 'status'])('after its write %s leaves one that the next one begins', async (after) => {
    const count = after === 'hold' ? 1 : 2;
    h.agent.holdsSaves = true;
    const first = await h.startController();
    h.hibernate();
    await h.until(() => h.writes().filter((write) => write.includes('sandboxsnapshots')).length >= count);
    await h.kill(first);
    h.agent.finishSaves();
    await h.startController();
    await h.until(() => h.summary() === 'Ready/Saved');
  });
});

describe('the deletion of a snapshot', () => {
  it('removes the data from the node, and only then the object', async () => {
    await h.startController();
    await h.asleep();
    expect(h.agent.stored.size).toBe(1);
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect(h.agent.stored.size).toBe(0);
  });

  it('ends a save in progress', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate();
    await h.until(() => saves().length === 1);
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    // The look at the store of the whole node, for what nothing needs, may come later.
    expect(h.agent.requests.findLast((request) => request.includes('/v1/snapshots/'))).toMatch(/^DELETE/);
    expect(h.agent.stored.size).toBe(0);
  });

  it('waits for an agent that is away', async () => {
    await h.startController();
    await h.asleep();
    h.removeAgent();
    await h.deleteSnapshot();
    await h.elapse(300_000);
    expect(h.isGone()).toBe(false);
    h.addNode();
    await h.until(() => h.isGone());
    expect(h.agent.stored.size).toBe(0);
  });

  it('waits for no node that is gone', async () => {
    await h.startController();
    await h.asleep();
    h.removeNode();
    await h.until(() => h.summary() === 'Failed/DataLost');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
  });
});

describe('a snapshot that is Ready', () => {
  it('expires as it says, and its data with it', async () => {
    await h.startController();
    await h.asleep({ ttlSeconds: 60 });
    expect(h.status().expiresAt).toBe('2026-01-01T12:01:00Z');
    await h.elapse(61_000);
    await h.until(() => h.isGone());
    expect(h.agent.stored.size).toBe(0);
  });

  it('expires as its class says', async () => {
    h.addClass({ retention: { readySeconds: 120 } }, 'short');
    await h.startController();
    await h.asleep({ snapshotClassName: 'short' });
    expect(h.status().expiresAt).toBe('2026-01-01T12:02:00Z');
  });
});

describe('a Node', () => {
  it('is labelled with the fingerprint that its agent reports', async () => {
    await h.startController();
    const label = (): string | undefined =>
      h.api.object(nodes, { name: NODE })?.metadata.labels?.[labels.snapshotFingerprint];
    await h.eventually(() => expect(label()).toBe(HASH));
  });
});

describe('data on a node without an object', () => {
  it('is erased once it is old enough, and nothing else is', async () => {
    await h.startController();
    await h.asleep();
    const [kept] = h.agent.stored.keys();
    h.agent.addOrphan('team-b', '2026-01-01T12:00:00Z');
    await h.elapse(250_000);
    expect(h.agent.stored.size).toBe(2);
    await h.elapse(700_000);
    await h.until(() => h.agent.stored.size === 1);
    expect([...h.agent.stored.keys()]).toEqual([kept]);
  });

  it('that the cache does not show yet is kept', async () => {
    await h.startController();
    await h.asleep();
    using _ = h.api.faults.stallWatches({ resource: 'sandboxsnapshots' });
    const metadata = { namespace: 'team-b', name: 'unseen' };
    const [unseen] = h.api.seed(sandboxSnapshots, { metadata, spec: { sandboxName: 'box', whenSaved: 'Resume' } });
    h.agent.addOrphan('team-b', '2026-01-01T11:00:00Z', unseen?.metadata.uid);
    await h.elapse(700_000);
    expect(h.agent.stored.size).toBe(2);
  });
});

describe('the Pods of a Sandbox', () => {
  it('are only read', async () => {
    await h.startController();
    await h.asleep();
    h.addMarkedPod('notebook');
    await h.until(() => h.agent.grants.size === 1);
    expect(h.writes().filter((write) => / (pods|sandboxes)/.test(write))).toEqual([]);
    expect(h.api.objects(pods, PLACE)).toHaveLength(1);
  });
});

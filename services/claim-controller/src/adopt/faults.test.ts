import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { FaultAnswer } from '@sandlot/kube-testkit';
import { describe, expect, it } from 'vitest';
import { ClaimHarness, COMMIT, PUBLISH } from '../../test/harness.ts';

/** Every claim is Ready with one Sandbox of its own, and no Sandbox is left over. */
function expectOneEach(harness: ClaimHarness, names: readonly string[]): void {
  const shown = names.map((name) => harness.getStatus(name).sandbox?.name);
  expect(names.filter((name) => !harness.isReady(name))).toEqual([]);
  expect(new Set(shown).size).toBe(names.length);
  expect([...harness.owned()].sort()).toEqual(names.map((name) => [name, [harness.getStatus(name).sandbox?.name]]));
}

const JOB = { namespace: 'default', name: 'job' };

/** Another controller commits this Sandbox to the claim `job`. */
function commitElsewhere(harness: ClaimHarness, name: string): void {
  const uid = harness.api.object(sandboxClaims, JOB)?.metadata.uid ?? '';
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'job', uid };
  harness.api.change(sandboxes, { namespace: 'default', name }, ({ metadata }) => {
    metadata.ownerReferences = [{ ...owner, controller: true }];
  });
}

const answers: readonly (readonly [string, FaultAnswer])[] = [
  ['an error', { status: 500 }],
  ['a reset', 'reset'],
  ['silence', 'hang'],
  ['a gateway timeout', { status: 504 }],
];

describe('a commit that succeeds and is answered by', () => {
  it.each(answers)('%s is confirmed by a read, and no second Sandbox is touched', async (_, answer) => {
    await using harness = await ClaimHarness.start({ members: 3 });
    harness.api.faults.errorAfterCommit({ match: COMMIT, answer });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.writes()).toEqual(['patch sandboxes', 'patch sandboxclaims', 'patch sandboxclaims/status']);
    expectOneEach(harness, ['job']);
  });

  it.each(answers)('%s while reads fail too is confirmed before any other request', async (_, answer) => {
    await using harness = await ClaimHarness.start({ members: 3 });
    harness.api.faults.errorAfterCommit({ match: COMMIT, answer });
    harness.api.faults.failNext({ match: { verb: 'get', resource: 'sandboxes' }, answer: { status: 500 }, times: 5 });
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    stalled.end();
    await harness.elapse(500);
    expect(harness.writes().filter((write) => write === 'patch sandboxes')).toHaveLength(1);
    expectOneEach(harness, ['job']);
  });
});

describe('a publish that succeeds and is answered by', () => {
  it.each(answers)('%s is not mistaken for a lost race', async (_, answer) => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.api.faults.errorAfterCommit({ match: PUBLISH, answer });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(1_000);
    expectOneEach(harness, ['job']);
  });
});

describe('a controller that dies', () => {
  it.each([
    ['before the commit', 0],
    ['between commit and publish', 1],
    ['between publish and bookkeeping', 2],
  ])('%s leaves a claim that the next one finishes the same way', async (_, writes) => {
    await using harness = await ClaimHarness.start({ members: 3 });
    harness.api.faults.failAfterWrites(writes, {
      match: (request) => request.user === 'first' && request.resource !== 'events',
    });
    const first = harness.startController('first');
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() =>
      expect(harness.api.writes().filter(({ code }) => code === 0).length).toBeGreaterThan(0),
    );
    await harness.kill(first);
    const committed = harness.owned().get('job');
    harness.startController('second');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    if (writes > 0) expect(harness.owned().get('job')).toEqual(committed);
    expectOneEach(harness, ['job']);
    await harness.eventually(() => expect(Object.keys(harness.getAnnotations('job'))).toHaveLength(3));
    const bindings = (): unknown[] => harness.bus.published.filter(({ type }) => type === 'claim.bound');
    await harness.eventually(() => expect(bindings()).toHaveLength(1));
  });
});

describe('two controllers that both think they lead', () => {
  it.each([25, 5])('give 20 claims on a pool of %i one Sandbox each', async (members) => {
    await using harness = await ClaimHarness.start({ members });
    harness.makeAllReady();
    harness.startController('one');
    harness.startController('two');
    await harness.watching(2);
    const names = harness.claims(20);
    await harness.eventually(() => expectOneEach(harness, names));
    await harness.elapse(1_000);
    expectOneEach(harness, names);
    const warm = [...harness.owned().values()].flat().filter((name) => name.startsWith('pool-'));
    expect(warm.length).toBeGreaterThanOrEqual(Math.min(members, 20) - 3);
  });

  it('that each commit a Sandbox to one claim: the second to publish deletes its own', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.startController();
    await harness.watching();
    const unsubscribe = harness.api.onChange(sandboxes, () => {
      if (harness.owned().get('job')?.[0] !== 'pool-m001') return;
      unsubscribe();
      commitElsewhere(harness, 'pool-m002');
      harness.api.change(sandboxClaims, JOB, (claim) => void (claim.status = { sandbox: { name: 'pool-m002' } }));
    });
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() => expect(harness.sandbox('pool-m001')).toBeUndefined());
    expectOneEach(harness, ['job']);
    expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002');
  });

  it('that each commit a Sandbox to one claim without publishing: the older one is published, the other deleted', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    const hold = harness.api.faults.failAfterWrites(0, { match: PUBLISH, answer: { status: 503 } });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m001']));
    commitElsewhere(harness, 'pool-m002');
    hold.end();
    await harness.eventually(() => expect(harness.sandbox('pool-m002')).toBeUndefined());
    expectOneEach(harness, ['job']);
  });

  it('never delete what the other one has published, even if their watch does not show it', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    const hold = harness.api.faults.failAfterWrites(0, { match: PUBLISH, answer: { status: 500 } });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m001']));
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxclaims' });
    commitElsewhere(harness, 'pool-m002');
    harness.api.change(sandboxClaims, JOB, (claim) => void (claim.status = { sandbox: { name: 'pool-m002' } }));
    await harness.elapse(50);
    hold.end();
    await harness.eventually(() => expect(harness.sandbox('pool-m001')).toBeUndefined());
    await harness.elapse(500);
    stalled.end();
    await harness.eventually(() => expectOneEach(harness, ['job']));
    expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002');
  });
});

describe('races', () => {
  it('with a harmless change of the candidate are won by retrying the patch with a fresh resourceVersion', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, ({ status }) => {
      if (status !== undefined) status.podIPs = ['10.0.0.9'];
    });
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    stalled.end();
  });

  it.each([
    [
      'is gone',
      (harness: ClaimHarness): void => harness.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' }),
    ],
    [
      'belongs to another owner',
      (harness: ClaimHarness): void =>
        void harness.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, ({ metadata }) => {
          metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'uid-o', controller: true }];
        }),
    ],
  ])('for a candidate that %s move on to the next one', async (_, spoil) => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.api.garbageCollector.pause();
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    spoil(harness);
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002'));
    stalled.end();
  });

  it('with the deletion of the claim leave nothing behind', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxclaims' });
    harness.api.faults.failNext({ match: COMMIT, answer: { status: 429, retryAfterSeconds: 1 } });
    harness.claim('job');
    stalled.end();
    await harness.eventually(() =>
      expect(harness.api.requests().some(({ code, verb }) => code === 0 && verb === 'patch')).toBe(true),
    );
    harness.api.remove(sandboxClaims, JOB);
    await harness.elapse(3_000);
    expect(harness.writes()).toContain('patch sandboxes');
    expect(harness.api.objects(sandboxes)).toEqual([]);
  });

  it('with a stale watch bind each claim of a burst once', async () => {
    await using harness = await ClaimHarness.start({ members: 25 });
    harness.makeAllReady();
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    const names = harness.claims(20);
    await harness.eventually(() => expectOneEach(harness, names));
    harness.api.faults.rewindWatches(10, { resource: 'sandboxes' });
    stalled.end();
    harness.api.faults.rewindWatches(20, { resource: 'sandboxclaims' });
    await harness.elapse(1_000);
    expectOneEach(harness, names);
  });
});

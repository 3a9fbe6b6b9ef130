import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { FaultAnswer } from '@sandlot/kube-testkit';
import { describe, expect, it } from 'vitest';
import { ClaimWorld, COMMIT, PUBLISH } from '../../test/harness.ts';

/** Every claim is Ready with one Sandbox that nobody else has, and nothing is left over. */
function expectOneEach(world: ClaimWorld, names: readonly string[]): void {
  const shown = names.map((name) => world.statusOf(name).sandbox?.name);
  expect(names.filter((name) => !world.isReady(name))).toEqual([]);
  expect(new Set(shown).size).toBe(names.length);
  expect([...world.owned()].sort()).toEqual(names.map((name) => [name, [world.statusOf(name).sandbox?.name]]));
}

const JOB = { namespace: 'default', name: 'job' };

/** Another controller commits this Sandbox to the claim `job`. */
function commitElsewhere(world: ClaimWorld, name: string): void {
  const uid = world.api.object(sandboxClaims, JOB)?.metadata.uid ?? '';
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'job', uid };
  world.api.change(sandboxes, { namespace: 'default', name }, ({ metadata }) => {
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
  it.each(answers)('%s is recognised by reading: no second Sandbox is touched', async (_, answer) => {
    await using world = await ClaimWorld.start({ members: 3 });
    world.api.faults.errorAfterCommit({ match: COMMIT, answer });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(world.writes().slice(0, 2)).toEqual(['patch sandboxes', 'patch sandboxclaims/status']);
    expectOneEach(world, ['job']);
  });

  it.each(answers)('%s while reading fails too is settled before anything else', async (_, answer) => {
    await using world = await ClaimWorld.start({ members: 3 });
    world.api.faults.errorAfterCommit({ match: COMMIT, answer });
    world.api.faults.failNext({ match: { verb: 'get', resource: 'sandboxes' }, answer: { status: 500 }, times: 5 });
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    stalled.end();
    await world.elapse(500);
    expect(world.writes().filter((write) => write === 'patch sandboxes')).toHaveLength(1);
    expectOneEach(world, ['job']);
  });
});

describe('a publish that succeeds and is answered by', () => {
  it.each(answers)('%s is not taken for a loss', async (_, answer) => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.api.faults.errorAfterCommit({ match: PUBLISH, answer });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(1_000);
    expectOneEach(world, ['job']);
  });
});

describe('a controller that dies', () => {
  it.each([
    ['before the commit', 0],
    ['between commit and publish', 1],
    ['between publish and bookkeeping', 2],
  ])('%s leaves a claim that the next one brings to the same end', async (_, writes) => {
    await using world = await ClaimWorld.start({ members: 3 });
    world.api.faults.failAfterWrites(writes, {
      match: (request) => request.user === 'first' && request.resource !== 'events',
    });
    const first = world.startController('first');
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.api.writes().filter(({ code }) => code === 0).length).toBeGreaterThan(0));
    await world.kill(first);
    const committed = world.owned().get('job');
    world.startController('second');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    if (writes > 0) expect(world.owned().get('job')).toEqual(committed);
    expectOneEach(world, ['job']);
    await world.eventually(() => expect(Object.keys(world.annotationsOf('job'))).toHaveLength(3));
    const bindings = (): unknown[] => world.bus.published.filter(({ type }) => type === 'claim.bound');
    await world.eventually(() => expect(bindings()).toHaveLength(1));
  });
});

describe('two controllers that both think they lead', () => {
  it.each([25, 5])('give 20 claims on a pool of %i one Sandbox each', async (members) => {
    await using world = await ClaimWorld.start({ members });
    world.makeAllReady();
    world.startController('one');
    world.startController('two');
    await world.watching(2);
    const names = world.claims(20);
    await world.eventually(() => expectOneEach(world, names));
    await world.elapse(1_000);
    expectOneEach(world, names);
    const warm = [...world.owned().values()].flat().filter((name) => name.startsWith('pool-'));
    expect(warm.length).toBeGreaterThanOrEqual(Math.min(members, 20) - 3);
  });

  it('and each committed a Sandbox to a claim: who publishes second deletes what it took', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.startController();
    await world.watching();
    const unsubscribe = world.api.onChange(sandboxes, () => {
      if (world.owned().get('job')?.[0] !== 'pool-m001') return;
      unsubscribe();
      commitElsewhere(world, 'pool-m002');
      world.api.change(sandboxClaims, JOB, (claim) => void (claim.status = { sandbox: { name: 'pool-m002' } }));
    });
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.eventually(() => expect(world.sandbox('pool-m001')).toBeUndefined());
    expectOneEach(world, ['job']);
    expect(world.statusOf('job').sandbox?.name).toBe('pool-m002');
  });

  it('and each committed a Sandbox to a claim, none published: the older one is, the other goes', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    const hold = world.api.faults.failAfterWrites(0, { match: PUBLISH, answer: { status: 503 } });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['pool-m001']));
    commitElsewhere(world, 'pool-m002');
    hold.end();
    await world.eventually(() => expect(world.sandbox('pool-m002')).toBeUndefined());
    expectOneEach(world, ['job']);
  });

  it('never delete what the other one has published, although their own view does not show it', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    const hold = world.api.faults.failAfterWrites(0, { match: PUBLISH, answer: { status: 500 } });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['pool-m001']));
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxclaims' });
    commitElsewhere(world, 'pool-m002');
    world.api.change(sandboxClaims, JOB, (claim) => void (claim.status = { sandbox: { name: 'pool-m002' } }));
    await world.elapse(50);
    hold.end();
    await world.eventually(() => expect(world.sandbox('pool-m001')).toBeUndefined());
    await world.elapse(500);
    stalled.end();
    await world.eventually(() => expectOneEach(world, ['job']));
    expect(world.statusOf('job').sandbox?.name).toBe('pool-m002');
  });
});

describe('races', () => {
  it('with a harmless change of the candidate are won by trying the same one again', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, ({ status }) => {
      if (status !== undefined) status.podIPs = ['10.0.0.9'];
    });
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m001'));
    stalled.end();
  });

  it.each([
    ['is gone', (world: ClaimWorld): void => world.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' })],
    [
      'is somebody else’s',
      (world: ClaimWorld): void =>
        void world.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, ({ metadata }) => {
          metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'uid-o', controller: true }];
        }),
    ],
  ])('for a candidate that %s end at the next one', async (_, spoil) => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.api.garbageCollector.pause();
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    spoil(world);
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m002'));
    stalled.end();
  });

  it('with the deletion of the claim leave nothing behind', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxclaims' });
    world.api.faults.failNext({ match: COMMIT, answer: { status: 429, retryAfterSeconds: 1 } });
    world.claim('job');
    stalled.end();
    await world.eventually(() =>
      expect(world.api.requests().some(({ code, verb }) => code === 0 && verb === 'patch')).toBe(true),
    );
    world.api.remove(sandboxClaims, JOB);
    await world.elapse(3_000);
    expect(world.writes()).toContain('patch sandboxes');
    expect(world.api.objects(sandboxes)).toEqual([]);
  });

  it('with a stale cache bind each claim of a burst once', async () => {
    await using world = await ClaimWorld.start({ members: 25 });
    world.makeAllReady();
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    const names = world.claims(20);
    await world.eventually(() => expectOneEach(world, names));
    world.api.faults.rewindWatches(10, { resource: 'sandboxes' });
    stalled.end();
    world.api.faults.rewindWatches(20, { resource: 'sandboxclaims' });
    await world.elapse(1_000);
    expectOneEach(world, names);
  });
});

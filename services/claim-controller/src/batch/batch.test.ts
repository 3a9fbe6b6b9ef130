import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimWorld, COMMIT, PUBLISH } from '../../test/harness.ts';

const W2 = 'patch sandboxclaims/status';
const BATCH = { namespace: 'default', name: 'batch' };

/** Every slot is filled exactly once, and shown so. */
function expectFilled(world: ClaimWorld, replicas: number): void {
  const slots = Array.from({ length: replicas }, (_, slot) => slot);
  const shown = world.statusOf('batch').sandboxes ?? [];
  expect(shown.map(({ slot }) => slot)).toEqual(slots);
  expect([...world.slots('batch')].sort(([a], [b]) => a - b)).toEqual(shown.map(({ slot, name }) => [slot, [name]]));
}

async function started(members: number): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members });
  world.startController();
  await world.watching();
  return world;
}

describe('a batch', () => {
  it('of ten on a pool of twelve is delivered warm, owned by nobody, and the claim says so', async () => {
    await using world = await started(12);
    world.claim('batch', { replicas: 10 });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expectFilled(world, 10);
    expect(world.statusOf('batch')).toMatchObject({
      mode: 'Detached',
      phase: 'Completed',
      claimedReplicas: 10,
      readyReplicas: 10,
      claimStartTime: '2026-01-01T12:00:00Z',
      sandbox: { name: world.slots('batch').get(0)?.[0] },
    });
    expect(world.owned().size).toBe(0);
    for (const { metadata } of world.api.objects(sandboxes)) {
      if (metadata.labels?.['sandlot.dev/claim-slot'] !== undefined) expect(metadata.ownerReferences ?? []).toEqual([]);
    }
    const told = [...Array.from({ length: 10 }, () => 'claim.bound'), 'claim.completed', 'claim.submitted'];
    await world.eventually(() => expect(world.bus.published.map(({ type }) => type).sort()).toEqual(told));
  });

  it('of a hundred costs one write a Sandbox, one a wave, and one behind', async () => {
    await using world = await started(100);
    world.claim('batch', { replicas: 100 });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    await world.elapse(5_000);
    const writes = world.writes();
    expect(writes.filter((write) => write === 'patch sandboxes')).toHaveLength(100);
    expect(writes.filter((write) => write === W2).length).toBeLessThanOrEqual(6);
    expect(writes.filter((write) => write !== 'patch sandboxes' && write !== W2)).toEqual(['patch sandboxclaims']);
    expectFilled(world, 100);
  });

  it('on a pool that is too small is filled up cold, under the names of its slots', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.makeAllReady();
    world.startController();
    world.claim('batch', { replicas: 4 });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expectFilled(world, 4);
    const origins = world.statusOf('batch').sandboxes?.map(({ origin }) => origin);
    expect(origins?.filter((origin) => origin === 'Warm')).toHaveLength(2);
    for (const { name, slot, origin } of world.statusOf('batch').sandboxes ?? []) {
      if (origin === 'Cold') expect(name).toBe(`batch-${String(slot)}`);
    }
  });

  it('goes on around a slot whose name is taken, says what is in the way, and comes back to it', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.makeAllReady();
    world.api.seed(sandboxes, sandbox({ name: 'batch-1' }));
    world.startController();
    world.claim('batch', { replicas: 3 });
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(2));
    expect(world.reasonOf('batch')).toBe('ReconcilerError');
    expect(world.statusOf('batch').message).toContain('sandbox "batch-1" is not controlled by claim "batch"');
    world.api.remove(sandboxes, { namespace: 'default', name: 'batch-1' });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expectFilled(world, 3);
  });

  it('that waits for stock shows every Sandbox as it comes, and until when it waited', async () => {
    await using world = await started(1);
    world.claim('batch', { replicas: 3, createOnNoStock: false });
    await world.eventually(() => expect(world.reasonOf('batch')).toBe('WaitingForStock'));
    expect(world.statusOf('batch')).toMatchObject({ phase: 'Claiming', claimedReplicas: 1 });
    world.addMember();
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(2));
    await world.eventually(() => expect(world.reasonOf('batch')).toBe('ClaimTimeout'));
    expect(world.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(world.statusOf('batch')).toMatchObject({
      phase: 'Completed',
      claimedReplicas: 2,
      message: 'Claimed 2 of 3 sandboxes before claimTimeout',
    });
    world.addMember();
    await world.elapse(5_000);
    expect(world.statusOf('batch').claimedReplicas).toBe(2);
    expect(world.eventReasons()).toContain('batch ClaimTimeout');
  });

  it('does not get again what the user deletes after the delivery', async () => {
    await using world = await started(5);
    world.claim('batch', { replicas: 3 });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    const [gone = ''] = world.slots('batch').get(1) ?? [];
    world.api.remove(sandboxes, { namespace: 'default', name: gone });
    await world.eventually(() => expect(world.statusOf('batch').readyReplicas).toBe(2));
    await world.elapse(5_000);
    expect(world.slots('batch').get(1)).toBeUndefined();
    expect(world.statusOf('batch').claimedReplicas).toBe(3);
  });

  it('hands its lifetime to each Sandbox, and goes alone when it has been complete for long enough', async () => {
    await using world = await started(2);
    const shutdownTime = '2030-01-01T00:00:00Z';
    const lifecycle = { shutdownTime, ttlSecondsAfterFinished: 9, shutdownPolicy: 'Delete' } as const;
    world.claim('batch', { replicas: 2, ttlSecondsAfterCompleted: 30, lifecycle });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    for (const { spec } of world.api.objects(sandboxes)) {
      expect(spec).toMatchObject({ shutdownTime, shutdownPolicy: 'Delete', ttlSecondsAfterFinished: 9 });
    }
    await world.eventually(() => expect(world.api.objects(sandboxClaims)).toEqual([]));
    expect(world.clock.monotonic()).toBeGreaterThanOrEqual(30_000);
    await world.elapse(2_000);
    expect(world.api.objects(sandboxes)).toHaveLength(2);
  });

  it('tells of the readiness of many in few writes', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    world.claim('batch', { replicas: 40 });
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(40));
    const before = world.writes().length;
    for (let slot = 0; slot < 40; slot += 1) {
      world.makeReady(`batch-${slot}`);
      await world.elapse(5);
    }
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expect(world.statusOf('batch').readyReplicas).toBe(40);
    expect(world.writes().length - before).toBeLessThanOrEqual(3);
  });
});

describe('a claim for one that outlives it', () => {
  it('is detached, too', async () => {
    await using world = await started(1);
    world.claim('batch', { ttlSecondsAfterCompleted: 0 });
    await world.eventually(() => expect(world.api.objects(sandboxClaims)).toEqual([]));
    await world.elapse(1_000);
    expect(world.slots('batch').size).toBe(1);
  });
});

describe('a batch in trouble', () => {
  it.each([0, 1, 3, 5, 6, 8, 12])(
    'whose controller dies after %i writes is finished by the next one, no slot lost or filled twice',
    async (writes) => {
      await using world = await ClaimWorld.start({ members: 20 });
      world.api.faults.failAfterWrites(writes, {
        match: (request) => request.user === 'first' && request.resource !== 'events',
      });
      const first = world.startController('first');
      await world.watching();
      world.claim('batch', { replicas: 12 });
      await world.eventually(() =>
        expect(world.api.writes().filter(({ code }) => code === 0).length).toBeGreaterThan(0),
      );
      await world.kill(first);
      const kept = [...world.slots('batch').values()].flat();
      world.startController('second');
      await world.eventually(() => expect(world.isReady('batch')).toBe(true));
      expectFilled(world, 12);
      expect([...world.slots('batch').values()].flat()).toEqual(expect.arrayContaining(kept));
    },
  );

  it.each([{ status: 500 }, 'reset', 'hang'] as const)(
    'whose commits are answered by %j although they succeed takes no slot twice',
    async (answer) => {
      await using world = await ClaimWorld.start({ members: 12 });
      for (let times = 0; times < 3; times += 1) world.api.faults.errorAfterCommit({ match: COMMIT, answer });
      world.api.faults.errorAfterCommit({ match: PUBLISH, answer });
      world.startController();
      world.claim('batch', { replicas: 8 });
      await world.eventually(() => expect(world.isReady('batch')).toBe(true));
      expectFilled(world, 8);
    },
  );

  it('that two controllers work on fills every slot once', async () => {
    await using world = await ClaimWorld.start({ members: 60 });
    world.makeAllReady();
    world.startController('one');
    world.startController('two');
    await world.watching(2);
    world.claim('batch', { replicas: 30 });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    await world.eventually(() => expectFilled(world, 30));
    await world.elapse(2_000);
    expectFilled(world, 30);
  });

  it('that is deleted stops, keeps what was delivered, and gives back what was not', async () => {
    await using world = await ClaimWorld.start({ members: 40 });
    const unsubscribe = world.api.onChange(sandboxClaims, () => {
      if ((world.statusOf('batch').claimedReplicas ?? 0) < 5) return;
      unsubscribe();
      delivered = (world.statusOf('batch').sandboxes ?? []).map(({ name }) => name);
      world.api.remove(sandboxClaims, BATCH);
    });
    let delivered: string[] = [];
    world.startController();
    await world.watching();
    world.claim('batch', { replicas: 40 });
    await world.eventually(() => expect(delivered).not.toEqual([]));
    await world.eventually(() => expect([...world.slots('batch').values()].flat().sort()).toEqual(delivered.sort()));
    await world.elapse(2_000);
    expect([...world.slots('batch').values()].flat().sort()).toEqual(delivered.sort());
  });

  it('that the API server forbids to go on keeps what it has, says why, and goes on later', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.makeAllReady();
    const match = { verb: 'create', resource: 'sandboxes' } as const;
    world.api.faults.failNext({ match, answer: { status: 403, message: 'exceeded quota' }, times: 3 });
    world.startController();
    world.claim('batch', { replicas: 4, claimTimeout: '5m' });
    await world.eventually(() => expect(world.statusOf('batch').message).toContain('exceeded quota'));
    expect(world.statusOf('batch').claimedReplicas).toBe(2);
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expectFilled(world, 4);
  });
});

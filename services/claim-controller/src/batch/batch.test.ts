import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { switchOffPacing } from '@sandlot/pacing';
import { describe, expect, it } from 'vitest';
import { ClaimHarness, COMMIT, PUBLISH } from '../../test/harness.ts';

const W2 = 'patch sandboxclaims/status';
const BATCH = { namespace: 'default', name: 'batch' };

/** Every slot is filled exactly once, and the status shows it. */
function expectFilled(harness: ClaimHarness, replicas: number): void {
  const slots = Array.from({ length: replicas }, (_, slot) => slot);
  const shown = harness.getStatus('batch').sandboxes ?? [];
  expect(shown.map(({ slot }) => slot)).toEqual(slots);
  expect([...harness.slots('batch')].sort(([a], [b]) => a - b)).toEqual(shown.map(({ slot, name }) => [slot, [name]]));
}

async function started(members: number): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members });
  harness.startController();
  await harness.watching();
  return harness;
}

describe('a batch', () => {
  it('of ten from a pool of twelve is delivered warm, without owners, and shown in the status', async () => {
    await using harness = await started(12);
    harness.claim('batch', { replicas: 10 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expectFilled(harness, 10);
    expect(harness.getStatus('batch')).toMatchObject({
      mode: 'Detached',
      phase: 'Completed',
      claimedReplicas: 10,
      readyReplicas: 10,
      claimStartTime: '2026-01-01T12:00:00Z',
      sandbox: { name: harness.slots('batch').get(0)?.[0] },
    });
    expect(harness.owned().size).toBe(0);
    for (const { metadata } of harness.api.objects(sandboxes)) {
      if (metadata.labels?.['sandlot.dev/claim-slot'] !== undefined) expect(metadata.ownerReferences ?? []).toEqual([]);
    }
    const expected = [...Array.from({ length: 10 }, () => 'claim.bound'), 'claim.completed', 'claim.submitted'];
    await harness.eventually(() => expect(harness.bus.published.map(({ type }) => type).sort()).toEqual(expected));
  });

  it('of a hundred costs one write per Sandbox, one per wave and one for annotations', async () => {
    await using harness = await started(100);
    harness.claim('batch', { replicas: 100 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    await harness.elapse(5_000);
    const writes = harness.writes();
    expect(writes.filter((write) => write === 'patch sandboxes')).toHaveLength(100);
    expect(writes.filter((write) => write === W2).length).toBeLessThanOrEqual(6);
    expect(writes.filter((write) => write !== 'patch sandboxes' && write !== W2)).toEqual(['patch sandboxclaims']);
    expectFilled(harness, 100);
  });

  it('from a small pool is completed with cold Sandboxes named after their slots', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.makeAllReady();
    harness.startController();
    harness.claim('batch', { replicas: 4 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expectFilled(harness, 4);
    const origins = harness.getStatus('batch').sandboxes?.map(({ origin }) => origin);
    expect(origins?.filter((origin) => origin === 'Warm')).toHaveLength(2);
    for (const { name, slot, origin } of harness.getStatus('batch').sandboxes ?? []) {
      if (origin === 'Cold') expect(name).toBe(`batch-${String(slot)}`);
    }
  });

  it('skips a slot whose name is taken, reports the foreign Sandbox and fills the slot later', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.makeAllReady();
    harness.api.seed(sandboxes, sandbox({ name: 'batch-1' }));
    harness.startController();
    harness.claim('batch', { replicas: 3 });
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(2));
    expect(harness.findReason('batch')).toBe('ReconcilerError');
    expect(harness.getStatus('batch').message).toContain('sandbox "batch-1" is not controlled by claim "batch"');
    harness.api.remove(sandboxes, { namespace: 'default', name: 'batch-1' });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expectFilled(harness, 3);
  });

  it('that waits for stock publishes each Sandbox as it comes, and ends with its time', async () => {
    await using harness = await started(1);
    harness.claim('batch', { replicas: 3, createOnNoStock: false });
    await harness.eventually(() => expect(harness.findReason('batch')).toBe('WaitingForStock'));
    expect(harness.getStatus('batch')).toMatchObject({ phase: 'Claiming', claimedReplicas: 1 });
    harness.addMember();
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(2));
    await harness.eventually(() => expect(harness.findReason('batch')).toBe('ClaimTimeout'));
    expect(harness.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(harness.getStatus('batch')).toMatchObject({
      phase: 'Completed',
      claimedReplicas: 2,
      message: 'Claimed 2 of 3 sandboxes before claimTimeout',
    });
    harness.addMember();
    await harness.elapse(5_000);
    expect(harness.getStatus('batch').claimedReplicas).toBe(2);
    expect(harness.eventReasons()).toContain('batch ClaimTimeout');
  });

  it('does not refill a slot whose Sandbox the user deletes after the delivery', async () => {
    await using harness = await started(5);
    harness.claim('batch', { replicas: 3 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    const [gone = ''] = harness.slots('batch').get(1) ?? [];
    harness.api.remove(sandboxes, { namespace: 'default', name: gone });
    await harness.eventually(() => expect(harness.getStatus('batch').readyReplicas).toBe(2));
    await harness.elapse(5_000);
    expect(harness.slots('batch').get(1)).toBeUndefined();
    expect(harness.getStatus('batch').claimedReplicas).toBe(3);
  });

  it('copies its lifetime to each Sandbox, and is deleted alone some time after its completion', async () => {
    await using harness = await started(2);
    const shutdownTime = '2030-01-01T00:00:00Z';
    const lifecycle = { shutdownTime, ttlSecondsAfterFinished: 9, shutdownPolicy: 'Delete' } as const;
    harness.claim('batch', { replicas: 2, ttlSecondsAfterCompleted: 30, lifecycle });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    for (const { spec } of harness.api.objects(sandboxes)) {
      expect(spec).toMatchObject({ shutdownTime, shutdownPolicy: 'Delete', ttlSecondsAfterFinished: 9 });
    }
    await harness.eventually(() => expect(harness.api.objects(sandboxClaims)).toEqual([]));
    expect(harness.clock.monotonic()).toBeGreaterThanOrEqual(30_000);
    await harness.elapse(2_000);
    expect(harness.api.objects(sandboxes)).toHaveLength(2);
  });

  it.each([
    ['few writes', '', 1, 3],
    ['many writes without pacing.batchStatus', 'batchStatus', 20, 41],
  ])('reports the readiness of many Sandboxes in %s', async (...[, off, least, most]) => {
    using _off = switchOffPacing(off);
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 40 });
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(40));
    const before = harness.writes().length;
    for (let slot = 0; slot < 40; slot += 1) {
      harness.makeReady(`batch-${slot}`);
      await harness.elapse(5);
    }
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expect(harness.getStatus('batch').readyReplicas).toBe(40);
    const writes = harness.writes().length - before;
    expect(writes).toBeGreaterThanOrEqual(least);
    expect(writes).toBeLessThanOrEqual(most);
  });
});

describe('a claim for one Sandbox that outlives it', () => {
  it('is detached too', async () => {
    await using harness = await started(1);
    harness.claim('batch', { ttlSecondsAfterCompleted: 0 });
    await harness.eventually(() => expect(harness.api.objects(sandboxClaims)).toEqual([]));
    await harness.elapse(1_000);
    expect(harness.slots('batch').size).toBe(1);
  });
});

describe('a batch in trouble', () => {
  it.each([0, 1, 3, 5, 6, 8, 12])(
    'whose controller dies after %i writes is completed by the next one, with no slot lost or filled twice',
    async (writes) => {
      await using harness = await ClaimHarness.start({ members: 20 });
      harness.api.faults.failAfterWrites(writes, {
        match: (request) => request.user === 'first' && request.resource !== 'events',
      });
      const first = harness.startController('first');
      await harness.watching();
      harness.claim('batch', { replicas: 12 });
      await harness.eventually(() =>
        expect(harness.api.writes().filter(({ code }) => code === 0).length).toBeGreaterThan(0),
      );
      await harness.kill(first);
      const kept = [...harness.slots('batch').values()].flat();
      harness.startController('second');
      await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
      expectFilled(harness, 12);
      expect([...harness.slots('batch').values()].flat()).toEqual(expect.arrayContaining(kept));
    },
  );

  it.each([{ status: 500 }, 'reset', 'hang'] as const)(
    'fills no slot twice when its successful commits are answered by %j',
    async (answer) => {
      await using harness = await ClaimHarness.start({ members: 12 });
      for (let times = 0; times < 3; times += 1) harness.api.faults.errorAfterCommit({ match: COMMIT, answer });
      harness.api.faults.errorAfterCommit({ match: PUBLISH, answer });
      harness.startController();
      harness.claim('batch', { replicas: 8 });
      await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
      expectFilled(harness, 8);
    },
  );

  it('fills every slot once with two controllers', async () => {
    await using harness = await ClaimHarness.start({ members: 60 });
    harness.makeAllReady();
    harness.startController('one');
    harness.startController('two');
    await harness.watching(2);
    harness.claim('batch', { replicas: 30 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    await harness.eventually(() => expectFilled(harness, 30));
    await harness.elapse(2_000);
    expectFilled(harness, 30);
  });

  it('that is deleted stops, keeps delivered Sandboxes and deletes the others', async () => {
    await using harness = await ClaimHarness.start({ members: 40 });
    const unsubscribe = harness.api.onChange(sandboxClaims, () => {
      if ((harness.getStatus('batch').claimedReplicas ?? 0) < 5) return;
      unsubscribe();
      delivered = (harness.getStatus('batch').sandboxes ?? []).map(({ name }) => name);
      harness.api.remove(sandboxClaims, BATCH);
    });
    let delivered: string[] = [];
    harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 40 });
    await harness.eventually(() => expect(delivered).not.toEqual([]));
    await harness.eventually(() =>
      expect([...harness.slots('batch').values()].flat().sort()).toEqual(delivered.sort()),
    );
    await harness.elapse(2_000);
    expect([...harness.slots('batch').values()].flat().sort()).toEqual(delivered.sort());
  });

  it('that a quota stops keeps its Sandboxes, reports why, and continues later', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.makeAllReady();
    const match = { verb: 'create', resource: 'sandboxes' } as const;
    harness.api.faults.failNext({ match, answer: { status: 403, message: 'exceeded quota' }, times: 3 });
    harness.startController();
    harness.claim('batch', { replicas: 4, claimTimeout: '5m' });
    await harness.eventually(() => expect(harness.getStatus('batch').message).toContain('exceeded quota'));
    expect(harness.getStatus('batch').claimedReplicas).toBe(2);
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expectFilled(harness, 4);
  });
});

import { findCondition, labels, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Condition } from '@sandlot/api-types';
import { sandbox, template } from '@sandlot/api-types/testing';
import { events } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { POOL, PoolHarness } from '../test/pool-harness.ts';

const CREATE = { verb: 'create', resource: 'sandboxes' } as const;

function condition(harness: PoolHarness, type: string): Condition | undefined {
  return findCondition(harness.pool().status?.conditions, type);
}

function creations(harness: PoolHarness): number {
  return harness.writes().filter((write) => write === 'create sandboxes').length;
}

function eventReasons(harness: PoolHarness): string[] {
  return harness.api.objects(events).map(({ reason }) => reason);
}

describe('creates that the API server refuses', () => {
  it('are reported with its message, retried with a growing back-off, and succeed once it accepts them', async () => {
    await using harness = await PoolHarness.start();
    const answer = { status: 403, message: 'exceeded quota: sandboxes, used: 10, limited: 10' };
    using refused = harness.api.faults.failAfterWrites(0, { match: CREATE, answer });
    harness.makePodsReady();
    harness.createPool(5);
    harness.startController();
    await harness.eventually(() => expect(condition(harness, 'Progressing')?.message).toMatch(/exceeded quota/));
    expect(condition(harness, 'Progressing')).toMatchObject({ status: 'False', reason: 'WarmPoolNotProgressing' });
    expect(condition(harness, 'Progressing')?.message).not.toMatch(/pool-[a-z0-9]{5}/);
    await harness.eventually(() => expect(eventReasons(harness)).toContain('WarmPoolNotProgressing'));
    await harness.elapse(60_000);
    const attempts = creations(harness);
    expect(attempts).toBeLessThanOrEqual(12);
    // Events of the pool do not shorten the back-off.
    for (let n = 0; n < 20; n += 1) {
      harness.api.change(sandboxWarmPools, POOL, ({ metadata }) => void (metadata.annotations = { n: `${n}` }));
      await harness.elapse(50);
    }
    expect(creations(harness) - attempts).toBeLessThanOrEqual(1);
    refused.end();
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(5));
    await harness.eventually(() => expect(condition(harness, 'Progressing')?.reason).toBe('ScaledToTarget'));
    await harness.eventually(() => expect(eventReasons(harness)).toContain('WarmPoolProgressing'));
  });

  it('as Invalid are reported as a problem of the template, and a new template is tried at once', async () => {
    await using harness = await PoolHarness.start();
    const answer = { status: 422, reason: 'Invalid', message: 'spec.podTemplate: Invalid value' };
    using refused = harness.api.faults.failAfterWrites(0, { match: CREATE, answer });
    harness.makePodsReady();
    harness.createPool(2);
    harness.startController();
    await harness.eventually(() => expect(condition(harness, 'TemplateResolved')?.reason).toBe('TemplateInvalid'));
    expect(condition(harness, 'TemplateResolved')?.message).toMatch(/Invalid value/);
    await harness.elapse(20_000);
    refused.end();
    harness.changeImage('debian');
    await harness.elapse(500);
    expect(harness.members()).toHaveLength(2);
    await harness.eventually(() => expect(condition(harness, 'TemplateResolved')?.reason).toBe('TemplateFound'));
  });

  it('are not sent when the template controller does not accept the volumes', async () => {
    await using harness = await PoolHarness.start({ withTemplate: false });
    const accepted = {
      type: 'Accepted',
      status: 'False' as const,
      observedGeneration: 1,
      reason: 'InvalidVolumeClaimTemplates',
      message: 'two disks are named "work"',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    harness.api.seed(sandboxTemplates, template({ status: { conditions: [accepted] } }));
    harness.createPool(2);
    harness.startController();
    await harness.eventually(() => expect(condition(harness, 'TemplateResolved')?.message).toMatch(/two disks/));
    expect(creations(harness)).toBe(0);
  });
});

describe('a status write that meets a conflict', () => {
  it('is retried although no event follows', async () => {
    await using harness = await PoolHarness.start();
    const match = { verb: 'patch', resource: 'sandboxwarmpools', subresource: 'status' } as const;
    harness.api.faults.failNext({ match, answer: { status: 409 } });
    harness.createPool(0);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.desiredReplicas).toBe(0));
  });
});

describe('members whose Pods end at once', () => {
  it('are replaced with a growing back-off, and reported', async () => {
    await using harness = await PoolHarness.start();
    harness.makePodsEnd();
    harness.createPool(1);
    harness.startController();
    await harness.eventually(() => expect(condition(harness, 'Progressing')?.message).toMatch(/end within a minute/));
    await harness.elapse(60_000);
    expect(creations(harness)).toBeLessThanOrEqual(14);
  });
});

describe('a rolling update', () => {
  it('replaces every member, reports its start and end, and leaves claimed Sandboxes alone', async () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } } as const;
    await using harness = await PoolHarness.startFilled(4, { updateStrategy });
    const [first] = harness.members();
    if (first === undefined) throw new Error('the pool is empty');
    harness.adopt(first);
    await harness.eventually(() => expect(harness.pool().status).toMatchObject({ readyReplicas: 4, inUse: 1 }));
    let fewest = Infinity;
    harness.api.onChange(sandboxes, () => {
      const ready = harness.members().filter(({ metadata, status }) => {
        const isReady = findCondition(status?.conditions, 'Ready')?.status === 'True';
        return metadata.deletionTimestamp === undefined && isReady;
      });
      fewest = Math.min(fewest, ready.length);
    });
    harness.changeImage('debian');
    await harness.eventually(() =>
      expect(harness.pool().status).toMatchObject({ updatedReplicas: 4, readyReplicas: 4, replicas: 4 }),
    );
    await harness.eventually(() => expect(harness.bus.types).toContain('pool.rollout.finished'));
    expect(harness.bus.types.filter((type) => type.startsWith('pool.rollout'))).toEqual([
      'pool.rollout.started',
      'pool.rollout.finished',
    ]);
    await harness.eventually(() =>
      expect(eventReasons(harness)).toEqual(expect.arrayContaining(['RolloutStarted', 'RolloutFinished'])),
    );
    expect(fewest).toBeGreaterThanOrEqual(3);
    expect(harness.api.object(sandboxes, { namespace: 'default', name: first.metadata.name ?? '' })).toBeDefined();
  });
});

describe('strays', () => {
  it('become members when they are current, and are deleted when they are stale', async () => {
    await using harness = await PoolHarness.startFilled(2);
    const [stays, goes] = harness.members();
    if (stays === undefined || goes === undefined) throw new Error('the pool is not full');
    const orphan = (name: string, hash?: string): void =>
      void harness.api.change(sandboxes, { namespace: 'default', name }, ({ metadata, spec }) => {
        metadata.ownerReferences = [];
        if (hash === undefined) return;
        metadata.labels = { ...metadata.labels, [labels.templateHash]: hash };
        spec.podTemplate.spec.containers = [{ name: 'main', image: 'another' }];
      });
    orphan(stays.metadata.name ?? '');
    orphan(goes.metadata.name ?? '', 'another');
    await harness.eventually(() => {
      const names = harness.members().map(({ metadata }) => metadata.name);
      expect(names).toHaveLength(2);
      expect(names).toContain(stays.metadata.name);
      expect(names).not.toContain(goes.metadata.name);
    });
    expect(harness.api.object(sandboxes, { namespace: 'default', name: goes.metadata.name ?? '' })).toBeUndefined();
    expect(harness.members().every(({ metadata }) => metadata.ownerReferences?.[0]?.controller === true)).toBe(true);
  });

  it('are never taken from another controller', async () => {
    await using harness = await PoolHarness.startFilled(1);
    const owner = { apiVersion: 'example.com/v1', kind: 'Fleet', name: 'f', uid: 'uid-f', controller: true };
    const [member] = harness.members();
    const metadata = { labels: member?.metadata.labels, ownerReferences: [owner] };
    harness.api.garbageCollector.pause();
    harness.api.seed(sandboxes, sandbox({ name: 'other', metadata }));
    await harness.elapse(2_000);
    expect(harness.api.object(sandboxes, { namespace: 'default', name: 'other' })?.metadata.ownerReferences).toEqual([
      owner,
    ]);
    expect(harness.members()).toHaveLength(1);
  });
});

describe('autoscaling', () => {
  it('grows with the Sandboxes in use, shrinks after scaleDownDelaySeconds, and never writes the spec', async () => {
    const autoscaling = { minReplicas: 1, maxReplicas: 20, targetFreePercent: 50, scaleDownDelaySeconds: 30 };
    await using harness = await PoolHarness.startFilled(1, { autoscaling });
    for (let used = 0; used < 4; used += 1) {
      const [member] = harness.members().filter(({ status }) => status !== undefined);
      if (member !== undefined) harness.adopt(member);
      await harness.eventually(() => expect(harness.pool().status?.inUse).toBe(used + 1));
      await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(Math.max(1, used + 1)));
    }
    expect(harness.pool().status).toMatchObject({ desiredReplicas: 4, inUse: 4 });
    expect(harness.pool().status?.claimRatePerMinute).toBeGreaterThan(0);
    for (const { metadata } of harness.api.objects(sandboxes)) {
      const isClaimed = metadata.labels?.[labels.warmPool] !== undefined;
      if (isClaimed) harness.api.remove(sandboxes, { namespace: 'default', name: metadata.name ?? '' });
    }
    await harness.eventually(() => expect(harness.pool().status?.inUse).toBe(0));
    expect(harness.pool().status?.desiredReplicas).toBe(4);
    await harness.elapse(31_000);
    await harness.eventually(() => expect(harness.pool().status).toMatchObject({ desiredReplicas: 1, replicas: 1 }));
    expect(harness.pool().spec.replicas).toBe(1);
  });
});

describe('a schedule', () => {
  it('opens and closes on time without any event', async () => {
    const window = { name: 'noon', cron: '1 12 * * *', durationSeconds: 60, replicas: 5 };
    await using harness = await PoolHarness.startFilled(2, { schedules: [window] });
    expect(harness.pool().status?.activeSchedule).toBeUndefined();
    await harness.eventually(() =>
      expect(harness.pool().status).toMatchObject({ desiredReplicas: 5, readyReplicas: 5, activeSchedule: 'noon' }),
    );
    await harness.eventually(() => expect(harness.pool().status).toMatchObject({ desiredReplicas: 2, replicas: 2 }));
    expect(harness.pool().status?.activeSchedule).toBeUndefined();
  });
});

describe('metrics', () => {
  it('show members by state, the target and the duration of refills, and end with the pool', async () => {
    await using harness = await PoolHarness.start();
    harness.makePodsReady();
    harness.createPool(3);
    const controller = harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(3));
    const scrape = await controller.registry.metrics();
    expect(scrape).toContain('sandlot_warmpool_members{namespace="default",pool="pool",state="ready"} 3');
    expect(scrape).toContain('sandlot_warmpool_target{namespace="default",pool="pool"} 3');
    expect(scrape).toMatch(/sandlot_warmpool_refill_seconds_count 3/);
    harness.api.remove(sandboxWarmPools, POOL);
    await harness.elapse(1_000);
    expect(await controller.registry.metrics()).not.toContain('pool="pool"');
  });
});

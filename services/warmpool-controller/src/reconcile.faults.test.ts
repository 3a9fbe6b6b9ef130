import { findCondition, labels, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Condition, SandboxWarmPool } from '@sandlot/api-types';
import { sandbox, template } from '@sandlot/api-types/testing';
import { events } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { POOL, PoolWorld } from '../test/pool-harness.ts';

const CREATE = { verb: 'create', resource: 'sandboxes' } as const;

async function filled(replicas: number, spec: Partial<SandboxWarmPool['spec']> = {}): Promise<PoolWorld> {
  const world = await PoolWorld.start();
  world.makePodsReady();
  world.createPool(replicas, spec);
  world.startController();
  await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(replicas));
  return world;
}

function condition(world: PoolWorld, type: string): Condition | undefined {
  return findCondition(world.pool().status?.conditions, type);
}

function creations(world: PoolWorld): number {
  return world.writes().filter((write) => write === 'create sandboxes').length;
}

function notes(world: PoolWorld): string[] {
  return world.api.objects(events).map(({ reason }) => reason);
}

describe('creations that are refused', () => {
  it('are told with the words of the API server, tried again ever more rarely, and made when they may be', async () => {
    await using world = await PoolWorld.start();
    const answer = { status: 403, message: 'exceeded quota: sandboxes, used: 10, limited: 10' };
    using refused = world.api.faults.failAfterWrites(0, { match: CREATE, answer });
    world.makePodsReady();
    world.createPool(5);
    world.startController();
    await world.eventually(() => expect(condition(world, 'Progressing')?.message).toMatch(/exceeded quota/));
    expect(condition(world, 'Progressing')).toMatchObject({ status: 'False', reason: 'WarmPoolNotProgressing' });
    expect(condition(world, 'Progressing')?.message).not.toMatch(/pool-[a-z0-9]{5}/);
    await world.eventually(() => expect(notes(world)).toContain('WarmPoolNotProgressing'));
    await world.elapse(60_000);
    const tries = creations(world);
    expect(tries).toBeLessThanOrEqual(12);
    // Nothing that happens meanwhile makes it try faster.
    for (let n = 0; n < 20; n += 1) {
      world.api.change(sandboxWarmPools, POOL, ({ metadata }) => void (metadata.annotations = { n: `${n}` }));
      await world.elapse(50);
    }
    expect(creations(world) - tries).toBeLessThanOrEqual(1);
    refused.end();
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(5));
    await world.eventually(() => expect(condition(world, 'Progressing')?.reason).toBe('ScaledToTarget'));
    await world.eventually(() => expect(notes(world)).toContain('WarmPoolProgressing'));
  });

  it('as invalid are told as a fault of the template, and a new one is tried at once', async () => {
    await using world = await PoolWorld.start();
    const answer = { status: 422, reason: 'Invalid', message: 'spec.podTemplate: Invalid value' };
    using refused = world.api.faults.failAfterWrites(0, { match: CREATE, answer });
    world.makePodsReady();
    world.createPool(2);
    world.startController();
    await world.eventually(() => expect(condition(world, 'TemplateResolved')?.reason).toBe('TemplateInvalid'));
    expect(condition(world, 'TemplateResolved')?.message).toMatch(/Invalid value/);
    await world.elapse(20_000);
    refused.end();
    world.changeImage('debian');
    await world.elapse(500);
    expect(world.members()).toHaveLength(2);
    await world.eventually(() => expect(condition(world, 'TemplateResolved')?.reason).toBe('TemplateFound'));
  });

  it('by the controller of templates are not tried', async () => {
    await using world = await PoolWorld.start({ withTemplate: false });
    const accepted = {
      type: 'Accepted',
      status: 'False' as const,
      observedGeneration: 1,
      reason: 'InvalidVolumeClaimTemplates',
      message: 'two disks are named "work"',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    world.api.seed(sandboxTemplates, template({ status: { conditions: [accepted] } }));
    world.createPool(2);
    world.startController();
    await world.eventually(() => expect(condition(world, 'TemplateResolved')?.message).toMatch(/two disks/));
    expect(creations(world)).toBe(0);
  });
});

describe('members whose pods end at once', () => {
  it('are replaced ever more slowly, and told', async () => {
    await using world = await PoolWorld.start();
    world.makePodsEnd();
    world.createPool(1);
    world.startController();
    await world.eventually(() => expect(condition(world, 'Progressing')?.message).toMatch(/end within a minute/));
    await world.elapse(60_000);
    expect(creations(world)).toBeLessThanOrEqual(14);
  });
});

describe('a rolling update', () => {
  it('replaces every member, tells its beginning and its end, and leaves claimed Sandboxes alone', async () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } } as const;
    await using world = await filled(4, { updateStrategy });
    const [first] = world.members();
    if (first === undefined) throw new Error('the pool is empty');
    world.adopt(first);
    await world.eventually(() => expect(world.pool().status).toMatchObject({ readyReplicas: 4, inUse: 1 }));
    let fewest = Infinity;
    world.api.onChange(sandboxes, () => {
      const ready = world.members().filter(({ metadata, status }) => {
        const isReady = findCondition(status?.conditions, 'Ready')?.status === 'True';
        return metadata.deletionTimestamp === undefined && isReady;
      });
      fewest = Math.min(fewest, ready.length);
    });
    world.changeImage('debian');
    await world.eventually(() =>
      expect(world.pool().status).toMatchObject({ updatedReplicas: 4, readyReplicas: 4, replicas: 4 }),
    );
    await world.eventually(() => expect(world.bus.types).toContain('pool.rollout.finished'));
    expect(world.bus.types.filter((type) => type.startsWith('pool.rollout'))).toEqual([
      'pool.rollout.started',
      'pool.rollout.finished',
    ]);
    await world.eventually(() =>
      expect(notes(world)).toEqual(expect.arrayContaining(['RolloutStarted', 'RolloutFinished'])),
    );
    expect(fewest).toBeGreaterThanOrEqual(3);
    expect(world.api.object(sandboxes, { namespace: 'default', name: first.metadata.name ?? '' })).toBeDefined();
  });
});

describe('Sandboxes whose pool was deleted and made again', () => {
  it('become its members when they fit, and are deleted when they do not', async () => {
    await using world = await filled(2);
    const [stays, goes] = world.members();
    if (stays === undefined || goes === undefined) throw new Error('the pool is not full');
    const orphan = (name: string, hash?: string): void =>
      void world.api.change(sandboxes, { namespace: 'default', name }, ({ metadata, spec }) => {
        metadata.ownerReferences = [];
        if (hash === undefined) return;
        metadata.labels = { ...metadata.labels, [labels.templateHash]: hash };
        spec.podTemplate.spec.containers = [{ name: 'main', image: 'another' }];
      });
    orphan(stays.metadata.name ?? '');
    orphan(goes.metadata.name ?? '', 'another');
    await world.eventually(() => {
      const names = world.members().map(({ metadata }) => metadata.name);
      expect(names).toHaveLength(2);
      expect(names).toContain(stays.metadata.name);
      expect(names).not.toContain(goes.metadata.name);
    });
    expect(world.api.object(sandboxes, { namespace: 'default', name: goes.metadata.name ?? '' })).toBeUndefined();
    expect(world.members().every(({ metadata }) => metadata.ownerReferences?.[0]?.controller === true)).toBe(true);
  });

  it('are never taken from somebody who controls them', async () => {
    await using world = await filled(1);
    const owner = { apiVersion: 'example.com/v1', kind: 'Fleet', name: 'f', uid: 'uid-f', controller: true };
    const [member] = world.members();
    const metadata = { labels: member?.metadata.labels, ownerReferences: [owner] };
    world.api.garbageCollector.pause();
    world.api.seed(sandboxes, sandbox({ name: 'other', metadata }));
    await world.elapse(2_000);
    expect(world.api.object(sandboxes, { namespace: 'default', name: 'other' })?.metadata.ownerReferences).toEqual([
      owner,
    ]);
    expect(world.members()).toHaveLength(1);
  });
});

describe('autoscaling', () => {
  it('grows with what is in use, shrinks after its delay, and never writes the spec', async () => {
    const autoscaling = { minReplicas: 1, maxReplicas: 20, targetFreePercent: 50, scaleDownDelaySeconds: 30 };
    await using world = await filled(1, { autoscaling });
    for (let used = 0; used < 4; used += 1) {
      const [member] = world.members().filter(({ status }) => status !== undefined);
      if (member !== undefined) world.adopt(member);
      await world.eventually(() => expect(world.pool().status?.inUse).toBe(used + 1));
      await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(Math.max(1, used + 1)));
    }
    expect(world.pool().status).toMatchObject({ desiredReplicas: 4, inUse: 4 });
    expect(world.pool().status?.claimRatePerMinute).toBeGreaterThan(0);
    for (const { metadata } of world.api.objects(sandboxes)) {
      const isClaimed = metadata.labels?.[labels.warmPool] !== undefined;
      if (isClaimed) world.api.remove(sandboxes, { namespace: 'default', name: metadata.name ?? '' });
    }
    await world.eventually(() => expect(world.pool().status?.inUse).toBe(0));
    expect(world.pool().status?.desiredReplicas).toBe(4);
    await world.elapse(31_000);
    await world.eventually(() => expect(world.pool().status).toMatchObject({ desiredReplicas: 1, replicas: 1 }));
    expect(world.pool().spec.replicas).toBe(1);
  });
});

describe('a schedule', () => {
  it('opens and closes on time without any event', async () => {
    const window = { name: 'noon', cron: '1 12 * * *', durationSeconds: 60, replicas: 5 };
    await using world = await filled(2, { schedules: [window] });
    expect(world.pool().status?.activeSchedule).toBeUndefined();
    await world.eventually(() =>
      expect(world.pool().status).toMatchObject({ desiredReplicas: 5, readyReplicas: 5, activeSchedule: 'noon' }),
    );
    await world.eventually(() => expect(world.pool().status).toMatchObject({ desiredReplicas: 2, replicas: 2 }));
    expect(world.pool().status?.activeSchedule).toBeUndefined();
  });
});

describe('metrics', () => {
  it('show members by state, the target and how long a place takes to be filled, and end with the pool', async () => {
    await using world = await PoolWorld.start();
    world.makePodsReady();
    world.createPool(3);
    const controller = world.startController();
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(3));
    const scrape = await controller.registry.metrics();
    expect(scrape).toContain('sandlot_warmpool_members{namespace="default",pool="pool",state="ready"} 3');
    expect(scrape).toContain('sandlot_warmpool_target{namespace="default",pool="pool"} 3');
    expect(scrape).toMatch(/sandlot_warmpool_refill_seconds_count 3/);
    world.api.remove(sandboxWarmPools, POOL);
    await world.elapse(1_000);
    expect(await controller.registry.metrics()).not.toContain('pool="pool"');
  });
});

import { sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import { sandbox, template } from '@sandlot/api-types/testing';
import { eventId } from '@sandlot/bus';
import { describe, expect, it } from 'vitest';
import { POOL, PoolWorld } from '../test/pool-harness.ts';

const CREATE = { verb: 'create', resource: 'sandboxes' } as const;

async function filled(replicas: number): Promise<PoolWorld> {
  const world = await PoolWorld.start();
  world.makePodsReady();
  world.createPool(replicas);
  world.startController();
  await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(replicas));
  return world;
}

describe('the size of a pool', () => {
  it('is reached exactly, and shown', async () => {
    await using world = await filled(20);
    expect(world.members()).toHaveLength(20);
    expect(world.pool().status).toMatchObject({ replicas: 20, desiredReplicas: 20, updatedReplicas: 20 });
  });

  it('is not exceeded while the watch shows nothing of what was made', async () => {
    await using world = await PoolWorld.start();
    world.createPool(10);
    world.startController();
    await world.eventually(() => expect(world.api.faults.openWatches({ resource: 'sandboxes' })).toBe(1));
    using stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    await world.eventually(() => expect(world.members()).toHaveLength(10));
    world.scaleTo(12);
    await world.eventually(() => expect(world.members()).toHaveLength(12));
    await world.elapse(2_000);
    expect(world.members()).toHaveLength(12);
    stalled.end();
    await world.eventually(() => expect(world.pool().status?.replicas).toBe(12));
    expect(world.members()).toHaveLength(12);
  });

  it.each([
    ['an error', { status: 500 }],
    ['a reset', 'reset'],
    ['silence', 'hang'],
  ] as const)('is not exceeded when creates are committed and answered by %s', async (_, answer) => {
    await using world = await PoolWorld.start();
    world.api.faults.errorAfterCommit({ match: CREATE, answer, times: 2 });
    world.makePodsReady();
    world.createPool(8);
    world.startController();
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(8));
    await world.elapse(1_000);
    expect(world.members()).toHaveLength(8);
  });

  it('is reached although creates were lost without a trace', async () => {
    await using world = await PoolWorld.start();
    world.api.faults.failNext({ match: CREATE, answer: 'reset', times: 3 });
    world.makePodsReady();
    world.createPool(4);
    world.startController();
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(4));
    expect(world.members()).toHaveLength(4);
  });

  it('is kept by two controllers at once, give or take what neither sees of the other yet', async () => {
    await using world = await PoolWorld.start();
    world.makePodsReady();
    world.createPool(10);
    world.startController();
    world.startController();
    await world.eventually(() => {
      expect(world.pool().status).toMatchObject({ replicas: 10, readyReplicas: 10 });
      expect(world.members()).toHaveLength(10);
    });
    await world.elapse(1_000);
    expect(world.members()).toHaveLength(10);
  });

  it('is refilled after an adoption, and the Sandbox taken stays and counts as in use', async () => {
    await using world = await filled(3);
    const [first] = world.members();
    if (first !== undefined) world.adopt(first);
    await world.eventually(() =>
      expect(world.pool().status).toMatchObject({ replicas: 3, readyReplicas: 3, inUse: 1 }),
    );
    expect(world.api.objects(sandboxes)).toHaveLength(4);
  });

  it('shrinks by deleting the newest of those that are Ready', async () => {
    await using world = await filled(2);
    const old = world.members().map(({ metadata }) => metadata.name);
    await world.elapse(2_000);
    world.scaleTo(4);
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(4));
    world.scaleTo(2);
    await world.eventually(() => expect(world.members()).toHaveLength(2));
    expect(world.members().map(({ metadata }) => metadata.name)).toEqual(old);
  });

  it('never counts a Sandbox whose owner only bears the name of the pool', async () => {
    await using world = await PoolWorld.start();
    world.makePodsReady();
    const former = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxWarmPool', name: 'pool' };
    const ownerReferences = [{ ...former, uid: 'uid-of-an-earlier-pool', controller: true }];
    world.api.garbageCollector.pause();
    world.api.seed(sandboxes, sandbox({ name: 'old', metadata: { ownerReferences } }));
    world.createPool(1);
    world.startController();
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(1));
    expect(world.members()).toHaveLength(2);
  });
});

describe('a member that a claim takes while the pool wants it gone', () => {
  it('survives', async () => {
    await using world = await filled(2);
    using stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    const [first, second] = world.members();
    for (const member of [first, second]) if (member !== undefined) world.adopt(member);
    world.scaleTo(0);
    await world.eventually(() => expect(world.writes()).toContain('delete sandboxes'));
    stalled.end();
    await world.eventually(() => expect(world.pool().status).toMatchObject({ desiredReplicas: 0, inUse: 2 }));
    expect(world.api.objects(sandboxes)).toHaveLength(2);
  });
});

describe('errors', () => {
  it('cost one request per try, not one per missing member', async () => {
    await using world = await PoolWorld.start();
    world.api.faults.failNext({ match: CREATE, answer: { status: 403, message: 'exceeded quota' }, times: 3 });
    world.makePodsReady();
    world.createPool(100);
    world.startController();
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(100));
    expect(world.writes().filter((write) => write === 'create sandboxes')).toHaveLength(103);
  });

  it('of creates keep nobody from seeing how the pool stands', async () => {
    await using world = await PoolWorld.start();
    world.api.faults.failNext({ match: CREATE, answer: { status: 403 }, times: 1_000 });
    world.createPool(5);
    world.startController();
    await world.eventually(() => expect(world.pool().status?.conditions?.[0]?.reason).toBe('NoReadyMembers'));
  });
});

describe('a template', () => {
  it('that is missing is reported, and members come as soon as it is there', async () => {
    await using world = await PoolWorld.start({ withTemplate: false });
    world.makePodsReady();
    world.createPool(2);
    world.startController();
    await world.eventually(() => expect(world.pool().status?.conditions?.at(-1)?.reason).toBe('TemplateNotFound'));
    expect(world.members()).toHaveLength(0);
    world.api.seed(sandboxTemplates, template());
    await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(2));
    expect(world.pool().status?.conditions?.at(-1)?.reason).toBe('TemplateFound');
  });

  it('that changes makes members stale, and Recreate replaces them', async () => {
    await using world = await filled(2);
    const changeImage = (image: string): void =>
      void world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ metadata, spec }) => {
        spec.podTemplate.spec.containers = [{ name: 'main', image }];
        metadata.generation = (metadata.generation ?? 1) + 1;
      });
    changeImage('debian');
    await world.eventually(() => expect(world.pool().status?.updatedReplicas ?? 0).toBe(0));
    expect(world.members()).toHaveLength(2);
    world.api.change(sandboxWarmPools, POOL, ({ spec }) => void (spec.updateStrategy = { type: 'Recreate' }));
    await world.eventually(() =>
      expect(world.pool().status).toMatchObject({ updatedReplicas: 2, readyReplicas: 2, replicas: 2 }),
    );
  });
});

describe('telling others', () => {
  it('says once each that a pool is full, ran empty and is full again', async () => {
    await using world = await filled(2);
    const told = () => world.bus.published.filter(({ type }) => type.startsWith('pool.'));
    const types = (): string[] => told().map(({ type }) => type);
    await world.eventually(() => expect(types()).toEqual(['pool.ready']));
    await world.elapse(2_000);
    using stalled = world.api.faults.failAfterWrites(0, { match: CREATE, answer: { status: 500 } });
    for (const member of world.members()) world.adopt(member);
    await world.eventually(() => expect(types()).toEqual(['pool.ready', 'pool.depleted']));
    await world.elapse(1_000);
    stalled.end();
    await world.eventually(() => expect(types()).toEqual(['pool.ready', 'pool.depleted', 'pool.ready']));
    await world.elapse(1_000);
    expect(told().map(({ data }) => ('ready' in data ? data.ready : undefined))).toEqual([2, 0, 2]);
    expect(types()).toHaveLength(3);
  });

  it('hears of a claim from the bus, looks at the pool, and changes nothing that the watch does not show', async () => {
    await using world = await filled(2);
    await world.elapse(1_000);
    const before = world.api.writes().length;
    const claim = { namespace: 'default', name: 'c', uid: 'uid-c', pool: 'pool' };
    const id = eventId({ uid: 'uid-c', type: 'claim.bound', marker: 1 });
    const data = { ...claim, sandbox: { name: 's', uid: 'uid-s' }, launchType: 'warm' as const };
    world.bus.publish({ type: 'claim.bound', id, timeMs: 0, data });
    await world.elapse(1_000);
    expect(world.api.writes()).toHaveLength(before);
  });

  it('writes a few statuses for many adoptions', async () => {
    await using world = await filled(30);
    await world.elapse(1_000);
    world.api.clearRequests();
    for (const member of world.members()) {
      world.adopt(member);
      await world.elapse(10);
    }
    await world.eventually(() => expect(world.pool().status).toMatchObject({ readyReplicas: 30, inUse: 30 }));
    const statuses = world.writes().filter((write) => write === 'patch sandboxwarmpools/status');
    expect(statuses.length).toBeLessThan(10);
  });
});

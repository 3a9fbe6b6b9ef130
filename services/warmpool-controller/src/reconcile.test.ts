import { sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import { sandbox, template } from '@sandlot/api-types/testing';
import { formatEventId } from '@sandlot/bus';
import { describe, expect, it } from 'vitest';
import { POOL, PoolHarness } from '../test/pool-harness.ts';

const CREATE = { verb: 'create', resource: 'sandboxes' } as const;

describe('a pool of a template that starts from a snapshot', () => {
  const by = (snapshotName: string) => ({ snapshotName, onFailure: 'Fail' }) as const;

  it('has members that start from it, and replaces those that started from another', async () => {
    await using harness = await PoolHarness.start({ withTemplate: false });
    harness.api.seed(sandboxTemplates, template({ spec: { restoreFrom: by('first') } }));
    harness.makePodsReady();
    harness.createPool(2, { updateStrategy: { type: 'Recreate' } });
    harness.startController();
    await harness.untilReady(2);
    expect(harness.members().map(({ spec }) => spec.restoreFrom)).toEqual([by('first'), by('first')]);
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ metadata, spec }) => {
      spec.restoreFrom = by('second');
      metadata.generation = (metadata.generation ?? 1) + 1;
    });
    await harness.eventually(() =>
      expect(harness.members().map(({ spec }) => spec.restoreFrom)).toEqual([by('second'), by('second')]),
    );
  });
});

describe('the size of a pool', () => {
  it('is reached exactly, and reported in the status', async () => {
    await using harness = await PoolHarness.startFilled(20);
    expect(harness.members()).toHaveLength(20);
    expect(harness.pool().status).toMatchObject({ replicas: 20, desiredReplicas: 20, updatedReplicas: 20 });
  });

  it('is not exceeded while the watch does not show the created members', async () => {
    await using harness = await PoolHarness.start();
    harness.createPool(10);
    harness.startController();
    await harness.eventually(() => expect(harness.api.faults.openWatches({ resource: 'sandboxes' })).toBe(1));
    using stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    await harness.eventually(() => expect(harness.members()).toHaveLength(10));
    harness.scaleTo(12);
    await harness.eventually(() => expect(harness.members()).toHaveLength(12));
    await harness.elapse(2_000);
    expect(harness.members()).toHaveLength(12);
    stalled.end();
    await harness.eventually(() => expect(harness.pool().status?.replicas).toBe(12));
    expect(harness.members()).toHaveLength(12);
  });

  it.each([
    ['an error', { status: 500 }],
    ['a connection reset', 'reset'],
    ['no answer', 'hang'],
  ] as const)('is not exceeded when creates are committed but end with %s', async (_, answer) => {
    await using harness = await PoolHarness.start();
    harness.api.faults.errorAfterCommit({ match: CREATE, answer, times: 2 });
    harness.makePodsReady();
    harness.createPool(8);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(8));
    await harness.elapse(1_000);
    expect(harness.members()).toHaveLength(8);
  });

  it('is reached although creates are lost', async () => {
    await using harness = await PoolHarness.start();
    harness.api.faults.failNext({ match: CREATE, answer: 'reset', times: 3 });
    harness.makePodsReady();
    harness.createPool(4);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(4));
    expect(harness.members()).toHaveLength(4);
  });

  it('is kept by two controllers at once', async () => {
    await using harness = await PoolHarness.start();
    harness.makePodsReady();
    harness.createPool(10);
    harness.startController();
    harness.startController();
    await harness.eventually(() => {
      expect(harness.pool().status).toMatchObject({ replicas: 10, readyReplicas: 10 });
      expect(harness.members()).toHaveLength(10);
    });
    await harness.elapse(1_000);
    expect(harness.members()).toHaveLength(10);
  });

  it('is refilled after an adoption, and the adopted Sandbox counts as in use', async () => {
    await using harness = await PoolHarness.startFilled(3);
    const [first] = harness.members();
    if (first !== undefined) harness.adopt(first);
    await harness.eventually(() =>
      expect(harness.pool().status).toMatchObject({ replicas: 3, readyReplicas: 3, inUse: 1 }),
    );
    expect(harness.api.objects(sandboxes)).toHaveLength(4);
  });

  it('shrinks by deleting the newest Ready members', async () => {
    await using harness = await PoolHarness.startFilled(2);
    const old = harness.members().map(({ metadata }) => metadata.name);
    await harness.elapse(2_000);
    harness.scaleTo(4);
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(4));
    harness.scaleTo(2);
    await harness.eventually(() => expect(harness.members()).toHaveLength(2));
    expect(harness.members().map(({ metadata }) => metadata.name)).toEqual(old);
  });

  it('does not count a Sandbox whose owner has the name of the pool and another UID', async () => {
    await using harness = await PoolHarness.start();
    harness.makePodsReady();
    const former = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxWarmPool', name: 'pool' };
    const ownerReferences = [{ ...former, uid: 'uid-of-an-earlier-pool', controller: true }];
    harness.api.garbageCollector.pause();
    harness.api.seed(sandboxes, sandbox({ name: 'old', metadata: { ownerReferences } }));
    harness.createPool(1);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(1));
    expect(harness.members()).toHaveLength(2);
  });
});

describe('a member that a claim adopts while the pool deletes it', () => {
  it('stays', async () => {
    await using harness = await PoolHarness.startFilled(2);
    using stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    const [first, second] = harness.members();
    for (const member of [first, second]) if (member !== undefined) harness.adopt(member);
    harness.scaleTo(0);
    await harness.eventually(() => expect(harness.writes()).toContain('delete sandboxes'));
    stalled.end();
    await harness.eventually(() => expect(harness.pool().status).toMatchObject({ desiredReplicas: 0, inUse: 2 }));
    expect(harness.api.objects(sandboxes)).toHaveLength(2);
  });
});

describe('failed creates', () => {
  it('cost one request per attempt, not one per missing member', async () => {
    await using harness = await PoolHarness.start();
    harness.api.faults.failNext({ match: CREATE, answer: { status: 403, message: 'exceeded quota' }, times: 3 });
    harness.makePodsReady();
    harness.createPool(100);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(100));
    expect(harness.writes().filter((write) => write === 'create sandboxes')).toHaveLength(103);
  });

  it('do not keep the status from being written', async () => {
    await using harness = await PoolHarness.start();
    harness.api.faults.failNext({ match: CREATE, answer: { status: 403 }, times: 1_000 });
    harness.createPool(5);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.conditions?.[0]?.reason).toBe('NoReadyMembers'));
  });
});

describe('a template', () => {
  it('is reported while it is missing, and members are created once it exists', async () => {
    await using harness = await PoolHarness.start({ withTemplate: false });
    harness.makePodsReady();
    harness.createPool(2);
    harness.startController();
    await harness.eventually(() => expect(harness.pool().status?.conditions?.at(-1)?.reason).toBe('TemplateNotFound'));
    expect(harness.members()).toHaveLength(0);
    harness.api.seed(sandboxTemplates, template());
    await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(2));
    expect(harness.pool().status?.conditions?.at(-1)?.reason).toBe('TemplateFound');
  });

  it('makes members stale when it changes, and Recreate replaces them', async () => {
    await using harness = await PoolHarness.startFilled(2);
    const changeImage = (image: string): void =>
      void harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ metadata, spec }) => {
        spec.podTemplate.spec.containers = [{ name: 'main', image }];
        metadata.generation = (metadata.generation ?? 1) + 1;
      });
    changeImage('debian');
    await harness.eventually(() => expect(harness.pool().status?.updatedReplicas ?? 0).toBe(0));
    expect(harness.members()).toHaveLength(2);
    harness.api.change(sandboxWarmPools, POOL, ({ spec }) => void (spec.updateStrategy = { type: 'Recreate' }));
    await harness.eventually(() =>
      expect(harness.pool().status).toMatchObject({ updatedReplicas: 2, readyReplicas: 2, replicas: 2 }),
    );
  });
});

describe('events on the bus', () => {
  it('say once each that a pool is full, ran empty and is full again', async () => {
    await using harness = await PoolHarness.startFilled(2);
    const poolEvents = () => harness.bus.published.filter(({ type }) => type.startsWith('pool.'));
    const types = (): string[] => poolEvents().map(({ type }) => type);
    await harness.eventually(() => expect(types()).toEqual(['pool.ready']));
    await harness.elapse(2_000);
    using stalled = harness.api.faults.failAfterWrites(0, { match: CREATE, answer: { status: 500 } });
    for (const member of harness.members()) harness.adopt(member);
    await harness.eventually(() => expect(types()).toEqual(['pool.ready', 'pool.depleted']));
    await harness.elapse(1_000);
    stalled.end();
    await harness.eventually(() => expect(types()).toEqual(['pool.ready', 'pool.depleted', 'pool.ready']));
    await harness.elapse(1_000);
    expect(poolEvents().map(({ data }) => ('ready' in data ? data.ready : undefined))).toEqual([2, 0, 2]);
    expect(types()).toHaveLength(3);
  });

  it('of a claim start a pass that writes nothing without a change in the watch', async () => {
    await using harness = await PoolHarness.startFilled(2);
    await harness.elapse(1_000);
    const before = harness.api.writes().length;
    const claim = { namespace: 'default', name: 'c', uid: 'uid-c', pool: 'pool' };
    const id = formatEventId({ uid: 'uid-c', type: 'claim.bound', marker: 1 });
    const data = { ...claim, sandbox: { name: 's', uid: 'uid-s' }, launchType: 'warm' as const };
    harness.bus.publish({ type: 'claim.bound', id, timeMs: 0, data });
    await harness.elapse(1_000);
    expect(harness.api.writes()).toHaveLength(before);
  });
});

describe('the status', () => {
  it('is written a few times for many adoptions', async () => {
    await using harness = await PoolHarness.startFilled(30);
    await harness.elapse(1_000);
    harness.api.clearRequests();
    for (const member of harness.members()) {
      harness.adopt(member);
      await harness.elapse(10);
    }
    await harness.eventually(() => expect(harness.pool().status).toMatchObject({ readyReplicas: 30, inUse: 30 }));
    const statuses = harness.writes().filter((write) => write === 'patch sandboxwarmpools/status');
    expect(statuses.length).toBeLessThan(10);
  });
});

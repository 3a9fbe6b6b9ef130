import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { pool, sandbox, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../test/harness.ts';

const W1 = 'patch sandboxes';
const W2 = 'patch sandboxclaims/status';
const BEHIND = 'patch sandboxclaims';

async function bound(members: number): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members });
  world.startController();
  await world.watching();
  world.claim('job');
  await world.eventually(() => expect(world.isReady('job')).toBe(true));
  return world;
}

const bindings = (world: ClaimWorld): unknown[] => world.bus.published.filter(({ type }) => type === 'claim.bound');

describe('a warm bind', () => {
  it('costs exactly two writes, and one behind them', async () => {
    await using world = await bound(3);
    expect(world.writes()).toEqual([W1, W2]);
    await world.elapse(1_000);
    expect(world.writes()).toEqual([W1, W2, BEHIND]);
  });

  it('shows the Sandbox, notes what happened, and tells about it', async () => {
    await using world = await bound(1);
    expect(world.statusOf('job')).toMatchObject({
      phase: 'Completed',
      claimedReplicas: 1,
      readyReplicas: 1,
      sandbox: { name: 'pool-m001', podIPs: ['10.0.0.1'] },
    });
    await world.eventually(() => expect(world.eventReasons()).toEqual(['job SandboxAdopted']));
    const notes = await world.eventually(() => {
      expect(Object.keys(world.annotationsOf('job'))).toHaveLength(3);
      return world.annotationsOf('job');
    });
    expect(notes['agents.x-k8s.io/sandbox-name']).toBe('pool-m001');
    expect(notes['agents.x-k8s.io/controller-first-observed-at']).toMatch(/^2026-01-01T12:00:00\.\d{9}Z$/);
    expect(notes['agents.x-k8s.io/claim-first-ready-at']).toMatch(/^2026-01-01T12:00:00\.\d{9}Z$/);
    const told = (): unknown[] => world.bus.published.filter(({ type }) => type.startsWith('claim.'));
    await world.eventually(() => expect(told()).toHaveLength(2));
    expect(told()).toMatchObject([
      { type: 'claim.submitted', data: { name: 'job', pool: 'pool' } },
      { type: 'claim.bound', data: { name: 'job', pool: 'pool', launchType: 'warm', sandbox: { name: 'pool-m001' } } },
    ]);
  });

  it('writes no Event where the installation wants none', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController('claim-controller', { recordsEvents: false });
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(2_000);
    expect(world.eventReasons()).toEqual([]);
  });

  it('of a claim by template names the pool that lost a member', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController();
    world.claim('job', { sandboxTemplateRef: { name: 'template' } });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.eventually(() =>
      expect(bindings(world)).toMatchObject([{ data: { pool: 'pool', template: 'template', launchType: 'warm' } }]),
    );
  });

  it('gives each of two claims on one candidate a Sandbox of its own, one of them cold', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.makeAllReady();
    world.startController();
    for (const name of ['a', 'b']) world.claim(name);
    await world.eventually(() => expect([world.isReady('a'), world.isReady('b')]).toEqual([true, true]));
    const names = [world.statusOf('a').sandbox?.name, world.statusOf('b').sandbox?.name];
    expect(names.filter((name) => name === 'pool-m001')).toHaveLength(1);
    expect(new Set(names).size).toBe(2);
  });
});

describe('what is not there yet', () => {
  it.each([
    ['pool', 'WarmPoolNotFound', { warmPoolRef: { name: 'pool' } }],
    ['template', 'TemplateNotFound', { sandboxTemplateRef: { name: 'template' } }],
  ] as const)('as a missing %s is reported, and the claim goes on when it appears', async (_, reason, spec) => {
    await using world = await ClaimWorld.start();
    world.makeAllReady();
    world.startController();
    await world.watching();
    world.claim('job', spec);
    await world.eventually(() => expect(world.reasonOf('job')).toBe(reason));
    await world.elapse(500);
    expect(world.writes()).toEqual([W2]);
    world.api.seed(sandboxWarmPools, pool());
    world.api.seed(sandboxTemplates, template());
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(world.statusOf('job').message).toBeUndefined();
  });

  it('as members without an address is waited for, without a word, and they are taken', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    const member = world.addMember({ addressed: false });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.elapse(700);
    expect(world.writes()).toEqual([]);
    world.makeReady(member);
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe(member));
  });

  it('as members that do not come up in two seconds is given up for a cold start', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.addMember({ addressed: false });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
    expect(world.clock.monotonic()).toBeGreaterThanOrEqual(2_000);
    expect(world.reasonOf('job')).toBe('SandboxNotReady');
  });

  it('as stock is waited for by claims that ask to, and they are served in their order', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    for (const name of ['first', 'second', 'third']) {
      world.claim(name, { createOnNoStock: false });
      await world.eventually(() => expect(world.reasonOf(name)).toBe('WaitingForStock'));
    }
    for (const name of ['first', 'second', 'third']) {
      const member = world.addMember();
      await world.eventually(() => expect(world.statusOf(name).sandbox?.name).toBe(member));
    }
    expect(world.owned().size).toBe(3);
  });
});

describe('a claim that comes later', () => {
  it('does not overtake one that waits: it starts cold although there is stock', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    world.claim('patient', { createOnNoStock: false });
    await world.eventually(() => expect(world.reasonOf('patient')).toBe('WaitingForStock'));
    world.api.seed(sandboxClaims, {
      ...world.api.objects(sandboxClaims)[0],
      metadata: { namespace: 'default', name: 'later' },
      spec: { warmPoolRef: { name: 'pool' } },
    });
    const member = world.addMember();
    await world.eventually(() => expect(world.statusOf('later').sandbox?.name).toBe('later'));
    await world.eventually(() => expect(world.statusOf('patient').sandbox?.name).toBe(member));
  });
});

describe('a cold start', () => {
  it('whose Sandbox is there already from an earlier try is published', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.api.faults.errorAfterCommit({ match: { verb: 'create', resource: 'sandboxes' }, answer: { status: 500 } });
    world.startController();
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
    expect(world.api.objects(sandboxes)).toHaveLength(1);
    await world.eventually(() => expect(bindings(world)).toMatchObject([{ data: { launchType: 'cold' } }]));
  });

  it('in the way of which a Sandbox stands says so, and goes on when it is gone', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.api.seed(sandboxes, sandbox({ name: 'job' }));
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ReconcilerError'));
    expect(world.statusOf('job').message).toContain('sandbox "job" is not controlled by claim "job"');
    world.api.remove(sandboxes, { namespace: 'default', name: 'job' });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
  });

  it('that meets a foreign Sandbox before the watch shows it is pending, then says what is in the way', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.api.seed(sandboxes, sandbox({ name: 'job' }));
    world.claim('job');
    await world.eventually(() => expect(world.reasonOf('job')).toBe('SandboxCreatePending'));
    stalled.end();
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ReconcilerError'));
  });
});

describe('refusals', () => {
  it('of the API server are final when the object is invalid, in its own words', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    const match = { verb: 'create', resource: 'sandboxes' } as const;
    world.api.faults.failNext({ match, answer: { status: 422, message: 'spec.podTemplate is wrong' } });
    world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').message).toContain('spec.podTemplate is wrong'));
    expect(world.statusOf('job').phase).toBe('Failed');
    await world.elapse(5_000);
    expect(world.writes()).toEqual(['create sandboxes', W2]);
  });

  it('of the API server are tried again when something is forbidden, such as by a quota', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    const match = { verb: 'create', resource: 'sandboxes' } as const;
    world.api.faults.failNext({ match, answer: { status: 403, message: 'exceeded quota' } });
    world.startController();
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').message).toContain('exceeded quota'));
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
  });

  it('of the policies are written once and never retried, until the claim changes', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController();
    await world.watching();
    world.claim('job', { env: [{ name: 'A', value: 'b' }] });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('EnvVarsInjectionRejected'));
    await world.elapse(5_000);
    expect(world.writes()).toEqual([W2]);
    world.api.change(sandboxClaims, { namespace: 'default', name: 'job' }, ({ spec, metadata }) => {
      delete spec.env;
      metadata.generation = 2;
    });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
  });

  it('of metadata concern a bound claim too, which keeps its Sandbox', async () => {
    await using world = await bound(1);
    const relabel = (labels: Record<string, string>): void =>
      void world.api.change(sandboxClaims, { namespace: 'default', name: 'job' }, ({ spec, metadata }) => {
        spec.additionalPodMetadata = { labels };
        metadata.generation = (metadata.generation ?? 1) + 1;
      });
    relabel({ team: 'a' });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('InvalidMetadata'));
    expect(world.statusOf('job').sandbox?.name).toBe('pool-m001');
    relabel({ 'sandbox.users.io/team': 'a' });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.eventually(() =>
      expect(world.sandbox('pool-m001')?.spec.podTemplate.metadata?.labels).toMatchObject({
        'sandbox.users.io/team': 'a',
      }),
    );
  });
});

describe('a bound claim', () => {
  it('hands on what changes in the pod metadata of its template', async () => {
    await using world = await bound(1);
    world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
      spec.podTemplate.metadata = { labels: { team: 'b' } };
      metadata.generation = 2;
    });
    await world.eventually(() =>
      expect(world.sandbox('pool-m001')?.spec.podTemplate.metadata?.labels).toMatchObject({ team: 'b' }),
    );
  });

  it('whose Sandbox the user deletes is given another one', async () => {
    await using world = await bound(2);
    world.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m002'));
    await world.eventually(() => expect(world.annotationsOf('job')['agents.x-k8s.io/sandbox-name']).toBe('pool-m002'));
    await world.eventually(() => expect(bindings(world)).toHaveLength(2));
  });

  it('whose Sandbox is deleted while the watch is silent is given another one, too', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
    const first = world.sandbox('job')?.metadata.uid;
    world.api.remove(sandboxes, { namespace: 'default', name: 'job' });
    world.api.faults.expireResourceVersions();
    world.api.faults.dropWatches({ resource: 'sandboxes' });
    stalled.end();
    await world.eventually(() => {
      expect(world.sandbox('job')).toBeDefined();
      expect(world.sandbox('job')?.metadata.uid).not.toBe(first);
    });
  });

  it('follows the readiness of its Sandbox without a flap', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    const seen: string[] = [];
    world.api.onChange(sandboxClaims, () => {
      const reason = world.reasonOf('job');
      if (reason !== undefined && seen.at(-1) !== reason) seen.push(reason);
    });
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
    world.makeReady('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(1_000);
    expect(seen).toEqual(['SandboxNotReady', 'DependenciesReady']);
  });

  it('is left in peace: nothing is written while nothing changes', async () => {
    await using world = await bound(1);
    await world.elapse(1_000);
    const before = world.writes().length;
    await world.elapse(20_000);
    expect(world.writes()).toHaveLength(before);
  });

  it('has its bookkeeping written later when it cannot be written now', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    const fault = world.failBookkeeping();
    world.startController();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(1_000);
    expect(world.annotationsOf('job')).toEqual({});
    fault.end();
    await world.eventually(() => expect(world.annotationsOf('job')['agents.x-k8s.io/sandbox-name']).toBe('pool-m001'));
  });
});

describe('the end of a claim', () => {
  const inOneMinute = '2026-01-01T12:01:00Z';

  it.each(['Delete', 'DeleteForeground'] as const)(
    'under %s takes claim and Sandbox away, never early',
    async (shutdownPolicy) => {
      await using world = await ClaimWorld.start({ members: 1 });
      world.startController();
      world.claim('job', { lifecycle: { shutdownTime: inOneMinute, shutdownPolicy } });
      await world.eventually(() => expect(world.isReady('job')).toBe(true));
      world.api.onChange(sandboxClaims, () => {
        if (world.reasonOf('job') === 'ClaimExpired')
          expect(world.clock.now()).toBeGreaterThanOrEqual(Date.parse(inOneMinute));
      });
      await world.eventually(() => {
        expect(world.api.objects(sandboxClaims)).toEqual([]);
        expect(world.api.objects(sandboxes)).toEqual([]);
      });
      await world.eventually(() =>
        expect(world.eventReasons().filter((event) => event === 'job ClaimExpired')).toHaveLength(2),
      );
    },
  );

  it('under Retain takes the Sandbox away and says so for good', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.startController();
    world.claim('job', { lifecycle: { shutdownTime: inOneMinute, shutdownPolicy: 'Retain' } });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.eventually(() => {
      expect(world.statusOf('job')).toMatchObject({ phase: 'Expired', claimedReplicas: 0 });
      expect(world.statusOf('job').sandbox).toBeUndefined();
    });
    await world.elapse(2_000);
    expect(world.owned().size).toBe(0);
    expect(world.reasonOf('job')).toBe('ClaimExpired');
  });

  it('that comes before it is bound gives it nothing', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController();
    await world.watching();
    world.claim('job', { lifecycle: { shutdownTime: '2026-01-01T11:00:00Z', shutdownPolicy: 'Retain' } });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ClaimExpired'));
    await world.elapse(1_000);
    expect(world.owned().size).toBe(0);
  });
});

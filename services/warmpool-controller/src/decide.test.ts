import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { creates, deletes, member, members, snapshot } from '../test/builders.ts';
import { decide } from './decide.ts';
import type { Plan } from './plan/plan.ts';
import type { PoolSnapshot } from './plan/snapshot.ts';
import { buildStatus } from './status/build-status.ts';

describe('scaling up', () => {
  const rows: readonly (readonly [string, Parameters<typeof snapshot>[0], number])[] = [
    ['creates the missing members', { members: members(1) }, 2],
    ['creates nothing at the target', { members: members(3) }, 0],
    [
      'counts terminating members, so that a pool never uses more resources than its target needs',
      { members: members(1), terminating: 1 },
      1,
    ],
    ['counts creates that the watch has not shown yet', { unseenCreates: 2 }, 1],
    [
      'counts members whose delete the watch has not shown yet',
      { members: members(3), unseenDeletes: new Set(['uid-default-m0']) },
      0,
    ],
    ['creates nothing while the template is missing', { template: undefined, templateHash: undefined }, 0],
    ['creates nothing before the finished members are gone', { members: members(3, { finished: true }) }, 0],
    ['creates nothing for replicas: 0', { replicas: 0 }, 0],
    ['creates one member for a spec without replicas', { pool: pool({ spec: {} }) }, 1],
  ];
  it.each(rows)('%s', (_, parts, wanted) => {
    expect(creates(decide(snapshot(parts)))).toBe(wanted);
  });

  it('never exceeds refill.maxInFlight with starting members and unseen creates', () => {
    const limited = pool({ spec: { replicas: 100, refill: { maxInFlight: 10 } } });
    expect(creates(decide(snapshot({ pool: limited, members: members(4, { ready: false }), unseenCreates: 1 })))).toBe(
      5,
    );
  });

  it('does nothing for a pool that is being deleted', () => {
    const deleted = pool({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(decide(snapshot({ pool: deleted }))).toEqual([]);
  });
});

describe('scaling down', () => {
  it('deletes stale before current, not Ready before Ready, newest before oldest', () => {
    const all = [
      member('ready-old', { created: '2026-01-01T00:00:01Z' }),
      member('ready-new', { created: '2026-01-01T00:00:09Z' }),
      member('pending', { ready: false }),
      member('stale', { current: false }),
      member('stale-pending', { current: false, ready: false }),
    ];
    const order = [4, 3, 2, 1, 0].map((replicas) => deletes(decide(snapshot({ members: all, replicas }))).at(-1));
    expect(order).toEqual(['stale-pending', 'stale', 'pending', 'ready-new', 'ready-old']);
  });

  it('deletes members whose Pod finished, at any size', () => {
    const all = [...members(3), member('ended', { finished: true, ready: false })];
    expect(deletes(decide(snapshot({ members: all })))).toEqual(['ended']);
  });

  it('deletes stale members at once under Recreate', () => {
    const strict = pool({ spec: { replicas: 2, updateStrategy: { type: 'Recreate' } } });
    const all = [member('old', { current: false }), member('new')];
    expect(deletes(decide(snapshot({ pool: strict, members: all })))).toEqual(['old']);
  });

  it('keeps stale members under Recreate while the template is missing', () => {
    const strict = pool({ spec: { replicas: 2, updateStrategy: { type: 'Recreate' } } });
    const all = members(2, { current: false });
    expect(deletes(decide(snapshot({ pool: strict, members: all, template: undefined })))).toEqual([]);
  });

  it('keeps stale members under OnReplenish until they are adopted', () => {
    expect(deletes(decide(snapshot({ members: members(3, { current: false }) })))).toEqual([]);
  });

  it('deletes members without the daemon of their template under OnReplenish, but not while nothing can replace them', () => {
    const injecting = template({ spec: { runtime: { inject: true } } });
    const all = members(3, { current: false });
    expect(deletes(decide(snapshot({ members: all, template: injecting })))).toEqual(['m0', 'm1', 'm2']);
    expect(deletes(decide(snapshot({ members: all, template: injecting, networkGap: 'no policy' })))).toEqual([]);
  });
});

describe('the status', () => {
  const written = (parts: Parameters<typeof snapshot>[0]): SandboxWarmPoolStatus | undefined => {
    const step = decide(snapshot(parts)).find((candidate) => candidate.kind === 'writeStatus');
    return step?.kind === 'writeStatus' ? step.status : undefined;
  };

  it('shows all fields of a half-filled pool', () => {
    const all = [...members(1), member('p', { ready: false, current: false })];
    expect(written({ members: all, inUse: 4 })).toEqual({
      replicas: 2,
      readyReplicas: 1,
      selector: 'agents.x-k8s.io/warm-pool-sandbox=91dd7983',
      observedGeneration: 1,
      desiredReplicas: 3,
      updatedReplicas: 1,
      pendingReplicas: 1,
      inUse: 4,
      templateHash: 'h',
      conditions: [
        condition('Available', 'True', 'MinimumReady', '1 of 3 members are Ready'),
        condition('Progressing', 'True', 'ScalingUp', '2 members, 1 Ready, 3 wanted'),
        condition('TemplateResolved', 'True', 'TemplateFound', 'SandboxTemplate "template" found'),
      ],
    });
  });

  it('names the missing template and says that members are kept', () => {
    const status = written({ template: undefined, templateHash: undefined, members: members(3) });
    expect(status?.conditions?.at(-1)).toEqual(
      condition(
        'TemplateResolved',
        'False',
        'TemplateNotFound',
        'SandboxTemplate "template" not found; members are kept, none is created',
      ),
    );
  });

  it('is not written when nothing changed', () => {
    const before = snapshot({ members: members(3) });
    const status = buildStatus(before, { target: 3 });
    const unchanged = { ...before, pool: { ...before.pool, status }, lastStatus: status };
    expect(decide(unchanged).map(({ kind }) => kind)).toEqual(['recordDemands', 'updateMetrics']);
  });

  function condition(...[type, status, reason, message]: readonly [string, string, string, string]): object {
    return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: '2026-01-01T12:00:00Z' };
  }
});

describe('the requeue', () => {
  const requeues = (parts: Parameters<typeof snapshot>[0]): number[] =>
    decide(snapshot(parts)).flatMap((step) => (step.kind === 'requeue' ? [step.afterMs] : []));

  it.each<readonly [string, Parameters<typeof snapshot>[0]]>([
    ['creates members', { members: members(2) }],
    ['deletes members', { members: members(4) }],
    ['waits for a create to be seen', { members: members(2), unseenCreates: 1 }],
    ['waits for a delete to be seen', { members: members(3), unseenDeletes: new Set(['uid-default-m0']) }],
  ])('comes when unseen writes expire, for a pool that %s', (_, parts) => {
    expect(requeues(parts)).toEqual([30_000]);
  });

  it('is absent when the watch has shown all writes', () => {
    expect(requeues({ members: members(3) })).toEqual([]);
  });
});

describe('a change of the status', () => {
  const after = (count: number): PoolSnapshot['pool'] => {
    const before = snapshot({ members: members(count) });
    return { ...before.pool, status: buildStatus(before, { target: 3 }) };
  };

  it('is written at once when the pool ran empty, and otherwise when the next write is due', () => {
    const notBefore = (plan: Plan): (number | undefined)[] =>
      plan.flatMap((step) => (step.kind === 'writeStatus' ? [step.notBeforeMs] : []));
    const pace = { pool: after(2), statusNotBeforeMs: 1_000_200 };
    expect(notBefore(decide(snapshot({ ...pace, members: [] })))).toEqual([undefined]);
    expect(notBefore(decide(snapshot({ ...pace, members: members(1) })))).toEqual([1_000_200]);
  });
});

describe('any pool', () => {
  it('never exceeds its target, and never falls below it by deleting, whatever is in flight', () => {
    const parts = fc.record({
      replicas: fc.nat(20),
      ready: fc.nat(20),
      pending: fc.nat(20),
      stale: fc.nat(20),
      terminating: fc.nat(5),
      unseenCreates: fc.nat(5),
    });
    fc.assert(
      fc.property(parts, ({ replicas, ready, pending, stale, terminating, unseenCreates }) => {
        const all = [
          ...Array.from({ length: ready }, (_, i) => member(`r${i}`)),
          ...Array.from({ length: pending }, (_, i) => member(`p${i}`, { ready: false })),
          ...Array.from({ length: stale }, (_, i) => member(`s${i}`, { current: false })),
        ];
        const plan = decide(snapshot({ replicas, members: all, terminating, unseenCreates }));
        const [made, gone] = [creates(plan), deletes(plan).length];
        expect(made === 0 || gone === 0).toBe(true);
        expect(made === 0 || all.length + made + terminating + unseenCreates <= replicas).toBe(true);
        expect(all.length - gone).toBeGreaterThanOrEqual(Math.min(all.length, replicas));
        expect(all.length <= replicas || all.length - gone === replicas).toBe(true);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ago, creates, deletes, member, members, snapshot } from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { decide } from '../decide.ts';
import { getAllowance } from './allowance.ts';
import type { Member } from '../plan/snapshot.ts';

type Rolling = { readonly maxUnavailable?: number | string; readonly maxSurge?: number | string };

function rolling(rollingUpdate: Rolling = {}): NonNullable<SnapshotParts['spec']> {
  return { updateStrategy: { type: 'RollingUpdate', rollingUpdate } };
}

const stale = (count: number, ready = true): Member[] => members(count, { current: false, ready }, ready ? 's' : 'p');
const fresh = (count: number, ready = true): Member[] => members(count, { ready }, ready ? 'f' : 'q');

describe('the allowance of a rolling update', () => {
  it.each<readonly [string, Rolling, number, number, number]>([
    ['a quarter missing and none above target by default', {}, 10, 2, 0],
    ['a percentage missing, rounded down', { maxUnavailable: '33%' }, 10, 3, 0],
    ['a percentage above target, rounded up', { maxUnavailable: 0, maxSurge: '33%' }, 10, 0, 4],
    ['numbers as they are', { maxUnavailable: 3, maxSurge: 2 }, 10, 3, 2],
    ['one missing where rounding makes both zero', { maxUnavailable: '25%' }, 3, 1, 0],
    ['none missing where rounding leaves a surge', { maxUnavailable: '25%', maxSurge: '10%' }, 3, 0, 1],
  ])('is %s', (...[, given, target, maxUnavailable, maxSurge]) => {
    const spec = { sandboxTemplateRef: { name: 't' }, ...rolling(given) };
    expect(getAllowance(spec, target)).toEqual({ maxUnavailable, maxSurge });
  });
});

describe('a rolling update', () => {
  const old = (name: string, seconds: number): Member => member(name, { current: false, created: ago(seconds) });
  it.each<readonly [string, SnapshotParts, string[], number]>([
    [
      'replaces the oldest stale members first, as many as maxUnavailable',
      {
        replicas: 4,
        spec: rolling({ maxUnavailable: 2 }),
        members: [old('a', 10), old('b', 30), old('c', 20), old('d', 5)],
      },
      ['b', 'c'],
      0,
    ],
    [
      'replaces stale members that are not Ready at once, beyond maxUnavailable',
      { replicas: 4, spec: rolling({ maxUnavailable: 1 }), members: [...stale(3, false), ...stale(1)] },
      ['p0', 'p1', 'p2'],
      0,
    ],
    [
      'replaces no Ready member while maxUnavailable members are missing',
      { replicas: 4, spec: rolling({ maxUnavailable: 1 }), members: [...stale(3), ...fresh(1, false)] },
      [],
      0,
    ],
    [
      'creates members above target first where maxUnavailable is 0',
      { replicas: 4, spec: rolling({ maxUnavailable: 0, maxSurge: 2 }), members: stale(4) },
      [],
      2,
    ],
    [
      'replaces one stale member for each surplus member that is Ready',
      {
        replicas: 4,
        spec: rolling({ maxUnavailable: 0, maxSurge: 2 }),
        members: [...stale(4), ...fresh(1), ...fresh(1, false)],
      },
      ['s0'],
      0,
    ],
    [
      'creates no more members above target than there are stale ones',
      { replicas: 4, spec: rolling({ maxUnavailable: 0, maxSurge: 3 }), members: [...stale(1), ...fresh(3)] },
      [],
      1,
    ],
    [
      'counts members whose delete the watch has not shown yet as gone',
      {
        replicas: 4,
        spec: rolling({ maxUnavailable: 1 }),
        members: stale(4),
        unseenDeletes: new Set(['uid-default-s0']),
      },
      [],
      0,
    ],
    [
      'waits while the template is missing',
      { replicas: 4, spec: rolling(), members: stale(4), template: undefined },
      [],
      0,
    ],
    [
      'waits during the back-off after failed creations',
      {
        replicas: 4,
        spec: rolling(),
        members: stale(4),
        history: { backoff: { code: 'Forbidden', message: '', attempt: 1, untilMs: 2e6, subject: '' } },
      },
      [],
      0,
    ],
    [
      'continues after the back-off, because only an attempt shows that creations succeed again',
      {
        replicas: 4,
        spec: rolling(),
        members: stale(4),
        history: { backoff: { code: 'ShortLived', message: '', attempt: 1, untilMs: 1e6, subject: '' } },
      },
      ['s0'],
      0,
    ],
    [
      'does nothing when all members are current',
      { replicas: 4, spec: rolling({ maxSurge: 2 }), members: fresh(4) },
      [],
      0,
    ],
  ])('%s', (...[, parts, gone, made]) => {
    const plan = decide(snapshot(parts));
    expect({ gone: deletes(plan), made: creates(plan) }).toEqual({ gone, made });
  });

  it('requeues the pool for the end of the back-off while stale members wait', () => {
    const backoff = { code: 'ShortLived', message: '', attempt: 1, untilMs: 1e6 + 500, subject: '' };
    const parts = { replicas: 4, spec: rolling(), history: { backoff } };
    const requeues = (members: readonly Member[]) =>
      decide(snapshot({ ...parts, members })).flatMap((step) => (step.kind === 'requeue' ? [step.afterMs] : []));
    expect([requeues(stale(4)), requeues(fresh(4))]).toEqual([[500], []]);
  });

  it('keeps both bounds whatever is in flight, and continues while a stale member is left', () => {
    const parts = fc.record({
      replicas: fc.integer({ min: 1, max: 20 }),
      maxUnavailable: fc.integer({ min: 0, max: 5 }),
      maxSurge: fc.integer({ min: 0, max: 5 }),
      counts: fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12), fc.nat(12)),
      terminating: fc.nat(4),
      unseenCreates: fc.nat(4),
    });
    fc.assert(
      fc.property(parts, ({ replicas, maxUnavailable, maxSurge, counts, terminating, unseenCreates }) => {
        const all = [...stale(counts[0]), ...stale(counts[1], false), ...fresh(counts[2]), ...fresh(counts[3], false)];
        const spec = rolling({ maxUnavailable, maxSurge });
        const plan = decide(snapshot({ replicas, spec, members: all, terminating, unseenCreates }));
        const limits =
          maxUnavailable + maxSurge === 0 ? { maxUnavailable: 1, maxSurge: 0 } : { maxUnavailable, maxSurge };
        const [made, gone] = [creates(plan), new Set(deletes(plan))];
        const places = all.length + terminating + unseenCreates;
        const readyBefore = counts[0] + counts[2];
        const readyAfter = all.filter(
          ({ sandbox }) => !gone.has(sandbox.metadata.name ?? '') && /^[sf]/.test(sandbox.metadata.name ?? ''),
        ).length;
        expect(made === 0 || places + made <= replicas + limits.maxSurge).toBe(true);
        expect(readyAfter).toBeGreaterThanOrEqual(Math.min(readyBefore, replicas - limits.maxUnavailable));
        const settled = counts[1] + counts[3] + terminating + unseenCreates === 0 && readyBefore === replicas;
        if (settled && counts[0] > 0) expect(made + gone.size).toBeGreaterThan(0);
      }),
    );
  });
});

describe('recycling', () => {
  const spec = { recycle: { maxAgeSeconds: 1_000 } };
  const aged = (name: string, seconds: number): Member => member(name, { created: ago(seconds) });

  it.each<readonly [string, SnapshotParts, string[]]>([
    [
      'replaces the oldest members first, as many as maxUnavailable',
      { replicas: 4, spec, members: [aged('a', 1_200), aged('b', 1_300), aged('c', 5), aged('d', 5)] },
      ['b'],
    ],
    [
      'waits while maxUnavailable members are missing',
      { replicas: 4, spec, members: [aged('a', 1_200), aged('b', 1_300), aged('c', 5)] },
      [],
    ],
    ['leaves younger members alone', { replicas: 2, spec, members: [aged('a', 890), aged('b', 500)] }, []],
    ['replaces no member without maxAgeSeconds', { replicas: 2, members: [aged('a', 1e6), aged('b', 1e6)] }, []],
    [
      'replaces the stale members of a rolling update first',
      {
        replicas: 4,
        spec: { ...spec, ...rolling() },
        members: [aged('a', 1_200), member('s', { current: false }), ...fresh(2)],
      },
      ['s'],
    ],
    [
      'keeps all members while the template is missing',
      { replicas: 2, spec, members: [aged('a', 1_200), aged('b', 1_200)], template: undefined },
      [],
    ],
  ])('%s', (_, parts, gone) => {
    expect(deletes(decide(snapshot(parts)))).toEqual(gone);
  });

  it('spreads members of one age over a fifth of it, each always at the same time', () => {
    const all = Array.from({ length: 300 }, (_, index) => aged(`m${index}`, 1_000));
    const spread = {
      replicas: 300,
      spec: { ...spec, updateStrategy: rolling({ maxUnavailable: '100%' }).updateStrategy },
      members: all,
    };
    const first = deletes(decide(snapshot(spread)));
    expect(first.length).toBeGreaterThan(75);
    expect(first.length).toBeLessThan(225);
    expect(deletes(decide(snapshot(spread)))).toEqual(first);
  });

  it('requeues the pool for when the next member is too old', () => {
    const [young] = members(1, { created: ago(1) });
    const requeues = decide(snapshot({ replicas: 1, spec, members: young === undefined ? [] : [young] })).flatMap(
      (step) => (step.kind === 'requeue' ? [step.afterMs] : []),
    );
    expect(requeues).toHaveLength(1);
    expect(requeues[0]).toBeGreaterThanOrEqual(899_000 - 1);
    expect(requeues[0]).toBeLessThanOrEqual(1_099_000);
  });
});

describe('strays: Sandboxes with the label of the pool and no controller owner', () => {
  const strays = [member('mine'), member('outdated', { current: false })];
  const taken = (parts: SnapshotParts): string[] =>
    decide(snapshot(parts)).flatMap((step) =>
      step.kind === 'takeOver' ? step.sandboxes.map(({ metadata }) => metadata.name ?? '') : [],
    );

  it('become members when they are current, are deleted when they are stale, and count towards the target', () => {
    const parts = { replicas: 3, members: members(1), strays };
    expect(taken(parts)).toEqual(['mine']);
    expect(deletes(decide(snapshot(parts)))).toEqual(['outdated']);
    expect(creates(decide(snapshot(parts)))).toBe(1);
  });

  it('are left alone while the template is missing', () => {
    const parts = { replicas: 3, strays, template: undefined };
    expect(taken(parts)).toEqual([]);
    expect(deletes(decide(snapshot(parts)))).toEqual([]);
  });
});

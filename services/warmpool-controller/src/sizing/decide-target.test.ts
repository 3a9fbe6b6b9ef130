import { describe, expect, it } from 'vitest';
import { members, NOW, snapshot, getStatus, steps } from '../../test/builders.ts';
import { addDemand } from './demand.ts';
import type { Demand } from './demand.ts';
import { decide } from '../decide.ts';
import type { Schedule, Window } from './schedule.ts';
import { Timetable } from './timetable.ts';
import { decideTarget } from './decide-target.ts';
import type { Target, TargetInput } from './decide-target.ts';

const auto = (rest: object = {}) => ({ autoscaling: { maxReplicas: 50, ...rest } });
const open = (name: string, rest: Partial<Schedule>): Window => ({
  schedule: { name, cron: '0 9 * * *', durationSeconds: 3_600, ...rest },
  open: true,
  changesAtMs: NOW + 60_000,
});

type Parts = Partial<Omit<TargetInput, 'spec'>> & { readonly spec?: Partial<TargetInput['spec']> };

function target({ spec = {}, ...rest }: Parts = {}): Target {
  return decideTarget({
    spec: { replicas: 7, sandboxTemplateRef: { name: 't' }, ...spec },
    windows: [],
    inUse: 0,
    claimRate: undefined,
    demands: [],
    lastStatus: undefined,
    nowMs: NOW,
    monotonicMs: 1_000_000,
    ...rest,
  });
}

const rate = (perSecond: number) => ({ perSecond, atMs: 1_000_000 });

describe('the target of a pool', () => {
  it.each<readonly [string, Parts, number]>([
    ['is spec.replicas', {}, 7],
    ['is one for a spec without replicas', { spec: { replicas: undefined } }, 1],
    ['keeps a fifth free under autoscaling by default', { spec: auto(), inUse: 40 }, 10],
    ['is rounded up', { spec: auto(), inUse: 41 }, 11],
    ['keeps targetFreePercent free', { spec: auto({ targetFreePercent: 50 }), inUse: 12 }, 12],
    [
      'covers the claims of the next coverSeconds',
      { spec: auto({ coverSeconds: 10 }), inUse: 4, claimRate: rate(2.5) },
      25,
    ],
    [
      'is the larger of the free share and the cover',
      { spec: auto({ coverSeconds: 10 }), inUse: 40, claimRate: rate(0.5) },
      10,
    ],
    ['forgets claims long past', { spec: auto({ coverSeconds: 10 }), claimRate: { perSecond: 1, atMs: 400_000 } }, 0],
    ['is at most maxReplicas', { spec: auto(), inUse: 1_000 }, 50],
    ['is at least minReplicas', { spec: auto({ minReplicas: 3 }), inUse: 0 }, 3],
    ['ignores spec.replicas under autoscaling', { spec: { replicas: 40, ...auto() }, inUse: 4 }, 1],
    ['is the replicas of an open schedule', { windows: [open('day', { replicas: 12 })] }, 12],
    [
      'is the replicas of an open schedule rather than of autoscaling',
      { spec: auto(), inUse: 200, windows: [open('night', { replicas: 2 })] },
      2,
    ],
    [
      'is the largest of several open schedules',
      { windows: [open('a', { replicas: 3 }), open('b', { replicas: 30 }), open('c', { replicas: 12 })] },
      30,
    ],
    ['ignores closed schedules', { windows: [{ ...open('a', { replicas: 3 }), open: false }] }, 7],
    [
      'is autoscaled above the minReplicas of an open schedule',
      { spec: auto(), inUse: 40, windows: [open('a', { minReplicas: 20 })] },
      20,
    ],
    [
      'is autoscaled below the maxReplicas of an open schedule',
      { spec: auto(), inUse: 40, windows: [open('a', { maxReplicas: 4 })] },
      4,
    ],
    [
      'exceeds the bounds of autoscaling where a schedule moves them',
      { spec: auto(), inUse: 999, windows: [open('a', { minReplicas: 60, maxReplicas: 80 })] },
      80,
    ],
    [
      'is the minReplicas of an open schedule without autoscaling',
      { windows: [open('a', { minReplicas: 20, maxReplicas: 30 })] },
      20,
    ],
    [
      'is the maxReplicas of an open schedule without minReplicas and autoscaling',
      { windows: [open('a', { maxReplicas: 2 })] },
      2,
    ],
    [
      'holds the highest demand within scaleDownDelaySeconds',
      {
        spec: auto(),
        inUse: 4,
        demands: [
          { atMs: 900_000, replicas: 9 },
          { atMs: 900_000, replicas: 1 },
        ],
      },
      9,
    ],
    [
      'forgets demands older than scaleDownDelaySeconds',
      {
        spec: auto(),
        inUse: 4,
        demands: [
          { atMs: 699_000, replicas: 9 },
          { atMs: 699_000, replicas: 1 },
        ],
      },
      1,
    ],
    [
      'does not shrink after a restart of the controller',
      { spec: auto(), demands: undefined, lastStatus: { desiredReplicas: 30 } },
      30,
    ],
    [
      'ignores the last target when a schedule decided it',
      { spec: auto(), inUse: 4, demands: undefined, lastStatus: { desiredReplicas: 30, activeSchedule: 'x' } },
      1,
    ],
  ])('%s', (_, parts, replicas) => {
    expect(target(parts).replicas).toBe(replicas);
  });

  it.each<readonly [string, Parts, number | undefined]>([
    ['never while the spec decides', {}, undefined],
    ['when a schedule opens or closes', { windows: [open('a', { replicas: 1 })] }, 60_000],
    [
      'when a held demand expires',
      {
        spec: auto(),
        demands: [
          { atMs: 900_000, replicas: 9 },
          { atMs: 900_000, replicas: 0 },
        ],
      },
      200_000,
    ],
    ['every 15 s while the claim rate fades', { spec: auto({ coverSeconds: 10 }), claimRate: rate(1) }, 15_000],
  ])('is decided again %s', (_, parts, ms) => {
    expect(target(parts).recheckAfterMs).toBe(ms);
  });

  it('holds for scaleDownDelaySeconds after demand falls, however rarely passes run', () => {
    const at = (seconds: number, inUse: number, demands: readonly Demand[]) =>
      target({ spec: auto({ scaleDownDelaySeconds: 60 }), inUse, demands, monotonicMs: seconds * 1_000 });
    const busy = at(0, 40, []);
    const fallen = at(1_000, 4, busy.demands);
    expect([busy.replicas, fallen.replicas]).toEqual([10, 10]);
    expect(at(1_059, 4, fallen.demands).replicas).toBe(10);
    expect(at(1_060, 4, fallen.demands).replicas).toBe(1);
  });

  it('keeps few demands, not all', () => {
    let demands: readonly Demand[] = [];
    for (let n = 0; n < 1_000; n += 1) demands = addDemand(demands, { atMs: n, replicas: n % 10 }, 300_000);
    expect(demands.length).toBeLessThanOrEqual(10);
    expect(demands[0]?.replicas).toBe(9);
  });
});

describe('a pool whose target changes', () => {
  it('reports the target, the time of the change and what decided', () => {
    const parts = { lastStatus: { desiredReplicas: 3 }, windows: [open('day', { replicas: 12 })] };
    expect(getStatus(parts)).toMatchObject({
      desiredReplicas: 12,
      activeSchedule: 'day',
      lastScaleTime: '2026-01-01T12:00:00Z',
    });
    expect(steps(decide(snapshot(parts)), 'event')).toEqual([
      {
        kind: 'event',
        type: 'Normal',
        reason: 'TargetChanged',
        message: 'Target changed from 3 to 12 (schedule "day")',
      },
    ]);
  });

  it('reports its claim rate, and requeues while it fades', () => {
    const parts = { members: members(3), history: { claimRate: { perSecond: 0.5, atMs: 1_000_000 } } };
    expect(getStatus(parts).claimRatePerMinute).toBe(30);
    expect(steps(decide(snapshot(parts)), 'requeue').map(({ afterMs }) => afterMs)).toEqual([15_000]);
    const faded = { ...parts, history: { claimRate: { perSecond: 0.5, atMs: 400_000 } } };
    expect(getStatus(faded).claimRatePerMinute).toBeUndefined();
  });

  it('sends one Warning for a schedule that can never open', () => {
    const windows = new Timetable().windows([{ name: 'a', cron: '61 * * * *', durationSeconds: 60, replicas: 1 }], NOW);
    const warnings = (lastStatus: object): string[] =>
      steps(decide(snapshot({ windows, lastStatus })), 'event').map(({ reason }) => reason);
    expect(warnings({ observedGeneration: 0 })).toEqual(['ScheduleInvalid']);
    expect(warnings({ observedGeneration: 1 })).toEqual([]);
  });

  it('keeps lastScaleTime while the target stays', () => {
    const lastScaleTime = '2026-01-01T01:00:00Z';
    expect(getStatus({ lastStatus: { desiredReplicas: 3, lastScaleTime } }).lastScaleTime).toBe(lastScaleTime);
  });
});

describe('a schedule', () => {
  const at = (text: string): number => Date.parse(text);
  const window = (schedule: Partial<Schedule>, nowMs: number): Window | undefined =>
    new Timetable().windows(
      [{ name: 'a', cron: '0 9 * * 1-5', durationSeconds: 3_600, replicas: 1, ...schedule }],
      nowMs,
    )[0];
  const text = (ms: number | undefined): string | undefined =>
    ms === undefined ? undefined : new Date(ms).toISOString();

  it.each<readonly [string, Partial<Schedule>, string, boolean, string]>([
    ['is closed before its start', {}, '2026-01-05T08:59:59.999Z', false, '2026-01-05T09:00:00.000Z'],
    ['is open from its first moment', {}, '2026-01-05T09:00:00.000Z', true, '2026-01-05T10:00:00.000Z'],
    ['is open until its last moment', {}, '2026-01-05T09:59:59.999Z', true, '2026-01-05T10:00:00.000Z'],
    ['is closed from its end', {}, '2026-01-05T10:00:00.000Z', false, '2026-01-06T09:00:00.000Z'],
    ['skips weekends', {}, '2026-01-03T09:30:00Z', false, '2026-01-05T09:00:00.000Z'],
    [
      'is open over midnight',
      { cron: '0 23 * * *', durationSeconds: 7_200 },
      '2026-01-05T00:30:00Z',
      true,
      '2026-01-05T01:00:00.000Z',
    ],
    [
      'is extended by a start within its window',
      { cron: '*/30 * * * *' },
      '2026-01-05T09:45:00Z',
      true,
      '2026-01-05T10:30:00.000Z',
    ],
    [
      'starts in its time zone',
      { timeZone: 'America/New_York' },
      '2026-01-05T14:30:00Z',
      true,
      '2026-01-05T15:00:00.000Z',
    ],
    [
      'starts at the same local time in summer',
      { timeZone: 'America/New_York' },
      '2026-07-06T13:30:00Z',
      true,
      '2026-07-06T14:00:00.000Z',
    ],
    [
      'starts at the same local time on the day after clocks go forward',
      { cron: '0 9 * * *', timeZone: 'Europe/Berlin' },
      '2026-03-28T12:00:00Z',
      false,
      '2026-03-29T07:00:00.000Z',
    ],
    [
      'starts at the same local time on the day clocks go back',
      { cron: '0 9 * * *', timeZone: 'Europe/Berlin' },
      '2026-10-24T12:00:00Z',
      false,
      '2026-10-25T08:00:00.000Z',
    ],
    [
      'lasts its duration over a change of clocks',
      { cron: '0 1 * * *', timeZone: 'Europe/Berlin', durationSeconds: 10_800 },
      '2026-03-29T02:30:00Z',
      true,
      '2026-03-29T03:00:00.000Z',
    ],
  ])('%s', (...[, schedule, now, isOpen, changes]) => {
    const found = window(schedule, at(now));
    expect({ open: found?.open, changes: text(found?.changesAtMs) }).toEqual({ open: isOpen, changes });
  });

  it.each([
    ['an unknown time zone', { timeZone: 'Mars/Olympus' }],
    ['a field out of range', { cron: '61 * * * *' }],
    ['words', { cron: 'once upon a time please' }],
  ])('with %s never opens and says why', (_, schedule) => {
    const found = window(schedule, NOW);
    expect(found).toMatchObject({ open: false, changesAtMs: undefined });
    expect(found?.problem).toMatch(/./);
  });

  it('is the same with and without a cached cron expression', () => {
    const known = new Timetable();
    const schedules = [
      { name: 'a', cron: '17 */3 * * *', durationSeconds: 1_800, replicas: 1, timeZone: 'Asia/Kolkata' },
    ];
    for (let nowMs = NOW; nowMs < NOW + 86_400_000; nowMs += 601_000) {
      expect(known.windows(schedules, nowMs)).toEqual(new Timetable().windows(schedules, nowMs));
    }
  });
});

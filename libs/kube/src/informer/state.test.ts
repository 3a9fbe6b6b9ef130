import { describe, expect, it } from 'vitest';
import { initialState, step } from './state.ts';
import type { ReflectorInput, ReflectorState } from './state.ts';

const fresh = { failures: 0, mode: 'stream', refused: false, gone: false } as const;
const empty: ReflectorState = { kind: 'empty', reason: 'start', consistent: false, ...fresh };
const listing: ReflectorState = { kind: 'listing', reason: 'start', consistent: false, ...fresh };
const paging: ReflectorState = { ...listing, mode: 'pages' };
const listed: ReflectorState = { kind: 'listed', resourceVersion: 'rv', ...fresh };
const watching: ReflectorState = { kind: 'watching', resourceVersion: 'rv', sinceMs: 0, progressed: false, ...fresh };
const backoff: ReflectorState = { kind: 'backoff', delayMs: 800, next: listed, ...fresh };

const fail = (failure: 'refused' | 'gone' | 'other', retryAfterMs?: number): ReflectorInput => ({
  kind: 'failed',
  failure,
  retryAfterMs,
});

const event: ReflectorInput = { kind: 'event', resourceVersion: 'b' };

/** No jitter, half a minute after the watch began. */
const at = (nowMs: number) => ({ nowMs, random: () => 0 });
const context = at(30_000);

describe('reflector state', () => {
  it.each<[string, ReflectorState, ReflectorInput, Partial<ReflectorState>]>([
    ['a list follows an empty state', empty, { kind: 'proceed' }, { kind: 'listing', mode: 'stream' }],
    [
      'a watch follows a list',
      listed,
      { kind: 'proceed' },
      { kind: 'watching', resourceVersion: 'rv', sinceMs: 30_000 },
    ],
    ['a backoff ends in what it put off', backoff, { kind: 'proceed' }, listed],
    [
      'a snapshot ends a list',
      listing,
      { kind: 'listed', resourceVersion: 'a' },
      { kind: 'listed', resourceVersion: 'a' },
    ],
    [
      'an event moves the resourceVersion',
      watching,
      { kind: 'event', resourceVersion: 'b' },
      { kind: 'watching', resourceVersion: 'b' },
    ],
    ['an event of an abandoned watch is ignored', empty, { kind: 'event', resourceVersion: 'b' }, empty],
    [
      'a clean end watches again from the last resourceVersion',
      watching,
      { kind: 'ended' },
      { kind: 'listed', resourceVersion: 'rv' },
    ],
    ['a streaming list that ends early is a failure', listing, { kind: 'ended' }, { kind: 'backoff' }],
    [
      'a refused streaming list becomes pages at once and for good',
      listing,
      fail('refused'),
      { kind: 'listing', mode: 'pages', refused: true },
    ],
    ['a refused paged list backs off', paging, fail('refused'), { kind: 'backoff' }],
    [
      'a lost resourceVersion means to list again at once, consistently',
      watching,
      fail('gone'),
      { kind: 'empty', reason: 'gone', consistent: true, failures: 1 },
    ],
    [
      'an expired continue token restarts the list at once',
      paging,
      fail('gone'),
      { kind: 'empty', reason: 'gone', consistent: true },
    ],
    [
      'a failing watch goes on where it was, after a pause',
      watching,
      fail('other'),
      { kind: 'backoff', delayMs: 800, next: { ...listed, failures: 1 } },
    ],
    [
      'a server that asks for more patience gets it',
      watching,
      fail('other', 5_000),
      { kind: 'backoff', delayMs: 5_000 },
    ],
    [
      'a server cannot ask for more than half a minute',
      watching,
      fail('other', 500_000),
      { kind: 'backoff', delayMs: 30_000 },
    ],
    [
      'a failed streaming list is made in pages next',
      listing,
      fail('other'),
      { kind: 'backoff', next: { ...empty, reason: 'failure', mode: 'pages', failures: 1 } },
    ],
    [
      'a watch the server does not take leads to a list',
      watching,
      fail('refused'),
      { kind: 'backoff', next: { ...empty, reason: 'failure', consistent: true, failures: 1 } },
    ],
    ['a relist leaves a watch', watching, { kind: 'relist' }, { kind: 'empty', reason: 'requested', consistent: true }],
    ['a relist cuts a backoff short', backoff, { kind: 'relist' }, { kind: 'empty', reason: 'requested' }],
  ])('%s', (...[, state, input, expected]) => {
    expect(step(state, input, context)).toMatchObject(expected);
  });

  it('lists from a cache at first only when no caller needs a consistent list', () => {
    expect(step(initialState(false), { kind: 'proceed' }, context)).toMatchObject({ consistent: false });
    expect(step(initialState(true), { kind: 'proceed' }, context)).toMatchObject({ consistent: true });
  });

  it('streams again after a list in pages that a failure had forced', () => {
    expect(step(paging, { kind: 'listed', resourceVersion: 'a' }, context)).toMatchObject({ mode: 'stream' });
  });

  it('never streams again where streaming was refused', () => {
    const refused: ReflectorState = { ...paging, refused: true };
    expect(step(refused, { kind: 'listed', resourceVersion: 'a' }, context)).toMatchObject({ mode: 'pages' });
  });

  it('backs off from 0.8 s to 30 s while failures go on', () => {
    const delays: number[] = [];
    let state: ReflectorState = listed;
    for (let n = 0; n < 8; n++) {
      state = step(step(state, { kind: 'proceed' }, context), fail('other'), context);
      if (state.kind === 'backoff') delays.push(state.delayMs);
      state = step(state, { kind: 'proceed' }, context);
    }
    expect(delays).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  });

  it('takes jitter off the delay, never more than half', () => {
    expect(step(watching, fail('other'), { ...context, random: () => 1 })).toMatchObject({ delayMs: 400 });
  });

  it.each([
    ['a minute of health forgets failures', 60_000, 800],
    ['less than a minute does not', 59_999, 6_400],
  ])('%s', (_, nowMs, delayMs) => {
    expect(step({ ...watching, failures: 3 }, fail('other'), at(nowMs))).toMatchObject({ kind: 'backoff', delayMs });
  });

  it('backs off when a second list in a row is lost as well', () => {
    const again = { kind: 'backoff', next: { kind: 'empty', reason: 'gone', gone: true } };
    expect(step({ ...watching, failures: 1, gone: true }, fail('gone'), context)).toMatchObject(again);
  });

  it.each<[string, ReflectorState]>([
    ['after an outage, because the server answers again', { ...watching, failures: 5 }],
    ['after an event, because the last list helped', step({ ...watching, gone: true }, event, context)],
    ['after a minute of health', { ...watching, gone: true, sinceMs: -30_000 }],
  ])('lists at once what is too old %s', (_, state) => {
    expect(step(state, fail('gone'), context)).toMatchObject({ kind: 'empty', reason: 'gone', gone: true });
  });

  it('remembers through list and watch that the resourceVersion was too old', () => {
    const inputs: ReflectorInput[] = [
      { kind: 'proceed' },
      { kind: 'listed', resourceVersion: 'a' },
      { kind: 'proceed' },
    ];
    let state = step(watching, fail('gone'), context);
    for (const input of inputs) state = step(state, input, context);
    expect(state).toMatchObject({ kind: 'watching', resourceVersion: 'a', gone: true });
  });

  it.each<[string, ReflectorState, number, string]>([
    ['a watch closed at once without an event is a failure, or it would be a tight loop', watching, 999, 'backoff'],
    ['a watch closed at once after an event is not', { ...watching, progressed: true }, 999, 'listed'],
    ['a watch closed after a second is not', watching, 1_000, 'listed'],
  ])('%s', (...[, state, nowMs, kind]) => {
    expect(step(state, { kind: 'ended' }, at(nowMs)).kind).toBe(kind);
  });
});

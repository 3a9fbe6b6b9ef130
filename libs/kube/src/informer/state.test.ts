import { describe, expect, it } from 'vitest';
import { createInitialState, step } from './state.ts';
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

/** Half a minute after the watch began, without jitter. */
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
    ['a backoff ends in the state it delayed', backoff, { kind: 'proceed' }, listed],
    [
      'a complete snapshot ends a list',
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
      'a watch that ends cleanly restarts from the last resourceVersion',
      watching,
      { kind: 'ended' },
      { kind: 'listed', resourceVersion: 'rv' },
    ],
    ['a streaming list that ends early is a failure', listing, { kind: 'ended' }, { kind: 'backoff' }],
    [
      'a refused streaming list switches to pages at once and permanently',
      listing,
      fail('refused'),
      { kind: 'listing', mode: 'pages', refused: true },
    ],
    ['a refused paged list backs off', paging, fail('refused'), { kind: 'backoff' }],
    [
      'an expired resourceVersion causes a consistent list at once',
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
      'a failed watch continues from its resourceVersion after a backoff',
      watching,
      fail('other'),
      { kind: 'backoff', delayMs: 800, next: { ...listed, failures: 1 } },
    ],
    ['a longer Retry-After replaces the backoff', watching, fail('other', 5_000), { kind: 'backoff', delayMs: 5_000 }],
    ['Retry-After is limited to half a minute', watching, fail('other', 500_000), { kind: 'backoff', delayMs: 30_000 }],
    [
      'a failed streaming list is followed by a list in pages',
      listing,
      fail('other'),
      { kind: 'backoff', next: { ...empty, reason: 'failure', mode: 'pages', failures: 1 } },
    ],
    [
      'a refused watch leads to a list',
      watching,
      fail('refused'),
      { kind: 'backoff', next: { ...empty, reason: 'failure', consistent: true, failures: 1 } },
    ],
    ['a relist ends a watch', watching, { kind: 'relist' }, { kind: 'empty', reason: 'requested', consistent: true }],
    ['a relist ends a backoff early', backoff, { kind: 'relist' }, { kind: 'empty', reason: 'requested' }],
  ])('%s', (...[, state, input, expected]) => {
    expect(step(state, input, context)).toMatchObject(expected);
  });

  it('allows the first list to come from a cache unless a consistent one is required', () => {
    expect(step(createInitialState(false), { kind: 'proceed' }, context)).toMatchObject({ consistent: false });
    expect(step(createInitialState(true), { kind: 'proceed' }, context)).toMatchObject({ consistent: true });
  });

  it('streams again after a failure caused a list in pages', () => {
    expect(step(paging, { kind: 'listed', resourceVersion: 'a' }, context)).toMatchObject({ mode: 'stream' });
  });

  it('never streams again after the server refused streaming', () => {
    const refused: ReflectorState = { ...paging, refused: true };
    expect(step(refused, { kind: 'listed', resourceVersion: 'a' }, context)).toMatchObject({ mode: 'pages' });
  });

  it('backs off from 0.8 s to 30 s while failures continue', () => {
    const delays: number[] = [];
    let state: ReflectorState = listed;
    for (let n = 0; n < 8; n++) {
      state = step(step(state, { kind: 'proceed' }, context), fail('other'), context);
      if (state.kind === 'backoff') delays.push(state.delayMs);
      state = step(state, { kind: 'proceed' }, context);
    }
    expect(delays).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  });

  it('shortens the delay by jitter of at most half', () => {
    expect(step(watching, fail('other'), { ...context, random: () => 1 })).toMatchObject({ delayMs: 400 });
  });

  it.each([
    ['forgets failures after a minute of healthy watching', 60_000, 800],
    ['remembers failures during the first minute of a watch', 59_999, 6_400],
  ])('%s', (_, nowMs, delayMs) => {
    expect(step({ ...watching, failures: 3 }, fail('other'), at(nowMs))).toMatchObject({ kind: 'backoff', delayMs });
  });

  it('backs off when the resourceVersion of a second list in a row has expired', () => {
    const again = { kind: 'backoff', next: { kind: 'empty', reason: 'gone', gone: true } };
    expect(step({ ...watching, failures: 1, gone: true }, fail('gone'), context)).toMatchObject(again);
  });

  it.each<[string, ReflectorState]>([
    ['after an outage, because the server answers again', { ...watching, failures: 5 }],
    ['after an event, because the last list helped', step({ ...watching, gone: true }, event, context)],
    ['after a minute of healthy watching', { ...watching, gone: true, sinceMs: -30_000 }],
  ])('lists at once when the resourceVersion has expired %s', (_, state) => {
    expect(step(state, fail('gone'), context)).toMatchObject({ kind: 'empty', reason: 'gone', gone: true });
  });

  it('remembers during the next list and watch that the resourceVersion had expired', () => {
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
    ['backs off after a watch that closed at once without an event', watching, 999, 'backoff'],
    [
      'watches again after a watch that closed at once after an event',
      { ...watching, progressed: true },
      999,
      'listed',
    ],
    ['watches again after a watch that lasted a second', watching, 1_000, 'listed'],
  ])('%s', (...[, state, nowMs, kind]) => {
    expect(step(state, { kind: 'ended' }, at(nowMs)).kind).toBe(kind);
  });
});

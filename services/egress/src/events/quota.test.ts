import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { Quota } from './quota.ts';

const MINUTE_MS = 60_000;
let clock: FakeClock;
let quota: Quota;

beforeEach(() => {
  clock = new FakeClock();
  quota = new Quota(clock);
});

it('a thing may be said once in ten minutes', async () => {
  expect([quota.take('u', 'a'), quota.take('u', 'a'), quota.take('u', 'b'), quota.take('v', 'a')]).toEqual([
    'this',
    undefined,
    'this',
    'this',
  ]);
  await clock.advance(10 * MINUTE_MS - 1);
  expect(quota.take('u', 'a')).toBeUndefined();
  await clock.advance(1);
  expect(quota.take('u', 'a')).toBe('this');
});

it('of a claim ten things may be said in that time, and once that there are more', async () => {
  const takeAll = (): readonly (string | undefined)[] =>
    Array.from({ length: 1_000 }, (_, index) => quota.take('u', `thing ${index}`)).filter((each) => each !== undefined);
  expect(takeAll()).toEqual([...Array.from({ length: 10 }, () => 'this'), 'more']);
  await clock.advance(9 * MINUTE_MS);
  expect(takeAll()).toEqual([]);
  await clock.advance(MINUTE_MS);
  expect(takeAll()).toHaveLength(11);
});

it('never are more than eleven things said of a claim in any ten minutes', () => {
  const tries = fc.array(fc.tuple(fc.nat({ max: 5 * MINUTE_MS }), fc.nat({ max: 30 })), { maxLength: 200 });
  return fc.assert(
    fc.asyncProperty(tries, async (all) => {
      const time = new FakeClock();
      const taken = new Quota(time);
      const said: number[] = [];
      for (const [waitMs, thing] of all) {
        await time.advance(waitMs);
        if (taken.take('u', `thing ${thing}`) !== undefined) said.push(time.monotonic());
      }
      for (const atMs of said) {
        const within = said.filter((each) => each >= atMs && each < atMs + 10 * MINUTE_MS);
        expect(within.length).toBeLessThanOrEqual(11);
      }
    }),
    { numRuns: 50 },
  );
});

it('a claim that is gone is forgotten, and so is the one that was heard of longest ago when there are too many', () => {
  quota.take('u', 'a');
  quota.forget('u');
  expect(quota.take('u', 'a')).toBe('this');
  for (let index = 0; index < 10_000; index += 1) quota.take(`claim ${index}`, 'a');
  expect(quota.take('u', 'a')).toBe('this');
  expect(quota.take('claim 9999', 'a')).toBeUndefined();
});

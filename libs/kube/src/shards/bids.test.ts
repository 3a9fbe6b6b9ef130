import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computePatienceMs, findShardToAsk, formatAsk, isGiven, parseAsk } from './bids.ts';
import { findShard } from './shard.ts';

const views = (...holders: readonly (string | undefined)[]) => holders.map((holder, shard) => ({ shard, holder }));

describe('the shard to ask for', () => {
  it.each<[string, readonly (string | undefined)[], number | undefined]>([
    ['is none while a shard is free', ['a', 'a', undefined], undefined],
    ['is one of the replica with the most', ['b', 'a', 'a', 'a'], 1],
    ['is none where each replica has one', ['a', 'b'], undefined],
    ['is none where a move only swaps the places', ['me', 'a', 'a'], undefined],
    ['is one of two', ['a', 'a'], 0],
    ['is none for the replica with the most', ['me', 'me', 'a'], undefined],
  ])('%s', (_, holders, expected) => {
    expect(findShardToAsk(views(...holders), 'me')).toBe(expected);
  });

  it('leads to an even division, whatever it was before', () => {
    const holders = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 16 });
    fc.assert(
      fc.property(holders, (before) => {
        const now: string[] = [...before];
        const count = (who: string): number => now.filter((holder) => holder === who).length;
        for (let round = 0; round < 100; round += 1) {
          for (const who of ['a', 'b', 'c']) {
            const shard = findShardToAsk(views(...now), who);
            const giver = shard === undefined ? undefined : now[shard];
            if (shard === undefined || giver === undefined) continue;
            const ask = parseAsk(formatAsk({ by: who, held: count(who) }));
            if (isGiven(ask, { identity: giver, held: count(giver) })) now[shard] = who;
          }
        }
        const counts = ['a', 'b', 'c'].map(count);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

it('gives no shard to itself, to a text that is no request, or for nothing', () => {
  const giver = { identity: 'me', held: 2 };
  expect(isGiven(parseAsk('0 other'), giver)).toBe(true);
  for (const text of ['0 me', '1 other', 'other', '', undefined]) expect(isGiven(parseAsk(text), giver)).toBe(false);
});

it('waits longer the more shards a replica has, within a bound', () => {
  expect([0, 1, 2, 3, 9].map(computePatienceMs)).toEqual([0, 250, 500, 750, 750]);
});

describe('the shard of a text', () => {
  it('stays the same from version to version', () => {
    expect(['default', 'tenant-1/claim', 'größe'].map((text) => findShard(text, 16))).toMatchInlineSnapshot(`
      [
        12,
        9,
        12,
      ]
    `);
    expect(findShard('anything', 1)).toBe(0);
  });

  it('is about as often each shard, for names that differ in their end only', () => {
    const counts = [0, 0, 0, 0];
    for (let at = 0; at < 4_000; at += 1) counts[findShard(`team-${at}`, 4)]! += 1;
    for (const count of counts) expect(count).toBeGreaterThan(900);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Stock } from './stock.ts';
import type { Candidate } from './stock.ts';

const member = (key: string, over: Partial<Candidate> = {}): Candidate => ({
  key,
  poolUid: 'pool-a',
  node: 'n1',
  ready: true,
  addressed: true,
  current: true,
  ...over,
});

function getStock(...candidates: readonly Candidate[]): Stock {
  const stock = new Stock();
  for (const candidate of candidates) stock.observe(candidate.key, candidate);
  return stock;
}

const drain = (stock: Stock, pools: readonly string[] = ['pool-a']): string[] => {
  const keys: string[] = [];
  for (let next = stock.pick(pools); next !== undefined; next = stock.pick(pools)) keys.push(next.key);
  return keys;
};

describe('picking', () => {
  it('prefers Ready to not Ready, and current to stale within each', () => {
    const stock = getStock(
      member('pending-stale', { ready: false, current: false }),
      member('pending', { ready: false }),
      member('ready-stale', { current: false }),
      member('ready'),
    );
    expect(drain(stock)).toEqual(['ready', 'ready-stale', 'pending', 'pending-stale']);
  });

  it('picks from the node with the most candidates, oldest first', () => {
    const stock = getStock(
      member('a1'),
      member('b1', { node: 'n2' }),
      member('b2', { node: 'n2' }),
      member('b3', { node: 'n2' }),
    );
    expect(drain(stock).slice(0, 2)).toEqual(['b1', 'b2']);
  });

  it('picks from several pools in tier order', () => {
    const stock = getStock(member('stale', { current: false }), member('fresh', { poolUid: 'pool-b' }));
    expect(drain(stock, ['pool-a', 'pool-b'])).toEqual(['fresh', 'stale']);
  });

  it('never offers a reserved candidate again, even when the watch repeats it', () => {
    const stock = getStock(member('a'));
    expect(stock.pick(['pool-a'])?.key).toBe('a');
    stock.observe('a', member('a'));
    expect(stock.pick(['pool-a'])).toBeUndefined();
    expect(stock.available('pool-a')).toBe(0);
  });

  it('offers a released candidate again, as the watch last showed it', () => {
    const stock = getStock(member('a'), member('b'));
    stock.pick(['pool-a']);
    stock.observe('a', member('a', { ready: false }));
    stock.release('a');
    expect(drain(stock)).toEqual(['b', 'a']);
  });

  it('does not restore a reserved candidate that the watch has removed', () => {
    const stock = getStock(member('a'));
    stock.pick(['pool-a']);
    stock.observe('a', undefined);
    stock.release('a');
    expect(stock.pick(['pool-a'])).toBeUndefined();
  });
});

describe('members without an address', () => {
  it('are counted per pool and never offered', () => {
    const stock = getStock(member('a', { addressed: false }), member('b', { addressed: false, poolUid: 'pool-b' }));
    expect([stock.warming('pool-a'), stock.warming('pool-b'), stock.pick(['pool-a', 'pool-b'])]).toEqual([
      1,
      1,
      undefined,
    ]);
    stock.observe('a', member('a'));
    stock.observe('b', undefined);
    expect([stock.warming('pool-a'), stock.warming('pool-b'), stock.pick(['pool-a'])?.key]).toEqual([0, 0, 'a']);
  });

  it('are removed when they lose their address again', () => {
    const stock = getStock(member('a'));
    stock.observe('a', member('a', { addressed: false }));
    expect(stock.pick(['pool-a'])).toBeUndefined();
  });
});

describe('the counts', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('observe' as const),
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      gone: fc.boolean(),
      node: fc.constantFrom('n1', 'n2'),
      ready: fc.boolean(),
      current: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('pick' as const) }),
    fc.record({ kind: fc.constant('release' as const), key: fc.constantFrom('a', 'b', 'c', 'd') }),
  );

  it('counts and offers exactly what is observed and not reserved, after any sequence of steps', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const stock = new Stock();
        const seen = new Map<string, Candidate>();
        const reserved = new Set<string>();
        for (const s of steps) {
          if (s.kind === 'observe') {
            const next = s.gone ? undefined : member(s.key, { node: s.node, ready: s.ready, current: s.current });
            stock.observe(s.key, next);
            if (next === undefined) {
              seen.delete(s.key);
              reserved.delete(s.key);
            } else seen.set(s.key, next);
          } else if (s.kind === 'release') {
            stock.release(s.key);
            reserved.delete(s.key);
          } else {
            const picked = stock.pick(['pool-a']);
            const free = [...seen.keys()].filter((key) => !reserved.has(key));
            expect(picked === undefined).toBe(free.length === 0);
            if (picked !== undefined) {
              expect(free).toContain(picked.key);
              reserved.add(picked.key);
            }
          }
        }
        const free = [...seen.keys()].filter((key) => !reserved.has(key)).sort();
        expect(stock.available('pool-a')).toBe(free.length);
        expect(drain(stock).sort()).toEqual(free);
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { RateShares } from './rate-shares.ts';

const RATES = { perSource: { perSecond: 1, burst: 2 }, total: { perSecond: 10, burst: 5 } };

describe('shares of a rate', () => {
  it('refuse a source that exceeds its own, and serve the others', () => {
    const shares = new RateShares(RATES);
    expect([1, 2, 3, 4].map(() => shares.take('attacker', 0))).toEqual([undefined, undefined, 'source', 'source']);
    expect(shares.take('honest', 0)).toBeUndefined();
  });

  it('refuse everyone when all sources together exceed the total, until it fills', () => {
    const shares = new RateShares(RATES);
    const taken = Array.from({ length: 7 }, (_, n) => shares.take(`source-${n}`, 0));
    expect(taken).toEqual([...Array.from({ length: 5 }, () => undefined), 'all', 'all']);
    expect(shares.take('honest', 100)).toBeUndefined();
  });

  it('remember a bounded number of sources, the latest ones', () => {
    const shares = new RateShares({ ...RATES, total: { perSecond: 1e9, burst: 1e9 } });
    shares.take('regular', 0);
    shares.take('regular', 0);
    for (let n = 0; n < 30_000; n += 1) {
      shares.take(`once-${n}`, 0);
      if (n % 1_000 === 0) expect(shares.take('regular', 0)).toBe('source');
    }
    expect(shares.size).toBe(10_000);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CreateRates, Places } from './index.ts';

describe('creates a second', () => {
  it('come at once up to a second’s worth, then at their rate', () => {
    const rates = new CreateRates();
    const take = (nowMs: number) => rates.take('key', 2, nowMs);
    expect(take(0)).toEqual({ allowed: true, limit: 2, remaining: 1, resetSeconds: 1, retryAfterSeconds: 0 });
    expect(take(0)).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 1 });
    expect(take(0)).toEqual({ allowed: false, limit: 2, remaining: 0, resetSeconds: 1, retryAfterSeconds: 1 });
    expect(take(499).allowed).toBe(false);
    expect(take(500).allowed).toBe(true);
  });

  it('of less than one a second tell how long to wait', () => {
    const rates = new CreateRates();
    expect(rates.take('key', 0.1, 0).allowed).toBe(true);
    expect(rates.take('key', 0.1, 0)).toMatchObject({ allowed: false, limit: 1, retryAfterSeconds: 10 });
  });

  it('are counted for each key alone, and not at all without a limit', () => {
    const rates = new CreateRates();
    expect(rates.take('one', 1, 0).allowed).toBe(true);
    expect(rates.take('other', 1, 0).allowed).toBe(true);
    expect(rates.take('one', 1, 0).allowed).toBe(false);
    expect(rates.take('one', 0, 0)).toMatchObject({ allowed: true, limit: undefined });
  });

  it('never exceed burst and rate together, whenever they come', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 20 }), (given, perSecond) => {
        const rates = new CreateRates();
        let nowMs = 0;
        const allowed = given.filter((gap) => rates.take('key', perSecond, (nowMs += gap)).allowed).length;
        expect(allowed).toBeLessThanOrEqual(perSecond + (nowMs / 1_000) * perSecond + 1e-6);
      }),
    );
  });
});

describe('places', () => {
  it('are as many as the limit leaves, those on the way counted', () => {
    const places = new Places();
    const first = places.take('key', { present: 1, limit: 3 });
    const second = places.take('key', { present: 1, limit: 3 });
    expect([first, second].every((place) => place !== undefined)).toBe(true);
    expect(places.take('key', { present: 1, limit: 3 })).toBeUndefined();
    expect(places.take('other', { present: 1, limit: 3 })).toBeDefined();
    first?.[Symbol.dispose]();
    first?.[Symbol.dispose]();
    expect(places.take('key', { present: 1, limit: 3 })).toBeDefined();
    expect(places.take('key', { present: 1, limit: 3 })).toBeUndefined();
  });

  it('are endless without a limit', () => {
    const places = new Places();
    for (let n = 0; n < 100; n += 1) expect(places.take('key', { present: n, limit: 0 })).toBeDefined();
  });
});

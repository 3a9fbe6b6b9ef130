import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CreateRates, Places } from './index.ts';

describe('creates a second', () => {
  it('pass at once up to one second’s worth, then at their rate', () => {
    const rates = new CreateRates();
    const take = (nowMs: number) => rates.take('key', 2, nowMs);
    expect(take(0)).toEqual({ allowed: true, limit: 2, remaining: 1, resetSeconds: 1, retryAfterSeconds: 0 });
    expect(take(0)).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 1 });
    expect(take(0)).toEqual({ allowed: false, limit: 2, remaining: 0, resetSeconds: 1, retryAfterSeconds: 1 });
    expect(take(499).allowed).toBe(false);
    expect(take(500).allowed).toBe(true);
  });

  it('at a rate below one a second return the time to wait', () => {
    const rates = new CreateRates();
    expect(rates.take('key', 0.1, 0).allowed).toBe(true);
    expect(rates.take('key', 0.1, 0)).toMatchObject({ allowed: false, limit: 1, retryAfterSeconds: 10 });
  });

  it('are counted for each key on its own, and not at all without a limit', () => {
    const rates = new CreateRates();
    expect(rates.take('one', 1, 0).allowed).toBe(true);
    expect(rates.take('other', 1, 0).allowed).toBe(true);
    expect(rates.take('one', 1, 0).allowed).toBe(false);
    expect(rates.take('one', 0, 0)).toMatchObject({ allowed: true, limit: undefined });
  });

  it('of other replicas count here, are owed when they are too many, and leave none', () => {
    const rates = new CreateRates();
    for (let spent = 0; spent < 3; spent += 1) rates.spent('key', 2, 0);
    expect(rates.take('key', 2, 0)).toMatchObject({
      allowed: false,
      remaining: 0,
      resetSeconds: 2,
      retryAfterSeconds: 1,
    });
    expect(rates.take('key', 2, 999).allowed).toBe(false);
    expect(rates.take('key', 2, 1_000).allowed).toBe(true);
    for (let spent = 0; spent < 1_000; spent += 1) rates.spent('key', 2, 1_000);
    expect(rates.take('key', 2, 1_000).retryAfterSeconds).toBe(5);
  });

  it('of replicas that report to each other keep the rate in the long run, after at most one burst each', () => {
    const asks = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.nat({ max: 2 })), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(asks, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 4 }), (given, perSecond, delay) => {
        const replicas = [0, 1, 2].map(() => new CreateRates());
        const told: { readonly at: number; readonly by: number }[] = [];
        let [nowMs, allowed] = [0, 0];
        given.forEach(([gap, which], at) => {
          nowMs += gap;
          // A report reaches the other replicas some requests later.
          for (const { by } of told.filter((one) => one.at + delay === at)) {
            replicas.forEach((other, index) => index === by || other.spent('key', perSecond, nowMs));
          }
          if (replicas[which]?.take('key', perSecond, nowMs).allowed !== true) return;
          allowed += 1;
          told.push({ at, by: which });
        });
        expect(allowed).toBeLessThanOrEqual(perSecond + (nowMs / 1_000) * perSecond + delay + 1e-6);
      }),
    );
  });

  it('never exceed the burst plus the rate, whenever they come', () => {
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
  it('are as many as the limit leaves, counting creations under way', () => {
    const places = new Places();
    const first = places.take('key', { present: 1, limit: 3, wanted: 1 });
    const second = places.take('key', { present: 1, limit: 3, wanted: 1 });
    expect([first, second].every((place) => place !== undefined)).toBe(true);
    expect(places.take('key', { present: 1, limit: 3, wanted: 1 })).toBeUndefined();
    expect(places.take('other', { present: 1, limit: 3, wanted: 1 })).toBeDefined();
    first?.[Symbol.dispose]();
    first?.[Symbol.dispose]();
    expect(places.take('key', { present: 1, limit: 3, wanted: 1 })).toBeDefined();
    expect(places.take('key', { present: 1, limit: 3, wanted: 1 })).toBeUndefined();
  });

  it('are taken by the batch: a second one that would not fit is refused', () => {
    const places = new Places();
    const batch = places.take('key', { present: 0, limit: 5, wanted: 3 });
    expect(places.take('key', { present: 0, limit: 5, wanted: 3 })).toBeUndefined();
    expect(places.take('key', { present: 0, limit: 5, wanted: 2 })).toBeDefined();
    batch?.[Symbol.dispose]();
    expect(places.take('key', { present: 0, limit: 5, wanted: 3 })).toBeDefined();
  });

  it('are unlimited without a limit', () => {
    const places = new Places();
    for (let n = 0; n < 100; n += 1) expect(places.take('key', { present: n, limit: 0, wanted: 1 })).toBeDefined();
  });
});

import { describe, expect, it } from 'vitest';
import { OpenExchanges } from './open-exchanges.ts';
import type { Holder } from './open-exchanges.ts';

const LIMITS = { perSandbox: 2, perNamespace: 4, perKey: 3 };
const buildHolder = (given: Partial<Holder> = {}): Holder => ({
  uid: 'uid-1',
  namespace: 'team-a',
  keyId: undefined,
  ...given,
});

/** Opens requests until one is refused; how many were open then, and why. */
function fill(open: OpenExchanges, next: (n: number) => Partial<Holder>) {
  for (let n = 0; ; n += 1) {
    const full = open.enter(buildHolder(next(n)));
    if (full !== undefined) return { count: n, ...full };
  }
}

describe('the limit of an API key', () => {
  it('is not used up by claims of another namespace that forge its id', () => {
    const open = new OpenExchanges(LIMITS);
    const forged = (n: number) => ({ uid: `forged-${n}`, namespace: 'team-b', keyId: 'key-of-team-a' });
    expect(fill(open, forged)).toEqual({ count: 3, limit: 3, whose: 'all sandboxes of an API key together' });
    expect(open.enter(buildHolder({ keyId: 'key-of-team-a' }))).toBeUndefined();
  });
});

describe('the limit of a namespace', () => {
  it('holds for claims that name another key each, or none', () => {
    const open = new OpenExchanges(LIMITS);
    const spread = (n: number) => ({ uid: `uid-${n}`, keyId: n % 2 === 0 ? `made-up-${n}` : undefined });
    expect(fill(open, spread)).toEqual({ count: 4, limit: 4, whose: 'all sandboxes of a namespace together' });
    expect(open.enter(buildHolder({ namespace: 'team-b' }))).toBeUndefined();
  });
});

describe('a refused request', () => {
  it('takes no place, and a place that is given back serves another', () => {
    const open = new OpenExchanges(LIMITS);
    expect(fill(open, () => ({ keyId: 'key' }))).toEqual({ count: 2, limit: 2, whose: 'a sandbox' });
    expect(open.enter(buildHolder({ uid: 'uid-2', keyId: 'key' }))).toBeUndefined();
    expect(open.enter(buildHolder({ uid: 'uid-3', keyId: 'key' }))).toMatchObject({ limit: 3 });
    open.leave(buildHolder({ keyId: 'key' }));
    expect(open.enter(buildHolder({ uid: 'uid-3', keyId: 'key' }))).toBeUndefined();
  });
});

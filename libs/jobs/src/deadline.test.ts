import { describe, expect, it } from 'vitest';
import { listDeadlinesAt, formatJobId } from './deadline.ts';

describe('formatJobId', () => {
  it.each([
    [{ uid: '0d1f3a5e-7c1b', generation: 3, purpose: 'ttl' }, '0d1f3a5e-7c1b-3-ttl'],
    [{ uid: 'u', generation: 1, purpose: 'claim-timeout' }, 'u-1-claim-timeout'],
    [{ uid: 'a:b', generation: 1, purpose: 'idle' }, 'a_b-1-idle'],
  ] as const)('names %j %s, without colons', (deadline, id) => {
    expect(formatJobId(deadline)).toBe(id);
  });
});

describe('listDeadlinesAt', () => {
  const metadata = { namespace: 'team-a', name: 'box', uid: 'u', generation: 2 };
  it('names the object and leaves out purposes without a time', () => {
    expect(
      listDeadlinesAt({ metadata }, { idle: 5, ttl: undefined, shutdown: Number.NaN, retention: Infinity }),
    ).toEqual([{ key: 'team-a/box', uid: 'u', generation: 2, purpose: 'idle', dueAtMs: 5 }]);
  });
});

import { describe, expect, it } from 'vitest';
import { jobIdOf } from './deadline.ts';

describe('jobIdOf', () => {
  it.each([
    [{ uid: '0d1f3a5e-7c1b', generation: 3, purpose: 'ttl' }, '0d1f3a5e-7c1b-3-ttl'],
    [{ uid: 'u', generation: 1, purpose: 'claim-timeout' }, 'u-1-claim-timeout'],
    [{ uid: 'a:b', generation: 1, purpose: 'idle' }, 'a_b-1-idle'],
  ] as const)('names %j %s, without colons', (deadline, id) => {
    expect(jobIdOf(deadline)).toBe(id);
  });
});

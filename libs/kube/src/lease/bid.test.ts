import { describe, expect, it } from 'vitest';
import type { Lease } from '../objects/resources.ts';
import { bid, observe } from './bid.ts';
import type { Bid } from './bid.ts';

const held = (spec: Lease['spec'] = {}): Lease => ({
  metadata: { name: 'lease', uid: 'uid', resourceVersion: 'rv' },
  spec: { holderIdentity: 'other', leaseDurationSeconds: 15, leaseTransitions: 3, renewTime: 't1', ...spec },
});

describe('bid', () => {
  it.each<[string, Lease | undefined, number, Bid]>([
    ['creates a lease that does not exist, with the first term', undefined, 0, { kind: 'take', token: 1 }],
    ['takes a released lease', held({ holderIdentity: '' }), 0, { kind: 'take', token: 4 }],
    ['takes its own lease at once, with a new term', held({ holderIdentity: 'me' }), 0, { kind: 'take', token: 4 }],
    ['waits while the holder may be alive', held(), 14_999, { kind: 'wait', expiresInMs: 1 }],
    ['takes a lease that has not changed for its duration', held(), 15_000, { kind: 'take', token: 4 }],
    [
      'uses the duration in the record',
      held({ leaseDurationSeconds: 60 }),
      15_000,
      { kind: 'wait', expiresInMs: 45_000 },
    ],
    ['takes a lease without a spec', { metadata: {} }, 0, { kind: 'take', token: 1 }],
  ])('%s', (...[, lease, ageMs, expected]) => {
    expect(bid({ lease, sinceMs: 1_000 }, { identity: 'me', nowMs: 1_000 + ageMs })).toEqual(expected);
  });
});

it('takes the lease of a holder that was reported gone, but not of another holder', () => {
  const candidate = { identity: 'me', nowMs: 1_000 };
  const observation = { lease: held(), sinceMs: 1_000 };
  expect(bid(observation, { ...candidate, gone: 'other' })).toEqual({ kind: 'take', token: 4 });
  expect(bid(observation, { ...candidate, gone: 'third' })).toEqual({ kind: 'wait', expiresInMs: 15_000 });
});

describe('observation', () => {
  it.each<[string, Lease | undefined, number]>([
    ['keeps its age while the record stays the same', held(), 1_000],
    [
      'keeps its age when only metadata changed',
      { ...held(), metadata: { ...held().metadata, resourceVersion: 'other' } },
      1_000,
    ],
    ['restarts with a renewal', held({ renewTime: 't2' }), 2_000],
    ['restarts with another holder', held({ holderIdentity: 'third' }), 2_000],
    ['restarts with another object of the same name', { ...held(), metadata: { uid: 'other' } }, 2_000],
    ['restarts when the lease was deleted', undefined, 2_000],
  ])('%s', (...[, lease, sinceMs]) => {
    expect(observe({ lease: held(), sinceMs: 1_000 }, lease, 2_000)).toEqual({ lease, sinceMs });
  });

  it('starts with the first read', () => {
    expect(observe(undefined, held(), 2_000).sinceMs).toBe(2_000);
  });
});

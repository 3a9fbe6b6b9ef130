import { sandboxClaims } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';
import { BY_API_KEY } from '../wiring/cache.ts';
import { Places } from './places.ts';

/** Annotations of a claim that an API key with that limit made. */
const key = (limit: number, id = 'key-1') => ({
  'sandlot.dev/api-key-id': id,
  'sandlot.dev/api-key-sandboxes': String(limit),
});
const COLD = { sandboxTemplateRef: { name: 'template' }, warmPoolRef: undefined };

async function started(members: number): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members });
  harness.startController();
  await harness.watching();
  return harness;
}

const countOwned = (harness: ClaimHarness): number => [...harness.owned().values()].flat().length;

describe('the sandboxes of an API key', () => {
  it('never exceed its limit, however many of its claims come at once, and no other key pays for it', async () => {
    await using harness = await started(12);
    for (let index = 0; index < 8; index += 1) harness.claim(`mine-${index}`, {}, key(3));
    harness.claim('other-key', {}, key(1, 'key-2'));
    harness.claim('no-key');
    await harness.elapse(30_000);
    expect([countOwned(harness), harness.isReady('other-key'), harness.isReady('no-key')]).toEqual([5, true, true]);
    const refused = Array.from({ length: 8 }, (_, index) => harness.findReason(`mine-${index}`)).filter(
      (reason) => reason === 'QuotaExceeded',
    );
    expect(refused).toHaveLength(5);
  });

  it('count those that start cold, and those that another leader gave', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const first = harness.startController('first');
    await harness.watching();
    harness.claim('warm', {}, key(2));
    harness.claim('cold', COLD, key(2));
    await harness.eventually(() => expect(countOwned(harness)).toBe(2));
    await harness.kill(first);
    harness.startController('second');
    await harness.watching();
    harness.claim('late', {}, key(2));
    await harness.eventually(() => expect(harness.findReason('late')).toBe('QuotaExceeded'));
    expect(harness.getStatus('late').message).toContain('may have 2 sandboxes at a time');
    harness.api.remove(sandboxClaims, { namespace: 'default', name: 'warm' });
    await harness.eventually(() => expect(harness.owned().get('late')).toHaveLength(1));
  });

  it('of a batch count all together, and have the claim as their owner', async () => {
    await using harness = await started(6);
    harness.claim('large', { replicas: 4 }, key(3));
    await harness.eventually(() => expect(harness.findReason('large')).toBe('QuotaExceeded'));
    harness.claim('small', { replicas: 3 }, key(3));
    await harness.eventually(() => expect(harness.getStatus('small').claimedReplicas).toBe(3));
    harness.claim('one-more', {}, key(3));
    await harness.eventually(() => expect(harness.findReason('one-more')).toBe('QuotaExceeded'));
    const uid = harness.api.object(sandboxClaims, { namespace: 'default', name: 'small' })?.metadata.uid;
    for (const [name] of harness.slots('small').values()) {
      const [owner, ...others] = harness.sandbox(name ?? '')?.metadata.ownerReferences ?? [];
      expect([owner, others]).toMatchObject([{ kind: 'SandboxClaim', uid, controller: false }, []]);
    }
    expect(harness.slots('large')).toEqual(new Map());
  });

  it('are unlimited without a number, and a number that is none limits nothing', async () => {
    await using harness = await started(4);
    for (const [index, limit] of ['0', '-1', 'many'].entries()) {
      const annotations = { 'sandlot.dev/api-key-id': 'key-1', 'sandlot.dev/api-key-sandboxes': limit };
      harness.claim(`job-${index}`, {}, annotations);
    }
    await harness.eventually(() => expect(countOwned(harness)).toBe(3));
  });
});

describe('a place', () => {
  const mine = ['first', 'second'].map((uid) => claim({ name: uid, metadata: { annotations: key(1) } }));
  const places = () =>
    new Places({
      claims: { store: { listByIndex: (index) => (index === BY_API_KEY ? mine : []) } },
      sandboxes: { store: { listByIndex: () => [] } },
    });

  it('is taken once by two claims whose passes both saw it free', () => {
    const [counted, [first, second]] = [places(), mine];
    expect([counted.findQuota(first!), counted.findQuota(second!)]).toEqual([
      { limit: 1, taken: 0 },
      { limit: 1, taken: 0 },
    ]);
    expect([counted.admit(first!), counted.admit(second!), counted.admit(first!)]).toEqual([true, false, true]);
  });

  it('is free again once its claim is gone', () => {
    const [counted, [first, second]] = [places(), mine];
    counted.admit(first!);
    counted.forget(first!);
    expect(counted.admit(second!)).toBe(true);
  });
});

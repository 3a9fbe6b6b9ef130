import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const reads = (harness: ClaimHarness): number =>
  harness.api.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'sandboxes').length;

describe('a watch that does not show an adoption for ten seconds', () => {
  it.each([
    ['a bound claim', 1, {}],
    ['a batch', 2, { replicas: 2, claimTimeout: '5m' }],
  ])('makes %s read its Sandboxes, and adopt no others', async (_, count, spec) => {
    await using harness = await ClaimHarness.start({ members: 5 });
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.claim('job', spec);
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(9_000);
    expect(reads(harness)).toBe(0);
    await harness.elapse(2_000);
    expect(reads(harness)).toBe(count);
    stalled.end();
    await harness.elapse(500);
    expect(harness.writes().filter((write) => write === 'patch sandboxes')).toHaveLength(count);
    expect(harness.isReady('job')).toBe(true);
  });
});

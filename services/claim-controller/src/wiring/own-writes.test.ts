import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const reads = (world: ClaimWorld): number =>
  world.api.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'sandboxes').length;

describe('a watch that does not show an adoption for ten seconds', () => {
  it.each([
    ['a bound claim', 1, {}],
    ['a batch', 2, { replicas: 2, claimTimeout: '5m' }],
  ])('makes %s read its Sandboxes, and adopt no others', async (_, count, spec) => {
    await using world = await ClaimWorld.start({ members: 5 });
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.claim('job', spec);
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(9_000);
    expect(reads(world)).toBe(0);
    await world.elapse(2_000);
    expect(reads(world)).toBe(count);
    stalled.end();
    await world.elapse(500);
    expect(world.writes().filter((write) => write === 'patch sandboxes')).toHaveLength(count);
    expect(world.isReady('job')).toBe(true);
  });
});

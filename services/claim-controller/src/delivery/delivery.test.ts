import { sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const IMAGE = 'registry.test/agent:2';
const MARK = 'sandlot.dev/inplace-image';

/** With a template that allows images of `registry.test/`. */
async function started(members: number): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members });
  world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.imageOverridePolicy = { allowedImages: ['registry.test/'] };
  });
  world.startController();
  await world.watching();
  return world;
}

/** The sandbox-controller has seen the new image run: Ready is about the Sandbox as it is now. */
function finishImage(world: ClaimWorld, name: string): void {
  world.api.change(sandboxes, { namespace: 'default', name }, ({ metadata, status }) => {
    for (const condition of status?.conditions ?? []) condition.observedGeneration = metadata.generation;
  });
}

describe('a claim with an image of its own', () => {
  it('commits it with the Sandbox, and is Ready when the new image is, not before', async () => {
    await using world = await started(1);
    world.claim('job', { inplaceUpdate: { image: IMAGE } });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m001'));
    const { spec, metadata } = world.sandbox('pool-m001') ?? {};
    expect(spec?.podTemplate.spec.containers).toEqual([{ name: 'main', image: IMAGE }]);
    expect(metadata?.annotations?.[MARK]).toBe(IMAGE);
    expect(world.reasonOf('job')).toBe('SandboxNotReady');
    finishImage(world, 'pool-m001');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(60_000);
    expect(world.statusOf('job').sandbox?.name).toBe('pool-m001');
  });

  it('starts cold with it when there is no stock', async () => {
    await using world = await started(0);
    world.claim('job', { inplaceUpdate: { image: IMAGE } });
    await world.eventually(() => expect(world.sandbox('job')).toBeDefined());
    expect(world.sandbox('job')?.spec.podTemplate.spec.containers[0]?.image).toBe(IMAGE);
    expect(world.sandbox('job')?.metadata.annotations?.[MARK]).toBeUndefined();
  });

  it.each([
    ['no image at all', undefined, 'imageOverridePolicy allows no image'],
    ['other images', { allowedImages: ['ghcr.io/acme/'] }, 'it allows images that begin with "ghcr.io/acme/"'],
  ])('is refused when its template allows %s', async (_, imageOverridePolicy, detail) => {
    await using world = await started(1);
    world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
      spec.imageOverridePolicy = imageOverridePolicy;
      metadata.generation = 9;
    });
    await world.elapse(100);
    world.claim('job', { inplaceUpdate: { image: IMAGE } });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ImageOverrideRejected'));
    expect(world.statusOf('job').message).toContain(detail);
    expect(world.owned().size).toBe(0);
  });
});

describe('a delivery that is not ready in time', () => {
  const spec = { inplaceUpdate: { image: IMAGE }, waitReadyTimeout: '10s' };

  it('is given up for another one', async () => {
    await using world = await started(2);
    world.claim('job', spec);
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['pool-m002']));
    expect(world.clock.monotonic()).toBeGreaterThanOrEqual(10_000);
    expect(world.sandbox('pool-m001')).toBeUndefined();
    finishImage(world, 'pool-m002');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(world.eventReasons()).toContain('job SandboxInitFailed');
  });

  it('is kept for troubleshooting when the claim says so, owned by nobody', async () => {
    await using world = await started(2);
    world.claim('job', { ...spec, reserveFailedSandbox: true });
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['pool-m002']));
    const { metadata } = world.sandbox('pool-m001') ?? {};
    expect(metadata?.ownerReferences ?? []).toEqual([]);
    expect(metadata?.labels).toMatchObject({ 'sandlot.dev/reserved-failed': 'true', 'sandlot.dev/claim-name': 'job' });
  });

  it('five times is the end: the claim says what failed last, and takes no more', async () => {
    await using world = await started(7);
    world.claim('job', spec);
    await world.eventually(() => expect(world.statusOf('job').phase).toBe('Failed'));
    expect(world.reasonOf('job')).toBe('SandboxInitFailed');
    expect(world.statusOf('job').message).toBe(`sandbox "pool-m005" was not ready with image "${IMAGE}" within 10s`);
    await world.elapse(20_000);
    expect(world.api.objects(sandboxes)).toHaveLength(2);
    expect(world.owned().size).toBe(0);
  });

  it('is tried until the time limit of the claim, if it has one', async () => {
    await using world = await started(7);
    world.claim('job', { ...spec, claimTimeout: '15s' });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ClaimTimeout'));
    expect(world.statusOf('job')).toMatchObject({
      phase: 'Failed',
      message: 'Claimed 0 of 1 sandboxes before claimTimeout',
    });
    await world.eventually(() => expect(world.owned().size).toBe(0));
  });

  it('leaves its slot of a batch free for another one; only what is ready is shown', async () => {
    await using world = await started(4);
    world.claim('batch', { ...spec, replicas: 2 });
    await world.eventually(() =>
      expect([...world.slots('batch').values()].flat().sort()).toEqual(['pool-m001', 'pool-m002']),
    );
    finishImage(world, 'pool-m001');
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(1));
    await world.eventually(() =>
      expect([...world.slots('batch').values()].flat().sort()).toEqual(['pool-m001', 'pool-m003']),
    );
    expect(world.statusOf('batch').claimedReplicas).toBe(1);
    finishImage(world, 'pool-m003');
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expect(world.statusOf('batch').claimedReplicas).toBe(2);
  });
});

describe('the time limit of a bound claim', () => {
  it('ends its wait for stock, never early, and for good', async () => {
    await using world = await started(0);
    world.claim('job', { createOnNoStock: false, claimTimeout: '20s' });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ClaimTimeout'));
    expect(world.clock.monotonic()).toBeGreaterThanOrEqual(20_000);
    expect(world.statusOf('job')).toMatchObject({ phase: 'Failed', claimedReplicas: 0 });
    world.addMember();
    await world.elapse(5_000);
    expect(world.owned().size).toBe(0);
    expect(world.eventReasons().filter((event) => event === 'job ClaimTimeout')).toHaveLength(1);
  });

  it('takes a cold Sandbox away that is not ready by then', async () => {
    await using world = await started(0);
    world.claim('job', { claimTimeout: '20s' });
    await world.eventually(() => expect(world.sandbox('job')).toBeDefined());
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ClaimTimeout'));
    expect(world.sandbox('job')).toBeUndefined();
    expect(world.statusOf('job').sandbox).toBeUndefined();
  });

  it('is of no concern to a claim that was served', async () => {
    await using world = await started(2);
    world.claim('job', { claimTimeout: '2s' });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(10_000);
    expect(world.isReady('job')).toBe(true);
    world.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m002'));
  });
});

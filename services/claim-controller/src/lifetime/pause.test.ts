import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const START_MS = Date.UTC(2026, 0, 1, 12);
const at = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString().replace('.000Z', 'Z');

const paused = (endAt: string, more: Record<string, string> = {}): Record<string, string> => ({
  'sandlot.dev/on-timeout': 'pause',
  'sandlot.dev/end-at': endAt,
  ...more,
});

/** A claim that was served, with these annotations. */
async function served(annotations: Record<string, string>): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members: 1 });
  world.startController();
  await world.watching();
  world.claim('job', {}, annotations);
  await world.eventually(() => expect(world.isReady('job')).toBe(true));
  return world;
}

const spec = (world: ClaimWorld): Partial<Sandbox['spec']> => world.sandbox('pool-m001')?.spec ?? {};

/** The sandbox-controller tells that it has suspended the Sandbox. */
function tellSuspended(world: ClaimWorld): void {
  world.makeUnready('pool-m001');
  world.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, ({ status }) => {
    const lastTransitionTime = at(0);
    status?.conditions?.push({
      type: 'Suspended',
      status: 'True',
      reason: 'PodTerminated',
      message: '',
      lastTransitionTime,
    });
  });
}

/** Somebody wakes the Sandbox, and the sandbox-controller tells when. */
function wake(world: ClaimWorld, resumedAt: string | undefined): void {
  world.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, (sandbox) => {
    sandbox.spec.operatingMode = 'Running';
    if (resumedAt === undefined || sandbox.status === undefined) return;
    sandbox.status.resumedAt = resumedAt;
    sandbox.status.conditions = sandbox.status.conditions?.filter(({ type }) => type !== 'Suspended') ?? [];
  });
}

describe('a claim whose Sandbox is paused at its end', () => {
  it('is suspended then, never early, and the record says by whom', async () => {
    await using world = await served(paused(at(20)));
    await world.eventually(() => expect(spec(world).operatingMode).toBe('Suspended'));
    expect(world.clock.now()).toBeGreaterThanOrEqual(START_MS + 20_000);
    expect(world.sandbox('pool-m001')?.metadata.annotations?.['sandlot.dev/suspended-by']).toBe('API');
    tellSuspended(world);
    await world.elapse(60_000);
    expect(world.annotationsOf('job')['sandlot.dev/end-at']).toBe(at(20));
  });

  it('is left alone when it ends otherwise', async () => {
    await using world = await served({ 'sandlot.dev/on-timeout': 'kill', 'sandlot.dev/end-at': at(5) });
    await world.elapse(20_000);
    expect(spec(world).operatingMode).toBeUndefined();
  });

  it.each([
    ['five minutes', {}, 300],
    ['what it was given before, if that is more', { 'sandlot.dev/timeout-seconds': '900' }, 900],
  ])('has %s anew from when it was woken', async (_, more, seconds) => {
    await using world = await served(paused(at(10), more));
    await world.eventually(() => expect(spec(world).operatingMode).toBe('Suspended'));
    tellSuspended(world);
    wake(world, at(40));
    await world.eventually(() => expect(world.annotationsOf('job')['sandlot.dev/end-at']).toBe(at(40 + seconds)));
    expect(spec(world).operatingMode).toBe('Running');
  });

  it('is not suspended again while its status does not tell yet that it was woken', async () => {
    await using world = await served(paused(at(10)));
    await world.eventually(() => expect(spec(world).operatingMode).toBe('Suspended'));
    wake(world, undefined);
    await world.eventually(() => expect(world.annotationsOf('job')['sandlot.dev/end-at']).not.toBe(at(10)));
    expect(spec(world).operatingMode).toBe('Running');
  });

  it('is kept as long as it says, and no longer once it was woken', async () => {
    await using world = await served(paused(at(10), { 'sandlot.dev/paused-retention': '1h' }));
    const lifecycle = () => world.api.object(sandboxClaims, { namespace: 'default', name: 'job' })?.spec.lifecycle;
    await world.eventually(() => expect(lifecycle()?.shutdownTime).toBe(at(3_610)));
    expect(lifecycle()?.shutdownPolicy).toBe('Delete');
    tellSuspended(world);
    wake(world, at(60));
    await world.eventually(() => expect(lifecycle()?.shutdownTime).toBeUndefined());
  });
});

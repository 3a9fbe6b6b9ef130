import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const START_MS = Date.UTC(2026, 0, 1, 12);
const at = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString().replace('.000Z', 'Z');

const paused = (endAt: string, more: Record<string, string> = {}): Record<string, string> => ({
  'sandlot.dev/on-timeout': 'pause',
  'sandlot.dev/end-at': endAt,
  ...more,
});

/** A served claim with these annotations. */
async function served(annotations: Record<string, string>): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 1 });
  harness.startController();
  await harness.watching();
  harness.claim('job', {}, annotations);
  await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  return harness;
}

const spec = (harness: ClaimHarness): Partial<Sandbox['spec']> => harness.sandbox('pool-m001')?.spec ?? {};

/** The sandbox-controller reports that it has suspended the Sandbox. */
function tellSuspended(harness: ClaimHarness): void {
  harness.makeUnready('pool-m001');
  harness.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, ({ status }) => {
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

/** A request wakes the Sandbox, and the sandbox-controller reports when. */
function wake(harness: ClaimHarness, resumedAt: string | undefined): void {
  harness.api.change(sandboxes, { namespace: 'default', name: 'pool-m001' }, (sandbox) => {
    sandbox.spec.operatingMode = 'Running';
    if (resumedAt === undefined || sandbox.status === undefined) return;
    sandbox.status.resumedAt = resumedAt;
    sandbox.status.conditions = sandbox.status.conditions?.filter(({ type }) => type !== 'Suspended') ?? [];
  });
}

describe('a claim whose Sandbox is paused at its end', () => {
  it('is suspended then, never early, and the annotation names the actor', async () => {
    await using harness = await served(paused(at(20)));
    await harness.eventually(() => expect(spec(harness).operatingMode).toBe('Suspended'));
    expect(harness.clock.now()).toBeGreaterThanOrEqual(START_MS + 20_000);
    expect(harness.sandbox('pool-m001')?.metadata.annotations?.['sandlot.dev/suspended-by']).toBe('API');
    tellSuspended(harness);
    await harness.elapse(60_000);
    expect(harness.getAnnotations('job')['sandlot.dev/end-at']).toBe(at(20));
  });

  it.each([
    ['its files alone, if the claim says so', { 'sandlot.dev/auto-pause-memory': 'false' }, true],
    ['what its strategy says, if the claim does not', {}, false],
  ])('keeps %s', async (_, more, isFiles) => {
    await using harness = await served(paused(at(20), more));
    await harness.eventually(() => expect(spec(harness).operatingMode).toBe('Suspended'));
    const { generation, annotations = {} } = harness.sandbox('pool-m001')?.metadata ?? {};
    expect(annotations['sandlot.dev/pause-keeps-files']).toBe(isFiles ? String(generation) : undefined);
  });

  it('is left alone when its claim ends in another way', async () => {
    await using harness = await served({ 'sandlot.dev/on-timeout': 'kill', 'sandlot.dev/end-at': at(5) });
    await harness.elapse(20_000);
    expect(spec(harness).operatingMode).toBeUndefined();
  });

  it.each([
    ['five minutes', {}, 300],
    ['its earlier timeout if that is longer', { 'sandlot.dev/timeout-seconds': '900' }, 900],
  ])('gets %s more from its wake', async (_, more, seconds) => {
    await using harness = await served(paused(at(10), more));
    await harness.eventually(() => expect(spec(harness).operatingMode).toBe('Suspended'));
    tellSuspended(harness);
    wake(harness, at(40));
    await harness.eventually(() => expect(harness.getAnnotations('job')['sandlot.dev/end-at']).toBe(at(40 + seconds)));
    expect(spec(harness).operatingMode).toBe('Running');
  });

  it('is not suspended again while its status does not show the wake yet', async () => {
    await using harness = await served(paused(at(10)));
    await harness.eventually(() => expect(spec(harness).operatingMode).toBe('Suspended'));
    wake(harness, undefined);
    await harness.eventually(() => expect(harness.getAnnotations('job')['sandlot.dev/end-at']).not.toBe(at(10)));
    expect(spec(harness).operatingMode).toBe('Running');
  });

  it('is kept as long as the claim says, and loses that limit when it is woken', async () => {
    await using harness = await served(paused(at(10), { 'sandlot.dev/paused-retention': '1h' }));
    const lifecycle = () => harness.api.object(sandboxClaims, { namespace: 'default', name: 'job' })?.spec.lifecycle;
    await harness.eventually(() => expect(lifecycle()?.shutdownTime).toBe(at(3_610)));
    expect(lifecycle()?.shutdownPolicy).toBe('Delete');
    tellSuspended(harness);
    wake(harness, at(60));
    await harness.eventually(() => expect(lifecycle()?.shutdownTime).toBeUndefined());
  });
});

import { sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const IMAGE = 'registry.test/agent:2';
const MARK = 'sandlot.dev/inplace-image';

/** Starts with a template that allows images of `registry.test/`. */
async function started(members: number): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members });
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.imageOverridePolicy = { allowedImages: ['registry.test/'] };
  });
  harness.startController();
  await harness.watching();
  return harness;
}

/** The sandbox-controller has seen the new image run: Ready has the current generation. */
function finishImage(harness: ClaimHarness, name: string): void {
  harness.api.change(sandboxes, { namespace: 'default', name }, ({ metadata, status }) => {
    for (const condition of status?.conditions ?? []) condition.observedGeneration = metadata.generation;
  });
}

describe('a claim with an image of its own', () => {
  it('sets it in the adoption patch, and becomes Ready only when the new image runs', async () => {
    await using harness = await started(1);
    harness.claim('job', { inplaceUpdate: { image: IMAGE } });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    const { spec, metadata } = harness.sandbox('pool-m001') ?? {};
    expect(spec?.podTemplate.spec.containers).toEqual([{ name: 'main', image: IMAGE }]);
    expect(metadata?.annotations?.[MARK]).toBe(IMAGE);
    expect(harness.findReason('job')).toBe('SandboxNotReady');
    finishImage(harness, 'pool-m001');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(60_000);
    expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001');
  });

  it('starts cold with the image when there is no stock', async () => {
    await using harness = await started(0);
    harness.claim('job', { inplaceUpdate: { image: IMAGE } });
    await harness.eventually(() => expect(harness.sandbox('job')).toBeDefined());
    expect(harness.sandbox('job')?.spec.podTemplate.spec.containers[0]?.image).toBe(IMAGE);
    expect(harness.sandbox('job')?.metadata.annotations?.[MARK]).toBeUndefined();
  });

  it.each([
    ['no image at all', undefined, 'imageOverridePolicy allows no image'],
    ['other images', { allowedImages: ['ghcr.io/acme/'] }, 'it allows images that begin with "ghcr.io/acme/"'],
  ])('is refused when its template allows %s', async (_, imageOverridePolicy, detail) => {
    await using harness = await started(1);
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
      spec.imageOverridePolicy = imageOverridePolicy;
      metadata.generation = 9;
    });
    await harness.elapse(100);
    harness.claim('job', { inplaceUpdate: { image: IMAGE } });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ImageOverrideRejected'));
    expect(harness.getStatus('job').message).toContain(detail);
    expect(harness.owned().size).toBe(0);
  });
});

describe('a claim with CPU of its own', () => {
  const CPU_MARK = 'sandlot.dev/inplace-cpu';
  const SMALL = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
  const asked = { resources: { requests: { cpu: '1' }, limits: { cpu: 2 } } };
  const given = { requests: { cpu: '1', memory: '64Mi' }, limits: { cpu: 2, memory: '64Mi' } };

  /** The template and its members have these resources. */
  async function startedSized(members: number, policy: object | undefined = { maxCPU: '4' }): Promise<ClaimHarness> {
    const harness = await ClaimHarness.start({ members });
    const resources = { requests: { ...SMALL.requests }, limits: { ...SMALL.limits } };
    const setResources = ({ podTemplate }: { podTemplate: { spec: { containers: object[] } } }): void => {
      podTemplate.spec.containers = podTemplate.spec.containers.map((container) => ({ ...container, resources }));
    };
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      setResources(spec);
      Object.assign(spec, {
        resourcesOverridePolicy: policy,
        imageOverridePolicy: { allowedImages: ['registry.test/'] },
      });
    });
    for (const { metadata } of harness.api.objects(sandboxes)) {
      const key = { namespace: 'default', name: metadata.name ?? '' };
      harness.api.change(sandboxes, key, ({ spec }) => setResources(spec));
    }
    harness.startController();
    await harness.watching();
    return harness;
  }

  it('sets it in the adoption patch, and becomes Ready only when the node has set it', async () => {
    await using harness = await startedSized(1);
    harness.claim('job', { inplaceUpdate: asked });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    const { spec, metadata } = harness.sandbox('pool-m001') ?? {};
    expect(spec?.podTemplate.spec.containers[0]?.resources).toEqual(given);
    expect(metadata?.annotations?.[CPU_MARK]).toBe('request=1,limit=2');
    expect(metadata?.annotations?.[MARK]).toBeUndefined();
    expect(harness.findReason('job')).toBe('SandboxNotReady');
    finishImage(harness, 'pool-m001');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  });

  it('sets image and CPU together', async () => {
    await using harness = await startedSized(1);
    harness.claim('job', { inplaceUpdate: { image: IMAGE, ...asked } });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    const { spec, metadata } = harness.sandbox('pool-m001') ?? {};
    expect(spec?.podTemplate.spec.containers).toEqual([expect.objectContaining({ image: IMAGE, resources: given })]);
    expect(metadata?.annotations).toMatchObject({ [MARK]: IMAGE, [CPU_MARK]: 'request=1,limit=2' });
  });

  it('leaves no mark when the member has the CPU already', async () => {
    await using harness = await startedSized(1);
    harness.claim('job', { inplaceUpdate: { resources: { requests: { cpu: '0.1' } } } });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    expect(harness.sandbox('pool-m001')?.metadata.annotations?.[CPU_MARK]).toBeUndefined();
  });

  it('starts cold with the CPU when there is no stock', async () => {
    await using harness = await startedSized(0);
    harness.claim('job', { inplaceUpdate: asked });
    await harness.eventually(() => expect(harness.sandbox('job')).toBeDefined());
    expect(harness.sandbox('job')?.spec.podTemplate.spec.containers[0]?.resources).toEqual(given);
    expect(harness.sandbox('job')?.metadata.annotations?.[CPU_MARK]).toBeUndefined();
  });

  it.each([
    ['allows no CPU', undefined, 'the template has no resourcesOverridePolicy'],
    ['allows less', { maxCPU: '1500m' }, 'cpu limit "2" is above maxCPU "1500m"'],
  ])('is refused when its template %s', async (_, policy, detail) => {
    await using harness = await startedSized(1);
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
      Object.assign(spec, { resourcesOverridePolicy: policy });
      metadata.generation = 9;
    });
    await harness.elapse(100);
    harness.claim('job', { inplaceUpdate: asked });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ResourcesOverrideRejected'));
    expect(harness.getStatus('job')).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining(detail) as string,
    });
    expect(harness.owned().size).toBe(0);
  });

  it('is given up for another Sandbox with the words of the node, after its time', async () => {
    await using harness = await startedSized(7);
    const words =
      'the node of the Pod can never give it the CPU that the claim asks for: Node didn’t have enough capacity';
    harness.api.onChange(sandboxes, () => {
      for (const { metadata, status } of harness.api.objects(sandboxes)) {
        const [ready] = (status?.conditions ?? []).filter(({ type }) => type === 'Ready');
        if (metadata.annotations?.[CPU_MARK] === undefined || ready?.reason === 'ResizeInfeasible') continue;
        harness.api.change(sandboxes, { namespace: 'default', name: metadata.name ?? '' }, (sandbox) => {
          const refused = { status: 'False', reason: 'ResizeInfeasible', message: words } as const;
          for (const condition of sandbox.status?.conditions ?? []) {
            if (condition.type === 'Ready')
              Object.assign(condition, refused, { observedGeneration: metadata.generation });
          }
        });
      }
    });
    harness.claim('job', { inplaceUpdate: asked, waitReadyTimeout: '10s' });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ResizeInfeasible'));
    expect(harness.getStatus('job').conditions?.find(({ type }) => type === 'Ready')?.message).toBe(words);
    await harness.eventually(() => expect(harness.getStatus('job').phase).toBe('Failed'));
    expect(harness.getStatus('job').message).toBe(
      `sandbox "pool-m005" was not ready with cpu request "1" and cpu limit "2" within 10s: ${words}`,
    );
    expect(harness.owned().size).toBe(0);
  });
});

describe('a delivery that is not ready in time', () => {
  const spec = { inplaceUpdate: { image: IMAGE }, waitReadyTimeout: '10s' };

  it('is given up for another Sandbox', async () => {
    await using harness = await started(2);
    harness.claim('job', spec);
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m002']));
    expect(harness.clock.monotonic()).toBeGreaterThanOrEqual(10_000);
    expect(harness.sandbox('pool-m001')).toBeUndefined();
    finishImage(harness, 'pool-m002');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.eventReasons()).toContain('job SandboxInitFailed');
  });

  it('is kept for troubleshooting without an owner when the claim asks for that', async () => {
    await using harness = await started(2);
    harness.claim('job', { ...spec, reserveFailedSandbox: true });
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m002']));
    const { metadata } = harness.sandbox('pool-m001') ?? {};
    expect(metadata?.ownerReferences ?? []).toEqual([]);
    expect(metadata?.labels).toMatchObject({ 'sandlot.dev/reserved-failed': 'true', 'sandlot.dev/claim-name': 'job' });
  });

  it('is kept for the time that the claim says, which the Sandbox itself records', async () => {
    await using harness = await started(2);
    harness.claim('job', { ...spec, reserveFailedSandbox: true, reserveFailedSandboxFor: '10m' });
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m002']));
    const kept = harness.sandbox('pool-m001');
    expect(kept?.metadata.ownerReferences ?? []).toEqual([]);
    expect(kept?.spec.shutdownPolicy).toBe('Delete');
    const leftMs = Date.parse(kept?.spec.shutdownTime ?? '') - harness.clock.now();
    expect(leftMs).toBeGreaterThan(590_000);
    expect(leftMs).toBeLessThanOrEqual(601_000);
    expect(harness.sandbox('pool-m002')?.spec.shutdownTime).toBeUndefined();
  });

  it('fails the claim after five tries, with the last failure in its status', async () => {
    await using harness = await started(7);
    harness.claim('job', spec);
    await harness.eventually(() => expect(harness.getStatus('job').phase).toBe('Failed'));
    expect(harness.findReason('job')).toBe('SandboxInitFailed');
    expect(harness.getStatus('job').message).toBe(`sandbox "pool-m005" was not ready with image "${IMAGE}" within 10s`);
    await harness.elapse(20_000);
    expect(harness.api.objects(sandboxes)).toHaveLength(2);
    expect(harness.owned().size).toBe(0);
  });

  it('is retried until the time limit of the claim, if it has one', async () => {
    await using harness = await started(7);
    harness.claim('job', { ...spec, claimTimeout: '15s' });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ClaimTimeout'));
    expect(harness.getStatus('job')).toMatchObject({
      phase: 'Failed',
      message: 'Claimed 0 of 1 sandboxes before claimTimeout',
    });
    await harness.eventually(() => expect(harness.owned().size).toBe(0));
  });

  it('frees its slot of a batch for another Sandbox, and only ready ones are shown', async () => {
    await using harness = await started(4);
    harness.claim('batch', { ...spec, replicas: 2 });
    await harness.eventually(() =>
      expect([...harness.slots('batch').values()].flat().sort()).toEqual(['pool-m001', 'pool-m002']),
    );
    finishImage(harness, 'pool-m001');
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(1));
    await harness.eventually(() =>
      expect([...harness.slots('batch').values()].flat().sort()).toEqual(['pool-m001', 'pool-m003']),
    );
    expect(harness.getStatus('batch').claimedReplicas).toBe(1);
    finishImage(harness, 'pool-m003');
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expect(harness.getStatus('batch').claimedReplicas).toBe(2);
  });
});

describe('the time limit of a bound claim', () => {
  it('ends its wait for stock for good, never early', async () => {
    await using harness = await started(0);
    harness.claim('job', { createOnNoStock: false, claimTimeout: '20s' });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ClaimTimeout'));
    expect(harness.clock.monotonic()).toBeGreaterThanOrEqual(20_000);
    expect(harness.getStatus('job')).toMatchObject({ phase: 'Failed', claimedReplicas: 0 });
    harness.addMember();
    await harness.elapse(5_000);
    expect(harness.owned().size).toBe(0);
    expect(harness.eventReasons().filter((event) => event === 'job ClaimTimeout')).toHaveLength(1);
  });

  it('deletes a cold Sandbox that is not ready by then', async () => {
    await using harness = await started(0);
    harness.claim('job', { claimTimeout: '20s' });
    await harness.eventually(() => expect(harness.sandbox('job')).toBeDefined());
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ClaimTimeout'));
    expect(harness.sandbox('job')).toBeUndefined();
    expect(harness.getStatus('job').sandbox).toBeUndefined();
  });

  it('does not affect a served claim', async () => {
    await using harness = await started(2);
    harness.claim('job', { claimTimeout: '2s' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(10_000);
    expect(harness.isReady('job')).toBe(true);
    harness.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002'));
  });
});

import { annotations, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const TRAINED = { snapshotName: 'trained', onFailure: 'Fail' } as const;

/** A template that starts from a snapshot, and a pool of it without members. */
async function start(): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start();
  harness.api.seed(sandboxTemplates, template({ spec: { restoreFrom: TRAINED } }));
  harness.api.seed(sandboxWarmPools, pool());
  return harness;
}

function made(harness: ClaimHarness): readonly Sandbox[] {
  return harness.api.objects(sandboxes);
}

/** Gives the template another snapshot, or none. */
function changeTemplate(harness: ClaimHarness, restoreFrom: typeof TRAINED | undefined): void {
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ metadata, spec }) => {
    spec.restoreFrom = restoreFrom;
    metadata.generation = (metadata.generation ?? 1) + 1;
  });
}

describe('a claim on a template that starts from a snapshot', () => {
  const shapes: readonly (readonly [string, Partial<SandboxClaim['spec']>])[] = [
    ['by its template, as in v1alpha1', { sandboxTemplateRef: { name: 'template' }, warmpool: 'none' }],
    ['by its template alone', { sandboxTemplateRef: { name: 'template' } }],
    ['by its pool, as in v1beta1', { warmPoolRef: { name: 'pool' } }],
  ];
  it.each(shapes)('gets a cold Sandbox that starts from it, %s', async (_, spec) => {
    await using harness = await start();
    harness.startController();
    harness.claim('job', spec);
    await harness.eventually(() => expect(made(harness)).toHaveLength(1));
    expect(harness.sandbox('job')?.spec.restoreFrom).toEqual(TRAINED);
  });

  it('gets such a Sandbox in each slot of a batch', async () => {
    await using harness = await start();
    harness.startController();
    harness.claim('batch', { replicas: 3 });
    await harness.eventually(() => expect(made(harness)).toHaveLength(3));
    expect(made(harness).map(({ spec }) => spec.restoreFrom)).toEqual([TRAINED, TRAINED, TRAINED]);
  });

  it('prefers a member that started from it to members of before', async () => {
    await using harness = await start();
    changeTemplate(harness, undefined);
    for (let index = 0; index < 3; index += 1) harness.addMember();
    changeTemplate(harness, TRAINED);
    const current = harness.addMember();
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.getStatus('job').sandbox?.name).toBe(current);
  });

  it('gets no member of before where pools replace them', async () => {
    await using harness = await ClaimHarness.start();
    harness.api.seed(sandboxTemplates, template());
    harness.api.seed(sandboxWarmPools, pool({ spec: { updateStrategy: { type: 'Recreate' } } }));
    harness.addMember();
    changeTemplate(harness, TRAINED);
    harness.startController();
    harness.claim('job');
    await harness.eventually(() => expect(harness.sandbox('job')?.spec.restoreFrom).toEqual(TRAINED));
    expect(made(harness)).toHaveLength(2);
  });

  it('cannot say by its metadata that the start is over, nor what it was', async () => {
    await using harness = await start();
    harness.startController();
    const forged = { [annotations.startMemory]: 'uid-of-a-hibernation', [annotations.restoreSnapshot]: 'x' };
    harness.claim('job', {}, forged);
    harness.claim('other', { additionalPodMetadata: { annotations: forged } });
    await harness.eventually(() => expect(harness.findReason('other')).toBe('InvalidMetadata'));
    await harness.eventually(() => expect(made(harness)).toHaveLength(1));
    expect(JSON.stringify(made(harness))).not.toContain('uid-of-a-hibernation');
    expect(harness.sandbox('job')?.metadata.annotations).not.toHaveProperty([annotations.startMemory]);
  });
});

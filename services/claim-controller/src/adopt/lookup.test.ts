import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const NOTE = 'agents.x-k8s.io/sandbox-name';

async function started(members: number): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members });
  harness.startController();
  await harness.watching();
  return harness;
}

describe('a claim that names a Sandbox', () => {
  it.each([
    ['as an annotation', { annotations: { [NOTE]: 'pool-m002' } }],
    ['as a label, by an old release', { labels: { [NOTE]: 'pool-m002' } }],
  ])('%s adopts that one, although another is first in line', async (_, metadata) => {
    await using harness = await started(3);
    harness.api.seed(sandboxClaims, { ...claim(), metadata: { namespace: 'default', name: 'job', ...metadata } });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002'));
    await harness.eventually(() => expect(harness.getAnnotations('job')[NOTE]).toBe('pool-m002'));
    await harness.eventually(() => {
      const { labels } = harness.api.object(sandboxClaims, { namespace: 'default', name: 'job' })?.metadata ?? {};
      expect(labels?.[NOTE]).toBeUndefined();
    });
    await harness.elapse(1_000);
    expect(harness.writes().sort()).toEqual(['patch sandboxclaims', 'patch sandboxclaims/status', 'patch sandboxes']);
  });

  it.each([
    ['is gone', (): void => undefined],
    ['belongs to another claim', (harness: ClaimHarness): void => seedOwned(harness, 'SandboxClaim')],
    [
      'belongs to a pool that the claim does not name',
      (harness: ClaimHarness): void => seedOwned(harness, 'SandboxWarmPool'),
    ],
    ['has no owner', (harness: ClaimHarness): void => void harness.api.seed(sandboxes, sandbox({ name: 'noted' }))],
  ])('that %s adopts another one, and corrects the annotation', async (_, prepare) => {
    await using harness = await ClaimHarness.start({ members: 1 });
    prepare(harness);
    harness.startController();
    harness.claim('job', {}, { [NOTE]: 'noted' });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    await harness.eventually(() => expect(harness.getAnnotations('job')[NOTE]).toBe('pool-m001'));
  });

  it('that loses the named Sandbox to another claim adopts the next one', async () => {
    await using harness = await started(2);
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    harness.claim('job', {}, { [NOTE]: 'pool-m001' });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002'));
    stalled.end();
  });
});

describe('a claim that rules out a cold start', () => {
  it('reports a conflict when others were faster, and is served when there is stock again', async () => {
    await using harness = await started(1);
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    harness.claim('job', { createOnNoStock: false });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('AdoptionConflict'));
    expect(harness.getStatus('job').message).toMatch(/; the next pass retries from a converged view$/);
    stalled.end();
    await harness.eventually(() => expect(harness.findReason('job')).toBe('WaitingForStock'));
    const member = harness.addMember();
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe(member));
  });
});

describe('a claim with the name of a Sandbox', () => {
  it('that it owns shows it', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.claim('job');
    const { uid = '' } = harness.api.object(sandboxClaims, { namespace: 'default', name: 'job' })?.metadata ?? {};
    const apiVersion = 'extensions.agents.x-k8s.io/v1alpha1';
    const owner = { apiVersion, kind: 'SandboxClaim', name: 'job', uid, controller: true };
    harness.api.seed(sandboxes, sandbox({ name: 'job', metadata: { ownerReferences: [owner] } }));
    harness.startController();
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    expect(harness.api.objects(sandboxes)).toHaveLength(1);
  });
});

describe('a thousand claims of one namespace', () => {
  it('delay the claim of another by a handful of passes', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxclaims' });
    const spec = { warmPoolRef: { name: 'nowhere' } };
    for (let index = 0; index < 1_000; index += 1) {
      harness.api.seed(sandboxClaims, { ...claim({ spec }), metadata: { namespace: 'busy', name: `c${index}` } });
    }
    harness.api.seed(sandboxClaims, { ...claim({ spec }), metadata: { namespace: 'quiet', name: 'c' } });
    stalled.end();
    const order = await harness.eventually(() => {
      const namespaces = harness.api.writes().map(({ namespace }) => namespace);
      expect(namespaces).toContain('quiet');
      return namespaces;
    });
    expect(order.indexOf('quiet')).toBeLessThan(100);
  });
});

function seedOwned(harness: ClaimHarness, kind: string): void {
  const apiVersion = 'extensions.agents.x-k8s.io/v1beta1';
  const owner = { apiVersion, kind, name: 'other', uid: 'uid-other', controller: true };
  harness.api.garbageCollector.pause();
  harness.api.seed(sandboxes, sandbox({ name: 'noted', metadata: { ownerReferences: [owner] } }));
}

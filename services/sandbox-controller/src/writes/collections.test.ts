import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WORK } from '../../test/builders.ts';
import { Harness, KEY } from '../../test/harness.ts';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
  await h.startController();
});
afterEach(() => h[Symbol.asyncDispose]());

const countWrites = (write: string): number => h.writes().filter((one) => one === write).length;

/** An old report of activity enqueues the Sandbox, although no watch shows anything. */
async function runPass(): Promise<void> {
  const { metadata } = h.sandbox();
  h.bus.reportActivity({ ...KEY, uid: metadata.uid ?? '', atMs: 0 });
  await h.elapse(100);
}

async function createReady(spec: Partial<Sandbox['spec']> = {}): Promise<void> {
  h.create({ service: true, volumeClaimTemplates: [WORK], ...spec });
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  await h.untilReady();
}

describe('while no watch shows the children', () => {
  const CREATES = ['create persistentvolumeclaims', 'create pods', 'create services'];

  beforeEach(async () => {
    for (const resource of ['pods', 'services', 'persistentvolumeclaims']) h.api.faults.stallWatches({ resource });
    h.create({ service: true, volumeClaimTemplates: [WORK] });
    await h.until(() => h.serviceNames().length > 0 && h.pod() !== undefined, 'the children exist');
  });

  it.each(CREATES)('does not repeat "%s" in the next passes', async (create) => {
    await runPass();
    await runPass();
    expect(countWrites(create)).toBe(1);
  });

  it('trusts the cache again after five seconds, and then finds its own Pod by its name', async () => {
    await h.elapse(12_000);
    expect(countWrites('create pods')).toBeGreaterThan(1);
    expect(h.api.objects(pods)).toHaveLength(1);
  });
});

describe('while no watch shows a deletion', () => {
  beforeEach(async () => {
    await createReady();
    h.api.faults.stallWatches({ resource: 'pods' });
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'the Pod is terminating');
  });

  it('does not delete the Pod again', async () => {
    await runPass();
    await runPass();
    expect(countWrites('delete pods')).toBe(1);
  });

  it('reports the Sandbox as suspending', async () => {
    await h.until(() => h.status().phase === 'Suspending', 'the Sandbox is suspending');
  });
});

describe('while no watch shows a write to the Sandbox', () => {
  it('writes the status and the name of the Pod once', async () => {
    h.create();
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.api.faults.stallWatches({ resource: 'sandboxes' });
    h.runPod();
    await h.untilReady();
    const writes = h.writes();
    await runPass();
    await runPass();
    expect(h.writes()).toEqual(writes);
  });

  it('removes the name of the Pod once', async () => {
    await createReady();
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'the Pod is terminating');
    h.api.faults.stallWatches({ resource: 'sandboxes' });
    h.removePod();
    await h.until(() => h.status().phase === 'Suspended', 'the Sandbox is suspended');
    const writes = h.writes();
    await runPass();
    expect(h.writes()).toEqual(writes);
    expect(h.sandbox().metadata.annotations?.['agents.x-k8s.io/pod-name']).toBeUndefined();
  });

  it('suspends the Sandbox once, although the cache shows an earlier generation', async () => {
    await createReady({ idle: { suspendAfterSeconds: 60 } });
    h.api.faults.stallWatches({ resource: 'sandboxes' });
    await h.until(() => h.status().phase === 'Suspending', 'the Sandbox is suspending');
    const writes = h.writes();
    await runPass();
    expect(h.writes()).toEqual(writes);
    expect(h.sandbox().spec.operatingMode).toBe('Suspended');
  });

  it('acts on an edit as soon as a watch shows it', async () => {
    await createReady();
    const stall = h.api.faults.stallWatches({ resource: 'sandboxes' });
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await runPass();
    expect(h.pod()?.metadata.deletionTimestamp).toBeUndefined();
    stall.end();
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'the Pod is terminating');
  });

  it('ends its passes when the Sandbox is gone', async () => {
    await createReady();
    const stall = h.api.faults.stallWatches({ resource: 'sandboxes' });
    h.api.remove(sandboxes, KEY);
    const writes = h.writes();
    stall.end();
    await h.elapse(6_000);
    expect(h.writes()).toEqual(writes);
  });
});

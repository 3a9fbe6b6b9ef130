import { findCondition, sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await Platform.start();
  await platform.startControllers({});
});
afterAll(() => platform[Symbol.asyncDispose]());

async function create(namespace: string, name: string, spec: Partial<SandboxClaimSpec>): Promise<void> {
  const whole = { warmPoolRef: { name: 'pool' }, ...spec };
  await platform.client.create(sandboxClaims, { metadata: { namespace, name }, spec: whole });
}

const read = (namespace: string, name: string): Promise<SandboxClaim> =>
  platform.client.get(sandboxClaims, { namespace, name });
const findReason = ({ status }: SandboxClaim): string | undefined => findCondition(status?.conditions, 'Ready')?.reason;

async function untilReason(namespace: string, name: string, reason: string): Promise<SandboxClaim> {
  await platform.until(async () => findReason(await read(namespace, name)) === reason);
  return read(namespace, name);
}

describe('a batch', () => {
  it('of a hundred from a full pool costs one write per Sandbox and a handful for the claim', async () => {
    await platform.fillPool('hundred', 100);
    await create('hundred', 'batch', { replicas: 100 });
    const { status } = await untilReason('hundred', 'batch', 'AllReplicasClaimed');
    expect(status).toMatchObject({ phase: 'Completed', claimedReplicas: 100, readyReplicas: 100 });
    expect(status?.sandboxes?.map(({ slot }) => slot)).toEqual(Array.from({ length: 100 }, (_, slot) => slot));
    expect(status?.sandboxes?.every(({ origin }) => origin === 'Warm')).toBe(true);
    const labelSelector = 'sandlot.dev/claim-name=batch';
    const { items } = await platform.client.listAll(sandboxes, { namespace: 'hundred', labelSelector });
    expect(new Set(items.map(({ metadata }) => metadata.labels?.['sandlot.dev/claim-slot'])).size).toBe(100);
    expect(items.flatMap(({ metadata }) => metadata.ownerReferences ?? [])).toEqual([]);
    const writes = await platform.readWrites('claim-controller', 'hundred');
    expect(writes.filter((write) => write === 'patch sandboxes')).toHaveLength(100);
    expect(writes.filter((write) => write !== 'patch sandboxes').length).toBeLessThanOrEqual(8);
  });

  it('keeps a part when its time is over, and is deleted alone after its completion', async () => {
    await platform.fillPool('partial', 2);
    const spec = { replicas: 500, createOnNoStock: false, claimTimeout: '2s', ttlSecondsAfterCompleted: 2 };
    await create('partial', 'batch', spec);
    const { status } = await untilReason('partial', 'batch', 'ClaimTimeout');
    const claimed = status?.claimedReplicas ?? 0;
    expect(claimed).toBeGreaterThanOrEqual(2);
    expect(status?.message).toBe(`Claimed ${claimed} of 500 sandboxes before claimTimeout`);
    await platform.until(async () => (await platform.claims('partial')).length === 0);
    const labelSelector = 'sandlot.dev/claim-name=batch';
    const left = await platform.client.listAll(sandboxes, { namespace: 'partial', labelSelector });
    expect(left.items).toHaveLength(claimed);
  });

  it('is accepted with a thousand Sandboxes in its status', async () => {
    const names = Array.from({ length: 1_000 }, (_, slot) => ({ name: `s${slot}`, slot, ready: true, origin: 'Cold' }));
    await platform.fillPool('thousand', 0);
    await create('thousand', 'batch', { replicas: 1_000, warmPoolRef: { name: 'nowhere' } });
    const patch = { status: { claimedReplicas: 1_000, sandboxes: names } };
    const key = { namespace: 'thousand', name: 'batch' };
    const answer = await platform.client.mergePatch(sandboxClaims, key, patch, { subresource: 'status' });
    expect(answer.status?.sandboxes).toHaveLength(1_000);
  });
});

describe('an image of its own', () => {
  const image = 'registry.test/agent:2';

  async function allowImages(namespace: string): Promise<void> {
    const patch = { spec: { imageOverridePolicy: { allowedImages: ['registry.test/'] } } };
    await platform.client.mergePatch(sandboxTemplates, { namespace, name: 'template' }, patch);
  }

  it('is set in the running pod, and the claim becomes Ready after the restart of the container', async () => {
    await platform.fillPool('image', 1);
    await allowImages('image');
    await create('image', 'job', { inplaceUpdate: { image }, waitReadyTimeout: '5m' });
    const { status } = await untilReason('image', 'job', 'DependenciesNotReady');
    const key = { namespace: 'image', name: status?.sandbox?.name ?? '' };
    await platform.until(async () => (await platform.client.get(pods, key)).spec.containers[0]?.image === image);
    const pod = await platform.client.get(pods, key);
    const value = (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) + 1;
    const restarted = { op: 'add', path: '/status/containerStatuses/0/restartCount', value } as const;
    await platform.client.patchJson(pods, key, [restarted], { subresource: 'status' });
    await untilReason('image', 'job', 'DependenciesReady');
  });

  it('that never runs fails the Sandbox, which is kept when the claim asks for that', async () => {
    await platform.fillPool('reserve', 2);
    await allowImages('reserve');
    const spec = { inplaceUpdate: { image }, waitReadyTimeout: '1s', claimTimeout: '3s', reserveFailedSandbox: true };
    await create('reserve', 'job', { ...spec, reserveFailedSandboxFor: '1h' });
    expect((await untilReason('reserve', 'job', 'ClaimTimeout')).status?.phase).toBe('Failed');
    await platform.until(async () => {
      const labelSelector = 'sandlot.dev/reserved-failed=true';
      const { items } = await platform.client.listAll(sandboxes, { namespace: 'reserve', labelSelector });
      return (
        items.length > 0 &&
        items.every(({ metadata, spec }) => {
          const hoursLeft = (Date.parse(spec.shutdownTime ?? '') - Date.now()) / 3_600_000;
          const isEnding = spec.shutdownPolicy === 'Delete' && hoursLeft > 0.9 && hoursLeft < 1.1;
          return isEnding && (metadata.ownerReferences ?? []).length === 0;
        })
      );
    });
  });
});

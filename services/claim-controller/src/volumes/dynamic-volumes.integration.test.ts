import { findCondition, sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaimSpec } from '@sandlot/api-types';
import { namespaces, persistentVolumeClaims, persistentVolumes, pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

const NAMESPACE = 'volumes';
const DISK = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' };

let platform: Platform;
beforeAll(async () => {
  platform = await Platform.start();
  const { client } = platform;
  const spec = { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } };
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await client.create(sandboxTemplates, {
    metadata: { namespace: NAMESPACE, name: 'open' },
    spec: { ...spec, dynamicVolumesPolicy: 'Allowed' },
  });
  await platform.startControllers({ PERSISTENT_VOLUMES: 'true' });
});
afterAll(() => platform[Symbol.asyncDispose]());

async function claim(name: string, spec: Partial<SandboxClaimSpec>): Promise<void> {
  const wanted = { sandboxTemplateRef: { name: 'open' }, ...spec };
  await platform.client.create(sandboxClaims, { metadata: { namespace: NAMESPACE, name }, spec: wanted });
}

async function readReady(name: string): Promise<{ status?: string; reason?: string }> {
  const { status } = await platform.client.get(sandboxClaims, { namespace: NAMESPACE, name });
  return findCondition(status?.conditions, 'Ready') ?? {};
}

async function seedVolume(name: string, labels: Record<string, string>): Promise<void> {
  const { accessModes } = DISK;
  const hostPath = { path: `/tmp/${name}` };
  const spec = { accessModes, hostPath, capacity: { storage: '1Gi' }, persistentVolumeReclaimPolicy: 'Retain' };
  await platform.client.create(persistentVolumes, { metadata: { name, labels }, spec });
}

describe('dynamicVolumes on a real API server', () => {
  it('mount a disk of the namespace in the pod of the claim, which becomes Ready', async () => {
    await seedVolume('dataset', {});
    const disk = { metadata: { namespace: NAMESPACE, name: 'dataset' }, spec: { ...DISK, volumeName: 'dataset' } };
    await platform.client.create(persistentVolumeClaims, disk);
    await claim('reader', {
      dynamicVolumes: [{ mountPath: '/data', persistentVolumeClaimName: 'dataset', readOnly: true }],
    });
    await platform.until(async () => (await readReady('reader')).status === 'True');
    const { spec } = await platform.client.get(pods, { namespace: NAMESPACE, name: 'reader' });
    const mount = { name: 'dynamic-0', mountPath: '/data', readOnly: true };
    expect(spec.volumes).toContainEqual({ name: 'dynamic-0', persistentVolumeClaim: { claimName: 'dataset' } });
    expect(spec.containers[0]?.volumeMounts).toContainEqual(expect.objectContaining(mount));
  });

  it('bind a PersistentVolume once it is open to the namespace, and refuse it to a second claim', async () => {
    await seedVolume('shelf', { 'sandlot.dev/claimable-by': 'another' });
    const dynamicVolumes = [{ mountPath: '/data', persistentVolumeName: 'shelf' }];
    await claim('owner', { dynamicVolumes });
    await platform.until(async () => (await readReady('owner')).reason === 'DynamicVolumesRejected');
    const labels = { 'sandlot.dev/claimable-by': NAMESPACE };
    await platform.client.mergePatch(persistentVolumes, { name: 'shelf' }, { metadata: { labels } });
    await platform.until(async () => (await readReady('owner')).status === 'True');
    const { spec } = await platform.client.get(persistentVolumes, { name: 'shelf' });
    expect(spec?.claimRef).toMatchObject({ namespace: NAMESPACE, name: 'dynamic-0-owner' });
    await claim('second', { dynamicVolumes });
    await platform.until(async () => (await readReady('second')).reason === 'DynamicVolumesRejected');
    const { status } = await platform.client.get(sandboxClaims, { namespace: NAMESPACE, name: 'second' });
    expect(status?.message).toContain('is bound by another PersistentVolumeClaim');
  });
});

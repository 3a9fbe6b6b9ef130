import { persistentVolumeClaims, pods } from '@sandlot/kube';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEY } from '../../test/harness.ts';
import { HibernationHarness } from '../../test/hibernation-harness.ts';

let h: HibernationHarness;
beforeEach(async () => {
  h = await HibernationHarness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const DISK = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } } };
const disk = (name: string, spec: object = DISK) => ({ metadata: { name }, spec: { ...spec } });
const START = { restoreFrom: { snapshotName: 'trained', onFailure: 'Fail' } } as const;
const BOOT = { restoreFrom: { snapshotName: 'trained', onFailure: 'Boot' } } as const;
const SAVED = [{ name: 'work', claimName: 'trained-work-0123456789' }];

const listDisks = (): PersistentVolumeClaim[] => h.api.objects(persistentVolumeClaims, KEY.namespace);
const untilCopying = () => h.until(() => h.hibernations().length > 0, 'there is a copy');
const untilPod = () => h.until(() => h.pod() !== undefined, 'there is a Pod');
const untilDisk = () => h.until(() => listDisks().length > 0, 'there is a disk');
const readyMessage = (): string => h.status().conditions?.find(({ type }) => type === 'Ready')?.message ?? '';

describe('the disks of a Sandbox that starts from a snapshot', () => {
  it('are clones of those in the snapshot, made when its copy is chosen', async () => {
    await h.startHibernating();
    h.create({ ...START, volumeClaimTemplates: [disk('work')] });
    await untilCopying();
    await h.elapse(2_000);
    expect(listDisks()).toEqual([]);
    h.completeCopy({ disks: SAVED });
    await untilPod();
    expect(listDisks()).toMatchObject([
      {
        metadata: { name: `work-${KEY.name}`, ownerReferences: [{ kind: 'Sandbox', name: KEY.name }] },
        spec: { ...DISK, dataSource: { kind: 'PersistentVolumeClaim', name: 'trained-work-0123456789' } },
      },
    ]);
    await h.restore();
    expect(listDisks()).toHaveLength(1);
  });

  it('are clones whatever the template says of their content', async () => {
    const theirs = { kind: 'PersistentVolumeClaim', name: 'theirs' };
    await h.startHibernating();
    const spec = { ...DISK, dataSource: theirs, dataSourceRef: { ...theirs, namespace: 'team-b' } };
    h.create({ ...START, volumeClaimTemplates: [disk('work', spec)] });
    await untilCopying();
    h.completeCopy({ disks: SAVED });
    await untilPod();
    expect(listDisks()[0]?.spec).toEqual({
      ...DISK,
      dataSource: { kind: 'PersistentVolumeClaim', name: 'trained-work-0123456789' },
    });
  });

  it('are not those of an earlier Sandbox of the name', async () => {
    const labels = { 'agents.x-k8s.io/adoptable': 'true' };
    const metadata = { namespace: KEY.namespace, name: `work-${KEY.name}`, labels };
    h.api.seed(persistentVolumeClaims, { metadata, spec: DISK });
    await h.startHibernating();
    h.create({ ...START, volumeClaimTemplates: [disk('work')] });
    await untilCopying();
    h.completeCopy({ disks: SAVED });
    await h.until(() => readyMessage().includes('is no copy of the disk in SandboxSnapshot "trained"'), 'it says why');
    await h.elapse(2_000);
    expect(h.api.objects(pods, KEY.namespace)).toEqual([]);
    h.api.remove(persistentVolumeClaims, metadata);
    await untilPod();
  });

  it('are not made for a disk that the snapshot lacks', async () => {
    await h.startHibernating();
    h.create({ ...START, volumeClaimTemplates: [disk('work'), disk('other')] });
    await untilCopying();
    h.completeCopy({ disks: SAVED });
    await h.until(() => readyMessage().includes('has no copy of disk "other"'), 'it says why');
    expect(h.api.objects(pods, KEY.namespace)).toEqual([]);
  });

  it('are empty when it may boot and there is no copy', async () => {
    await h.startHibernating();
    h.create({ ...BOOT, volumeClaimTemplates: [disk('work')] });
    await untilCopying();
    h.report({ phase: 'Failed' });
    await untilDisk();
    await untilPod();
    expect(listDisks()[0]?.spec).toEqual(DISK);
  });
});

import { sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaimSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { persistentVolumes } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const DISK = { mountPath: '/data', persistentVolumeClaimName: 'set' };
const FOREIGN = { mountPath: '/data', persistentVolumeName: 'pv' };

async function started(allowed = true): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 2 });
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.dynamicVolumesPolicy = 'Allowed';
  });
  harness.makeAllReady();
  harness.startController('claim-controller', { persistentVolumes: allowed });
  await harness.watching();
  return harness;
}

function seedVolume(harness: ClaimHarness, labels: Record<string, string> = {}): void {
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  harness.api.seed(persistentVolumes, { metadata: { name: 'pv', labels }, spec });
}

function open(harness: ClaimHarness): void {
  harness.api.change(persistentVolumes, { name: 'pv' }, ({ metadata }) => {
    metadata.labels = { 'sandlot.dev/claimable-by': 'default' };
  });
}

const looks = (harness: ClaimHarness): number =>
  harness.api.requests().filter(({ resource }) => resource === 'persistentvolumes').length;

describe('a claim with dynamicVolumes', () => {
  it('starts cold although there is stock, with the disk in its first container', async () => {
    await using harness = await started();
    harness.claim('job', { dynamicVolumes: [{ ...DISK, subPath: 'part', readOnly: true }] });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const { volumes, containers } = harness.sandbox('job')?.spec.podTemplate.spec ?? { containers: [] };
    expect(volumes).toEqual([{ name: 'dynamic-0', persistentVolumeClaim: { claimName: 'set' } }]);
    const mount = { name: 'dynamic-0', mountPath: '/data', subPath: 'part', readOnly: true };
    expect(containers[0]?.volumeMounts).toEqual([mount]);
    expect(harness.owned()).toEqual(new Map([['job', ['job']]]));
    expect(looks(harness)).toBe(0);
  });

  it('adopts from a pool whose members have the volume, and starts cold beside members that are older than it', async () => {
    await using harness = await started();
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      const { podTemplate } = spec;
      podTemplate.spec.volumes = [{ name: 'own', persistentVolumeClaim: { claimName: 'set' } }];
      for (const each of podTemplate.spec.containers) each.volumeMounts = [{ name: 'own', mountPath: '/data' }];
    });
    await harness.elapse(20);
    harness.claim('early', { dynamicVolumes: [DISK] });
    await harness.eventually(() => expect(harness.owned().get('early')).toEqual(['early']));
    const { volumes, containers } = harness.sandbox('early')?.spec.podTemplate.spec ?? { containers: [] };
    expect([volumes, containers[0]?.volumeMounts]).toEqual([
      [{ name: 'own', persistentVolumeClaim: { claimName: 'set' } }],
      [{ name: 'own', mountPath: '/data' }],
    ]);
    const member = harness.addMember();
    harness.claim('late', { dynamicVolumes: [{ ...DISK, mountPath: '/data/' }], createOnNoStock: false });
    await harness.eventually(() => expect(harness.owned().get('late')).toEqual([member]));
    harness.claim('other', { dynamicVolumes: [{ ...DISK, mountPath: '/other' }] });
    await harness.eventually(() => expect(harness.owned().get('other')).toEqual(['other']));
  });

  it('mounts the same disk in all Sandboxes of a batch', async () => {
    await using harness = await started();
    harness.claim('batch', { replicas: 2, dynamicVolumes: [DISK] });
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(2));
    for (const slot of [0, 1]) {
      const { volumes } = harness.sandbox(`batch-${slot}`)?.spec.podTemplate.spec ?? {};
      expect(volumes).toEqual([{ name: 'dynamic-0', persistentVolumeClaim: { claimName: 'set' } }]);
    }
  });

  it.each<readonly [string, Partial<SandboxClaimSpec>, string]>([
    [
      'its template does not allow them',
      { sandboxTemplateRef: { name: 'closed' }, dynamicVolumes: [FOREIGN] },
      'dynamicVolumesPolicy',
    ],
    ['it rules out a cold start', { dynamicVolumes: [FOREIGN], createOnNoStock: false }, 'createOnNoStock'],
    ['several would bind one PersistentVolume', { dynamicVolumes: [FOREIGN], replicas: 2 }, 'asks for 2'],
  ])('is refused when %s, before any request to the API server', async (_, spec, words) => {
    await using harness = await started();
    harness.api.seed(sandboxTemplates, template({ metadata: { name: 'closed' } }));
    seedVolume(harness, { 'sandlot.dev/claimable-by': 'default' });
    harness.claim('job', spec);
    await harness.eventually(() => expect(harness.findReason('job')).toBe('DynamicVolumesRejected'));
    expect(harness.getStatus('job').message).toContain(words);
    expect(harness.owned().size + harness.slots('job').size).toBe(0);
    expect(looks(harness)).toBe(0);
  });

  it('is refused a PersistentVolume when the installation switches them off', async () => {
    await using harness = await started(false);
    harness.claim('job', { dynamicVolumes: [FOREIGN] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('DynamicVolumesRejected'));
    expect(harness.getStatus('job').message).toContain('claimController.persistentVolumes=true');
    expect(looks(harness)).toBe(0);
  });

  it.each<readonly [string, Partial<SandboxClaimSpec>, string]>([
    ['bound', {}, 'job'],
    ['detached', { ttlSecondsAfterCompleted: 3_600 }, 'job-0'],
  ])(
    'waits until its PersistentVolume exists and is open to the namespace, and reads it no more once it has it: %s',
    async (_, spec, name) => {
      await using harness = await started();
      harness.claim('job', { ...spec, claimTimeout: '10m', dynamicVolumes: [FOREIGN] });
      await harness.eventually(() => expect(harness.findReason('job')).toBe('DynamicVolumesRejected'));
      expect(harness.getStatus('job').message).toContain('label it sandlot.dev/claimable-by=default');
      seedVolume(harness);
      await harness.elapse(10_500);
      expect(harness.sandbox(name)).toBeUndefined();
      open(harness);
      await harness.elapse(10_500);
      await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
      expect(harness.sandbox(name)?.spec.volumeClaimTemplates).toEqual([
        {
          metadata: { name: 'dynamic-0' },
          spec: {
            volumeName: 'pv',
            storageClassName: '',
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: '1Gi' } },
          },
        },
      ]);
      const before = looks(harness);
      harness.makeUnready(name);
      await harness.eventually(() => expect(harness.isReady('job')).toBe(false));
      await harness.elapse(10_500);
      expect(looks(harness)).toBe(before);
    },
  );

  it('does not wait longer than its claimTimeout', async () => {
    await using harness = await started();
    harness.claim('job', { claimTimeout: '5s', dynamicVolumes: [FOREIGN] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('DynamicVolumesRejected'));
    await harness.elapse(6_000);
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ClaimTimeout'));
  });

  it('reports that the controller may not read PersistentVolumes, and continues once it may', async () => {
    await using harness = await started();
    seedVolume(harness);
    open(harness);
    const match = { verb: 'get', resource: 'persistentvolumes' } as const;
    harness.api.faults.failNext({ match, answer: { status: 403 } });
    harness.claim('job', { dynamicVolumes: [FOREIGN] });
    await harness.eventually(() => expect(harness.getStatus('job').message).toContain('grant it get'));
    await harness.elapse(10_500);
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  });
});

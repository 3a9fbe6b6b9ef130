import { sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaimSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { persistentVolumes } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const DISK = { mountPath: '/data', persistentVolumeClaimName: 'set' };
const FOREIGN = { mountPath: '/data', persistentVolumeName: 'pv' };

async function started(allowed = true): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members: 2 });
  world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.dynamicVolumesPolicy = 'Allowed';
  });
  world.makeAllReady();
  world.startController('claim-controller', { persistentVolumes: allowed });
  await world.watching();
  return world;
}

function seedVolume(world: ClaimWorld, labels: Record<string, string> = {}): void {
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  world.api.seed(persistentVolumes, { metadata: { name: 'pv', labels }, spec });
}

function open(world: ClaimWorld): void {
  world.api.change(persistentVolumes, { name: 'pv' }, ({ metadata }) => {
    metadata.labels = { 'sandlot.dev/claimable-by': 'default' };
  });
}

const looks = (world: ClaimWorld): number =>
  world.api.requests().filter(({ resource }) => resource === 'persistentvolumes').length;

describe('a claim with dynamicVolumes', () => {
  it('is given a cold start although there is stock, with the disk in its first container', async () => {
    await using world = await started();
    world.claim('job', { dynamicVolumes: [{ ...DISK, subPath: 'part', readOnly: true }] });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    const { volumes, containers } = world.sandbox('job')?.spec.podTemplate.spec ?? { containers: [] };
    expect(volumes).toEqual([{ name: 'dynamic-0', persistentVolumeClaim: { claimName: 'set' } }]);
    const mount = { name: 'dynamic-0', mountPath: '/data', subPath: 'part', readOnly: true };
    expect(containers[0]?.volumeMounts).toEqual([mount]);
    expect(world.owned()).toEqual(new Map([['job', ['job']]]));
    expect(looks(world)).toBe(0);
  });

  it('shares the disk among all Sandboxes of a batch', async () => {
    await using world = await started();
    world.claim('batch', { replicas: 2, dynamicVolumes: [DISK] });
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(2));
    for (const slot of [0, 1]) {
      const { volumes } = world.sandbox(`batch-${slot}`)?.spec.podTemplate.spec ?? {};
      expect(volumes).toEqual([{ name: 'dynamic-0', persistentVolumeClaim: { claimName: 'set' } }]);
    }
  });

  it.each<readonly [string, Partial<SandboxClaimSpec>, string]>([
    [
      'its template does not allow them',
      { sandboxTemplateRef: { name: 'closed' }, dynamicVolumes: [FOREIGN] },
      'dynamicVolumesPolicy',
    ],
    ['it must not go cold', { dynamicVolumes: [FOREIGN], createOnNoStock: false }, 'createOnNoStock'],
    ['several would bind one PersistentVolume', { dynamicVolumes: [FOREIGN], replicas: 2 }, 'asks for 2'],
  ])('is refused when %s, before the cluster is asked for anything', async (_, spec, words) => {
    await using world = await started();
    world.api.seed(sandboxTemplates, template({ metadata: { name: 'closed' } }));
    seedVolume(world, { 'sandlot.dev/claimable-by': 'default' });
    world.claim('job', spec);
    await world.eventually(() => expect(world.reasonOf('job')).toBe('DynamicVolumesRejected'));
    expect(world.statusOf('job').message).toContain(words);
    expect(world.owned().size + world.slots('job').size).toBe(0);
    expect(looks(world)).toBe(0);
  });

  it('is refused a PersistentVolume where the installation has them switched off', async () => {
    await using world = await started(false);
    world.claim('job', { dynamicVolumes: [FOREIGN] });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('DynamicVolumesRejected'));
    expect(world.statusOf('job').message).toContain('claimController.persistentVolumes=true');
    expect(looks(world)).toBe(0);
  });

  it.each<readonly [string, Partial<SandboxClaimSpec>, string]>([
    ['bound', {}, 'job'],
    ['detached', { ttlSecondsAfterCompleted: 3_600 }, 'job-0'],
  ])(
    'waits for its PersistentVolume to be made and opened to the namespace, and looks no more once it has it: %s',
    async (_, spec, name) => {
      await using world = await started();
      world.claim('job', { ...spec, claimTimeout: '10m', dynamicVolumes: [FOREIGN] });
      await world.eventually(() => expect(world.reasonOf('job')).toBe('DynamicVolumesRejected'));
      expect(world.statusOf('job').message).toContain('label it sandlot.dev/claimable-by=default');
      seedVolume(world);
      await world.elapse(10_500);
      expect(world.sandbox(name)).toBeUndefined();
      open(world);
      await world.elapse(10_500);
      await world.eventually(() => expect(world.isReady('job')).toBe(true));
      expect(world.sandbox(name)?.spec.volumeClaimTemplates).toEqual([
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
      const before = looks(world);
      world.makeUnready(name);
      await world.eventually(() => expect(world.isReady('job')).toBe(false));
      await world.elapse(10_500);
      expect(looks(world)).toBe(before);
    },
  );

  it('does not wait longer than its claimTimeout', async () => {
    await using world = await started();
    world.claim('job', { claimTimeout: '5s', dynamicVolumes: [FOREIGN] });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('DynamicVolumesRejected'));
    await world.elapse(6_000);
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ClaimTimeout'));
  });

  it('says that the controller may not read PersistentVolumes, and goes on once it may', async () => {
    await using world = await started();
    seedVolume(world);
    open(world);
    const match = { verb: 'get', resource: 'persistentvolumes' } as const;
    world.api.faults.failNext({ match, answer: { status: 403 } });
    world.claim('job', { dynamicVolumes: [FOREIGN] });
    await world.eventually(() => expect(world.statusOf('job').message).toContain('grant it get'));
    await world.elapse(10_500);
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
  });
});

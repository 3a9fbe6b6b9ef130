// Disks of Sandboxes, and the provisioner that makes volumes for them.
import { events, persistentVolumeClaims } from '@sandlot/kube';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import { PLACE } from './harness.ts';
import type { Harness } from './harness.ts';

const DISKS = [{ metadata: { name: 'work' }, spec: {} }];

/** A running Sandbox with one disk of 1 GiB, whose volume is larger. */
export function addSandboxWithDisk(
  h: Harness,
  name = 'notebook-2',
  {
    spec = {},
    ...metadata
  }: PersistentVolumeClaim['metadata'] & { spec?: Partial<PersistentVolumeClaim['spec']> } = {},
): void {
  h.addSandbox(name, { operatingMode: 'Running', volumeClaimTemplates: DISKS });
  h.api.seed(persistentVolumeClaims, {
    metadata: { namespace: PLACE, name: `work-${name}`, ownerReferences: [h.owner(name)], ...metadata },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      volumeMode: 'Filesystem',
      volumeName: 'pv-1',
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
    status: { phase: 'Bound', capacity: { storage: '2Gi' } },
  });
}

/** Copies that the controller made. */
export function listCopies(h: Harness): PersistentVolumeClaim[] {
  return h.api.objects(persistentVolumeClaims, PLACE).filter(({ spec }) => spec['dataSource'] !== undefined);
}

export function bind(h: Harness, phase: 'Bound' | 'Lost' = 'Bound'): void {
  for (const { metadata } of listCopies(h)) {
    h.api.change(persistentVolumeClaims, { namespace: PLACE, name: metadata.name ?? '' }, (claim) => {
      claim.status = { phase };
    });
  }
}

/** The provisioner reports that it could make no volume for the copies. */
export function say(h: Harness, note: string): void {
  for (const { metadata } of listCopies(h)) {
    const { name = '', namespace = '', uid = '' } = metadata;
    const regarding = { kind: 'PersistentVolumeClaim', name, namespace, uid };
    const what = { type: 'Warning', reason: 'ProvisioningFailed', action: 'Provision', note, regarding } as const;
    const who = { reportingController: 'provisioner', reportingInstance: 'provisioner-1' };
    const eventTime = '2030-01-01T00:00:00.000000Z';
    h.api.seed(events, { metadata: { namespace, name: `${name}.1` }, eventTime, ...what, ...who });
  }
}

import { readStart } from '../start-memory/start-record.ts';
import type { Snapshot } from '../plan/snapshot.ts';

/**
 * What new disks of a Sandbox have in them. `unknown`: it starts from a snapshot, and whether that has copies of disks is not
 * known yet. `copies`: names of the PersistentVolumeClaims to clone, by the name of the volumeClaimTemplate.
 */
export type DiskContents =
  | { readonly kind: 'unknown' | 'empty' }
  | { readonly kind: 'copies'; readonly snapshotName: string; readonly claims: ReadonlyMap<string, string> };

/**
 * Memory and disks are of one moment, so a Sandbox has no disks before its copy is chosen. Only the snapshot-controller can
 * name what is cloned: tenants cannot write the status of a SandboxSnapshot.
 */
export function findDiskContents({ sandbox, hibernations }: Pick<Snapshot, 'sandbox' | 'hibernations'>): DiskContents {
  const start = readStart(sandbox);
  if (start.kind === 'open') return { kind: 'unknown' };
  if (start.kind !== 'chosen') return { kind: 'empty' };
  const copy = hibernations.find(({ metadata }) => metadata.uid === start.uid);
  if (copy === undefined) return { kind: 'unknown' };
  const claims = new Map((copy.status?.disks ?? []).map(({ name, claimName }) => [name, claimName]));
  return { kind: 'copies', snapshotName: sandbox.spec.restoreFrom?.snapshotName ?? '', claims };
}

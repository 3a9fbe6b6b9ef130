import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { decideRefusal } from '../refusal/decide-refusal.ts';
import { listPersistentVolumeNames } from '../volumes/volume-sources.ts';

/**
 * PersistentVolumes that have to be read before the decision: those that the claim names, when the pass may make a Sandbox
 * of them. Empty for nearly every claim.
 */
export function decideVolumeReads(snapshot: ClaimSnapshot, wantsSandbox: boolean): readonly string[] {
  const names = snapshot.persistentVolumes === 'off' ? [] : listPersistentVolumeNames(snapshot.claim);
  const { source } = snapshot;
  if (names.length === 0 || !wantsSandbox || source.kind !== 'found') return [];
  return decideRefusal(snapshot, source.template) === undefined ? names : [];
}

import { getKey } from '@sandlot/kube/objects';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Kept } from '../plan/scene.ts';

export interface Neighbours {
  /** All SandboxSnapshots of the namespace. */
  readonly snapshots: Iterable<SandboxSnapshot>;
  /** Name of the class that snapshots without one use. */
  readonly defaultClass: string | undefined;
  /** Keys of those whose save this process has begun, although the status may not say so yet. */
  readonly begun: ReadonlySet<string>;
}

/** What other snapshots of the namespace and the class take of its quota. Failed ones and those on their way out have no data. */
export function countKept(object: SandboxSnapshot, { snapshots, defaultClass, begun }: Neighbours): Kept {
  const nameClass = ({ spec }: SandboxSnapshot): string | undefined => spec.snapshotClassName ?? defaultClass;
  const others = [...snapshots].filter(
    (other) => other.metadata.uid !== object.metadata.uid && counts(other) && nameClass(other) === nameClass(object),
  );
  const isSaving = (other: SandboxSnapshot): boolean =>
    other.status?.phase === 'Saving' || (other.status?.phase !== 'Ready' && begun.has(getKey(other)));
  const ready = others.filter(({ status }) => status?.phase === 'Ready');
  const saving = others.filter(isSaving);
  return {
    snapshots: [...ready, ...saving].filter(({ spec }) => spec.whenSaved !== 'StayPaused').length,
    bytes: ready.reduce((sum, { status }) => sum + (status?.sizeBytes ?? 0), 0),
    isSaving: saving.length > 0,
  };
}

function counts({ metadata, spec, status }: SandboxSnapshot): boolean {
  return spec.copyOf === undefined && metadata.deletionTimestamp === undefined && status?.phase !== 'Failed';
}

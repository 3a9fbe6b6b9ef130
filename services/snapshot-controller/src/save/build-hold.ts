import { finalizers } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Notes, Step } from '../plan/steps.ts';

/** The step that holds the object, unless it is held with exactly these annotations already. Its author may have set either. */
export function buildHold({ metadata }: SandboxSnapshot, notes: Notes): readonly Step[] {
  const isHeld = metadata.finalizers?.includes(finalizers.snapshotData) === true;
  const isNoted = Object.entries(notes).every(([key, value]) => (metadata.annotations?.[key] ?? null) === value);
  return isHeld && isNoted ? [] : [{ kind: 'hold', annotations: notes }];
}

import type { Plan, Step } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { isCopyOf } from './build-disk.ts';
import { hasOwnDisks } from './plan-disks.ts';

/**
 * Removes the disks of a snapshot that has failed, and what its node has of it, so that its Pod goes on at once. What does not
 * succeed now follows when the object is deleted.
 */
export function decideRemoval(scene: Scene): Plan | undefined {
  const { object, disks = [], calls } = scene;
  if (!hasOwnDisks(object)) return undefined;
  const { source } = object.status ?? {};
  const erase: Step[] =
    source === undefined || scene.isNodeGone || calls.erase !== undefined
      ? []
      : [{ kind: 'erase', nodeName: source.nodeName, staysPaused: false }];
  const deletions = disks.flatMap(({ copy }): Step[] =>
    copy !== undefined && isCopyOf(copy, object) ? [{ kind: 'deleteDisk', disk: copy }] : [],
  );
  return { steps: [...erase, ...deletions, { kind: 'status', status: { ...object.status, disks: undefined } }] };
}

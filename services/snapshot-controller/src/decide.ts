import { snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import { decideCopy } from './copy/decide-copy.ts';
import type { Plan } from './plan/steps.ts';
import type { Scene } from './plan/scene.ts';
import { decideRestore } from './restore/decide-restore.ts';
import { decideDeletion } from './retention/decide-deletion.ts';
import { decideRetention } from './retention/decide-retention.ts';
import { decideBegin } from './save/decide-begin.ts';
import { decideSave } from './save/decide-save.ts';
import { buildFailedStatus, buildRestoreStatus } from './status/build-status.ts';

/** What to do next about one SandboxSnapshot. */
export function decide(scene: Scene): Plan {
  const { metadata, status } = scene.object;
  if (metadata.deletionTimestamp !== undefined) return decideDeletion(scene);
  switch (status?.phase) {
    case undefined:
    case 'Pending':
      return scene.object.spec.copyOf === undefined ? decideBegin(scene) : decideCopy(scene);
    case 'Saving':
      return decideSave(scene);
    case 'Ready':
      return decideReady(scene);
    case 'Failed':
      return decideRetention(scene);
  }
}

/** A restore in progress keeps its snapshot from expiring; a Pod that is refused does not. */
function decideReady(scene: Scene): Plan {
  if (scene.isNodeGone) return loseData(scene);
  const restore = decideRestore(scene);
  const isRestoring = restore.nextMs !== undefined || restore.steps.some(({ kind }) => kind !== 'refuse');
  if (isRestoring) return restore;
  const kept = decideRetention(scene);
  return { ...kept, steps: [...restore.steps, ...kept.steps] };
}

/** The Pod that waits for the memory hears of it too. */
function loseData(scene: Scene): Plan {
  const { nodeName = '', restore } = scene.object.status ?? {};
  const message = snapshotMessages.nodeGone(nodeName);
  const failed = buildFailedStatus(scene, { reason: snapshotReasons.dataLost, message });
  if (restore?.state !== 'Announced') return { steps: [{ kind: 'status', status: failed }] };
  const ended = buildRestoreStatus(scene, { ...restore, state: 'Failed', message });
  return { steps: [{ kind: 'status', status: { ...failed, restore: ended.restore } }] };
}

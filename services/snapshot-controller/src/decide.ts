import { isUploaded, snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import { decidePlace } from './bucket/decide-place.ts';
import { decideUpload } from './bucket/decide-upload.ts';
import { decideCopy } from './copy/decide-copy.ts';
import { decideRemoval } from './disks/decide-removal.ts';
import { combine, NOTHING } from './plan/steps.ts';
import type { Plan } from './plan/steps.ts';
import type { Scene } from './plan/scene.ts';
import { decideRestore, findWaiting } from './restore/decide-restore.ts';
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
      return decideRemoval(scene) ?? decideRetention(scene);
  }
}

/** A restore in progress keeps its snapshot from expiring; a Pod that is refused does not. */
function decideReady(scene: Scene): Plan {
  if (scene.isNodeGone) {
    if (!isUploaded(scene.object)) return loseData(scene, snapshotMessages.nodeGone(getNodeName(scene)));
    if (getNodeName(scene) !== '') return forgetNode(scene);
  }
  const place = decidePlace(scene);
  if (place === 'none') return loseMemory(scene, snapshotMessages.noPlace(scene.object.status?.fingerprintText ?? ''));
  const restore = decideRestore(scene);
  const isRestoring = restore.nextMs !== undefined || restore.steps.some(({ kind }) => kind !== 'refuse');
  if (isRestoring) return restore;
  const kept = decideRetention(scene);
  // Each status is built on that of the scene, so a pass writes one.
  const upload = kept.steps.length === 0 ? decideUpload(scene) : NOTHING;
  return combine(restore, kept, upload, place);
}

const getNodeName = ({ object }: Scene): string => object.status?.nodeName ?? '';

/** The bucket has the data, and any node may have it from there. */
function forgetNode(scene: Scene): Plan {
  return { steps: [{ kind: 'status', status: { ...scene.object.status, nodeName: undefined } }] };
}

/** The Pod that waits makes room for one that boots with the files, where these were kept. */
function loseMemory(scene: Scene, message: string): Plan {
  const { spec, status } = scene.object;
  const pod = findWaiting(scene);
  if (status?.hasFiles !== true || spec.copyOf !== undefined || pod === undefined) return loseData(scene, message);
  const { name = '', uid = '' } = pod.metadata;
  const nodeName = status.source?.nodeName ?? '';
  const lost = buildRestoreStatus(scene, { podName: name, podUID: uid, nodeName, state: 'Failed', message });
  return { steps: [{ kind: 'status', status: lost }] };
}

/** The Pod that waits for the memory hears of it too. */
function loseData(scene: Scene, message: string): Plan {
  const { restore } = scene.object.status ?? {};
  const failed = buildFailedStatus(scene, { reason: snapshotReasons.dataLost, message });
  if (restore?.state !== 'Announced') return { steps: [{ kind: 'status', status: failed }] };
  const ended = buildRestoreStatus(scene, { ...restore, state: 'Failed', message });
  return { steps: [{ kind: 'status', status: { ...failed, restore: ended.restore } }] };
}

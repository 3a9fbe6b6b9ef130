import { isUploaded, snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import type { Call } from '../agent/calls.ts';
import type { RestoreEnd, WithdrawEnd } from '../agent/messages.ts';
import { getRetryMs, isHopeless } from '../agent/patience.ts';
import { NOTHING } from '../plan/steps.ts';
import type { Plan } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { buildFailedStatus, buildRestoreStatus } from '../status/build-status.ts';
import type { Restore } from '../status/build-status.ts';
import { buildRestoreStep, isHere } from './build-restore-step.ts';

/** How long a node may fail to download what a Pod waits for: the memory is safe in the bucket meanwhile. */
const DOWNLOAD_PATIENCE_MS = 600_000;

/** Follows a restore that was announced, to its end or to its withdrawal. */
export function decideFollow(scene: Scene, restore: Restore): Plan {
  const { restore: call } = scene.calls;
  if (call?.state === 'answered') return end(scene, restore, call.value);
  if (call?.state === 'refused') return decideRefusal(scene, restore, call);
  if (scene.isRestoreNodeGone === true) return failOnGoneNode(scene, restore);
  if (scene.isRestorePodGone) return decideWithdrawal(scene, restore);
  if (call === undefined) return { steps: [buildRestoreStep(scene, restore)] };
  return call.state === 'running' ? NOTHING : decideAway(scene, restore, call);
}

function end(scene: Scene, before: Restore, { state, message }: { state: Restore['state']; message: string }): Plan {
  const { podName, podUID, nodeName, only } = before;
  const kept = { podName, podUID, nodeName, ...(only === undefined ? {} : { only }) };
  const restore = { ...kept, state, ...(message === '' ? {} : { message }) };
  return { steps: [{ kind: 'status', status: buildRestoreStatus(scene, restore) }] };
}

/** The Pod may have begun there, and written to its disks: an older memory must not go on beside them. */
function failOnGoneNode(scene: Scene, restore: Restore): Plan {
  return end(scene, restore, { state: 'Failed', message: snapshotMessages.restoreNodeGone(restore.nodeName) });
}

type Refused = Extract<Call<RestoreEnd>, { readonly state: 'refused' }>;
type Away = Extract<Call<RestoreEnd>, { readonly state: 'away' }>;

function decideRefusal(scene: Scene, restore: Restore, { code, message }: Refused): Plan {
  if (code !== 'Absent') return end(scene, restore, { state: 'Failed', message });
  const isRemote = !isHere(scene.object, restore.nodeName) && isUploaded(scene.object);
  const lost = isRemote ? snapshotMessages.remoteAbsent : snapshotMessages.dataAbsent(restore.nodeName);
  const failed = buildFailedStatus(scene, { reason: snapshotReasons.dataLost, message: lost });
  const ended = buildRestoreStatus(scene, { ...restore, state: 'Failed', message: lost });
  return { steps: [{ kind: 'status', status: { ...failed, restore: ended.restore } }] };
}

/** A Pod that runs was restored, whatever keeps the agent from saying so: its containers start in no other way. */
function decideAway(scene: Scene, restore: Restore, away: Away): Plan {
  const pod = scene.pods.find(({ metadata }) => metadata.uid === restore.podUID);
  const patienceMs = isHere(scene.object, restore.nodeName) ? undefined : DOWNLOAD_PATIENCE_MS;
  if (isHopeless(away, patienceMs) && pod?.status?.phase !== 'Running') {
    return end(scene, restore, {
      state: 'Failed',
      message: snapshotMessages.noNodeAgent(restore.nodeName, away.message),
    });
  }
  const retryMs = getRetryMs(away);
  return scene.nowMs < retryMs ? { steps: [], nextMs: retryMs } : { steps: [buildRestoreStep(scene, restore)] };
}

/** The Pod ended. If it never began, another one may have the snapshot. Only the node knows. */
function decideWithdrawal(scene: Scene, restore: Restore): Plan {
  const { podName, podUID, nodeName } = restore;
  const gone = `Pod ${podName} ended before the node reported that it was restored`;
  const ask: Plan = { steps: [{ kind: 'withdraw', nodeName, podUID }] };
  const { withdraw } = scene.calls;
  if (withdraw === undefined) return ask;
  if (withdraw.state === 'running') return NOTHING;
  if (withdraw.state === 'answered') return end(scene, restore, getWithdrawn(withdraw.value, gone));
  if (withdraw.state === 'refused') return end(scene, restore, { state: 'Failed', message: withdraw.message });
  const retryMs = getRetryMs(withdraw);
  return scene.nowMs < retryMs ? { steps: [], nextMs: retryMs } : ask;
}

function getWithdrawn(
  answer: WithdrawEnd,
  gone: string,
): { readonly state: Restore['state']; readonly message: string } {
  return answer === 'withdrawn' ? { state: 'Withdrawn', message: '' } : { state: 'Failed', message: gone };
}

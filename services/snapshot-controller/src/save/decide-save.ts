import { findCondition, isUploaded, snapshotConditions, snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import type { SnapshotReason } from '@sandlot/api-types';
import type { Call } from '../agent/calls.ts';
import type { Manifest } from '../agent/messages.ts';
import { getRetryMs, isHopeless } from '../agent/patience.ts';
import { decideDisks } from '../disks/decide-disks.ts';
import { hasOwnDisks } from '../disks/plan-disks.ts';
import { NOTHING } from '../plan/steps.ts';
import type { Plan } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { buildFailedStatus, buildReadyStatus, buildRemoteStatus, buildSavingStatus } from '../status/build-status.ts';
import type { Problem, Source } from '../status/build-status.ts';
import { buildSaveStep } from './build-save.ts';

/** Follows a save or a copy that has begun. A process that does not know of the call asks again, and joins the save. */
export function decideSave(scene: Scene): Plan {
  const { source } = scene.object.status ?? {};
  if (source === undefined)
    return fail(scene, { reason: snapshotReasons.saveFailed, message: 'status.source is gone' });
  const { save } = scene.calls;
  if (save === undefined) return ask(scene, source);
  switch (save.state) {
    case 'running':
      return NOTHING;
    case 'answered':
      return decideAnswer(scene, source, save);
    case 'refused':
      return decideRefusal(scene, source, save);
    case 'away':
      return decideAway(scene, source, save);
  }
}

function ask(scene: Scene, source: Source): Plan {
  return { steps: [buildSaveStep(scene, source)] };
}

function fail(scene: Scene, problem: Problem): Plan {
  return { steps: [{ kind: 'status', status: buildFailedStatus(scene, problem) }] };
}

function become(scene: Scene, saved: Manifest): Plan {
  return { steps: [{ kind: 'status', status: buildReadyStatus(scene, saved) }] };
}

/** The agent may only report what it was asked for. A copy says whose memory it is, and not who starts from it. */
function decideAnswer(scene: Scene, source: Source, answered: Answered): Plan {
  const { value: saved } = answered;
  const { metadata, spec } = scene.object;
  const { sandboxUid, podUid } = saved.source;
  const isOfSandbox = spec.copyOf !== undefined || sandboxUid === source.sandboxUID;
  if (saved.snapshotUid === metadata.uid && podUid === source.podUID && isOfSandbox) {
    return hasOwnDisks(scene.object) ? decideDisks(scene, source, answered) : become(scene, saved);
  }
  const message = `Node ${source.nodeName} has saved Pod ${podUid} under the UID of this snapshot, and not Pod ${source.podUID}`;
  return fail(scene, { reason: snapshotReasons.saveFailed, message });
}

/** A copy needs no node while the bucket has the data of its original. */
function copyFromBucket(scene: Scene): Plan | undefined {
  const { object } = scene;
  if (object.spec.copyOf === undefined || !isUploaded(object)) return undefined;
  return { steps: [{ kind: 'status', status: buildRemoteStatus(scene, object.status ?? {}) }] };
}

type Answered = Extract<Call<Manifest>, { readonly state: 'answered' }>;
type Refused = Extract<Call<Manifest>, { readonly state: 'refused' }>;
type Away = Extract<Call<Manifest>, { readonly state: 'away' }>;

const REASONS: Readonly<Record<string, SnapshotReason>> = {
  NoSpace: snapshotReasons.noSpace,
  NotGVisor: snapshotReasons.notGVisor,
  QuotaExceeded: snapshotReasons.quotaExceeded,
  NotShared: snapshotReasons.snapshotNotShared,
};

function decideRefusal(scene: Scene, source: Source, refused: Refused): Plan {
  const { code, message } = refused;
  if (code === 'Busy')
    return waitAndAsk(scene, source, { refused, problem: { reason: snapshotReasons.nodeBusy, message } });
  if (code === 'PodAbsent') return fail(scene, explainAbsence(scene, source, message));
  if (code === 'Absent')
    return (
      copyFromBucket(scene) ??
      fail(scene, { reason: snapshotReasons.dataLost, message: snapshotMessages.dataAbsent(source.nodeName) })
    );
  return fail(scene, { reason: REASONS[code] ?? snapshotReasons.saveFailed, message });
}

/** gVisor knows neither a Pod that ended nor one of another runtime. The API server tells them apart. */
function explainAbsence(scene: Scene, { podUID }: Source, message: string): Problem {
  if (scene.source?.pod?.uid === podUID) return { reason: snapshotReasons.notGVisor, message };
  const text = snapshotMessages.podReplaced(scene.object.spec.sandboxName);
  return { reason: snapshotReasons.sandboxNotRunning, message: text };
}

function decideAway(scene: Scene, source: Source, away: Away): Plan {
  const detail = scene.isNodeGone ? 'the node is gone' : away.message;
  const problem = {
    reason: snapshotReasons.noNodeAgent,
    message: snapshotMessages.noNodeAgent(source.nodeName, detail),
  };
  if (scene.isNodeGone || isHopeless(away)) return copyFromBucket(scene) ?? fail(scene, problem);
  return waitAndAsk(scene, source, { refused: away, problem });
}

interface Setback {
  readonly refused: Refused | Away;
  readonly problem: Problem;
}

/** Says what the save waits for, once, and asks again when it is time. */
function waitAndAsk(scene: Scene, source: Source, { refused, problem }: Setback): Plan {
  const retryMs = getRetryMs(refused);
  const said = findCondition(scene.object.status?.conditions, snapshotConditions.ready);
  const isSaid = said?.reason === problem.reason;
  const say = isSaid ? [] : [{ kind: 'status' as const, status: buildSavingStatus(scene, source, problem) }];
  if (scene.nowMs < retryMs) return { steps: say, nextMs: retryMs };
  return { steps: [...say, buildSaveStep(scene, source)] };
}

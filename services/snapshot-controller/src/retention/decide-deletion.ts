import { finalizers } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Call } from '../agent/calls.ts';
import { getLaterRetryMs, getRetryMs } from '../agent/patience.ts';
import { combine, NOTHING } from '../plan/steps.ts';
import type { Plan, Step } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';

const RELEASE: Plan = { steps: [{ kind: 'release' }] };

/**
 * Lets an object that is being deleted go once neither a node nor the bucket has its data. A save in progress ends at the
 * agent, and its Pod goes on. An agent that is away is waited for: data of tenants must not stay on a node unseen. The bucket
 * comes last: until then a node may still upload.
 */
export function decideDeletion(scene: Scene): Plan {
  if (scene.object.metadata.finalizers?.includes(finalizers.snapshotData) !== true) return NOTHING;
  const open = listErasures(scene).filter(({ call }) => call?.state !== 'answered');
  if (open.length === 0) return decideRemote(scene);
  return combine(...open.map((each) => decideErasure(scene, each)));
}

interface Erasure {
  readonly call: Call<'erased'> | undefined;
  readonly step: Step;
}

/** One for each node that may have the data. A node that is gone counts as one that has erased it. */
function listErasures({ object: { status }, calls, isNodeGone, isRestoreNodeGone }: Scene): readonly Erasure[] {
  const { source, restore } = status ?? {};
  if (source === undefined) return [];
  const isElsewhere = restore !== undefined && restore.nodeName !== source.nodeName;
  const staysPaused = isElsewhere && restore.state !== 'Withdrawn';
  const here: Erasure = { call: calls.erase, step: { kind: 'erase', nodeName: source.nodeName, staysPaused } };
  if (!isElsewhere) return isNodeGone ? [] : [here];
  const there: Erasure = {
    call: calls.eraseElsewhere,
    step: { kind: 'erase', nodeName: restore.nodeName, staysPaused: false },
  };
  return [...(isNodeGone ? [] : [here]), ...(isRestoreNodeGone === true ? [] : [there])];
}

function decideErasure({ nowMs }: Scene, { call, step }: Erasure): Plan {
  if (call === undefined) return { steps: [step] };
  if (call.state === 'running' || call.state === 'answered') return NOTHING;
  const retryMs = getRetryMs(call);
  return nowMs < retryMs ? { steps: [], nextMs: retryMs } : { steps: [step] };
}

/** What copies still need waits for them. Their changes enqueue the object. */
function decideRemote({ object, calls, bucketNode = '', isRemoteNeeded, nowMs }: Scene): Plan {
  const { eraseRemote: call } = calls;
  if (!hasRemote(object) || call?.state === 'answered') return RELEASE;
  if (isRemoteNeeded === true || call?.state === 'running') return NOTHING;
  const ask: Plan = { steps: [{ kind: 'eraseRemote', nodeName: bucketNode }] };
  const retryMs = call === undefined ? 0 : getLaterRetryMs(call);
  return nowMs < retryMs ? { steps: [], nextMs: retryMs } : ask;
}

/** A copy has nothing of its own there: it only refers to what its original uploaded. */
function hasRemote({ spec, status }: SandboxSnapshot): boolean {
  return status?.remote !== undefined && status.remoteOf === undefined && spec.copyOf === undefined;
}

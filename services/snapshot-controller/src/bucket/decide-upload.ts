import { formatRfc3339, isSpent, isUploaded } from '@sandlot/api-types';
import type { SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Call } from '../agent/calls.ts';
import type { Uploaded } from '../agent/messages.ts';
import { getLaterRetryMs } from '../agent/patience.ts';
import { NOTHING } from '../plan/steps.ts';
import type { Plan, Step } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';

type Remote = NonNullable<SandboxSnapshotStatus['remote']>;

/**
 * Has the node upload a finished snapshot, if its class keeps snapshots in the bucket. The status says so first, so that its
 * deletion looks into the bucket from then on. It is Ready meanwhile, and what a Pod has gone on from needs no upload.
 */
export function decideUpload(scene: Scene): Plan {
  const { nodeName } = scene.object.status ?? {};
  if (nodeName === undefined || !needsUpload(scene)) return NOTHING;
  const { upload } = scene.calls;
  if (upload === undefined) return ask(scene, nodeName);
  switch (upload.state) {
    case 'running':
      return NOTHING;
    case 'answered':
      return decideAnswer(scene, upload.value);
    default:
      return decideFailure(scene, nodeName, upload);
  }
}

function needsUpload({ object, snapshotClass }: Scene): boolean {
  if (snapshotClass?.spec.store !== 'Bucket' || object.spec.copyOf !== undefined) return false;
  return !isSpent(object) && !isUploaded(object);
}

/** One that failed before stays Failed while it is tried again. */
function ask(scene: Scene, nodeName: string): Plan {
  const begun = scene.object.status?.remote === undefined ? say(scene, { state: 'Uploading' }) : [];
  return { steps: [...begun, { kind: 'upload', nodeName }] };
}

/** The agent may only report what it was asked for. */
function decideAnswer(scene: Scene, { snapshotUid, digest }: Uploaded): Plan {
  const { uid } = scene.object.metadata;
  if (snapshotUid === uid) return { steps: say(scene, { state: 'Uploaded', digest }) };
  const message = `The node has uploaded the snapshot with the UID ${snapshotUid} in place of this one`;
  return { steps: say(scene, { state: 'Failed', message }) };
}

type Failed = Extract<Call<Uploaded>, { readonly message: string }>;

function decideFailure(scene: Scene, nodeName: string, failed: Failed): Plan {
  const { message } = failed;
  const said = failed.state === 'away' ? say(scene, { state: 'Failed', message }) : [];
  const retryMs = getLaterRetryMs(failed);
  return scene.nowMs < retryMs ? { steps: said, nextMs: retryMs } : { steps: [...said, { kind: 'upload', nodeName }] };
}

/** `at` is when it came to the state, so another message leaves it as it was. */
function say({ object: { status = {} }, nowMs }: Scene, now: Omit<Remote, 'at'>): Step[] {
  const { remote } = status;
  if (remote?.state === now.state && remote.message === now.message) return [];
  const at = remote?.state === now.state ? remote.at : formatRfc3339(nowMs);
  return [{ kind: 'status', status: { ...status, remote: { ...now, at } } }];
}

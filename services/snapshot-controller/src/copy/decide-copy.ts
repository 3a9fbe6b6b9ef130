import {
  annotations,
  findCondition,
  isHibernationOf,
  isUploaded,
  snapshotConditions,
  snapshotMessages,
  snapshotReasons,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Plan } from '../plan/steps.ts';
import type { CopyLook, Scene } from '../plan/scene.ts';
import { buildHold } from '../save/build-hold.ts';
import { buildFailedStatus, buildPendingStatus, buildRemoteStatus, buildSavingStatus } from '../status/build-status.ts';
import type { Problem, Source } from '../status/build-status.ts';

type Check = (object: SandboxSnapshot, look: CopyLook) => Problem | undefined;

/** In this order; the first one that objects decides. What the Sandbox may not do comes before what the original is. */
const checks: readonly Check[] = [
  findOwnerProblem,
  findOriginalProblem,
  findFailedOriginal,
  findDiskProblem,
  findTemplateProblem,
];

/**
 * Begins the copy from which a Sandbox starts, or says why there will be none. Only the Sandbox that asks for the snapshot by
 * `restoreFrom` gets one, and once; a hibernation is for its own Sandbox alone.
 */
export function decideCopy(scene: Scene): Plan {
  const { object, copied = {} } = scene;
  const problem = checks.map((check) => check(object, copied)).find((found) => found !== undefined);
  if (problem !== undefined) return { steps: [{ kind: 'status', status: buildFailedStatus(scene, problem) }] };
  const { sandbox, original } = copied;
  if (sandbox === undefined || original === undefined) throw new Error('a copy begins without an original');
  if (original.status?.phase !== 'Ready') return waitForOriginal(scene, original);
  return begin(scene, sandbox, original);
}

/** Its watch enqueues the copies of it. */
function waitForOriginal(scene: Scene, { metadata: { name = '' } }: SandboxSnapshot): Plan {
  const problem = { reason: snapshotReasons.snapshotNotReady, message: snapshotMessages.snapshotNotReady(name) };
  return { steps: [{ kind: 'status', status: buildPendingStatus(scene, problem) }] };
}

/** The annotation says which data it is, so that no later pass copies a snapshot that has since got the same name. */
function begin(scene: Scene, sandbox: Sandbox, original: SandboxSnapshot): Plan {
  const { uid: from = '', name = '' } = original.metadata;
  const nodeName = original.status?.nodeName ?? '';
  const notes = {
    [annotations.copiedFrom]: from,
    [annotations.savedRuntimeImage]: original.metadata.annotations?.[annotations.savedRuntimeImage] ?? null,
  };
  const problem = { reason: snapshotReasons.saving, message: snapshotMessages.copying(name, nodeName) };
  const remote = inheritRemote(original);
  const { disks } = original.status ?? {};
  const status = { ...buildSavingStatus(scene, buildSource(sandbox, original), problem), ...remote, disks };
  const hold = buildHold(scene.object, notes);
  // Its node is gone, and the bucket alone has the data: there is nothing to copy before a Pod is on a node.
  if (nodeName === '') return { steps: [...hold, { kind: 'status', status: buildRemoteStatus(scene, status) }] };
  return { steps: [...hold, { kind: 'status', status }, { kind: 'copy', nodeName, from }] };
}

/** What the bucket has of the original, from which other nodes than its own make the copy. */
function inheritRemote(original: SandboxSnapshot): SandboxSnapshotStatus {
  if (!isUploaded(original)) return {};
  const { remote, sizeBytes, size, fingerprint, fingerprintText, savedAt, hasFiles } = original.status ?? {};
  return { remote, remoteOf: original.metadata.uid, sizeBytes, size, fingerprint, fingerprintText, savedAt, hasFiles };
}

/** The Sandbox is the new one, by which its Pod proves that it may have the copy. The rest says whose memory it is. */
function buildSource({ metadata: { uid = '' } }: Sandbox, { status }: SandboxSnapshot): Source {
  const { podName = '', podUID = '' } = status?.source ?? {};
  return { sandboxUID: uid, podName, podUID, nodeName: status?.nodeName ?? '' };
}

function findOwnerProblem(object: SandboxSnapshot, { sandbox }: CopyLook): Problem | undefined {
  const name = object.spec.copyOf?.snapshotName ?? '';
  const isAsked =
    sandbox !== undefined && isHibernationOf(object, sandbox) && sandbox.spec.restoreFrom?.snapshotName === name;
  if (!isAsked) return { reason: snapshotReasons.notAStart, message: snapshotMessages.notAStart(name) };
  const used = sandbox.metadata.annotations?.[annotations.startMemory];
  if (used === undefined || used === object.metadata.uid) return undefined;
  return { reason: snapshotReasons.notAStart, message: snapshotMessages.startIsUsed(object.spec.sandboxName) };
}

/** Its processes go on with the same disks mounted, so neither may have one that the other lacks. */
function findDiskProblem({ spec }: SandboxSnapshot, { sandbox, original }: CopyLook): Problem | undefined {
  if (original?.status?.phase !== 'Ready') return undefined;
  const wanted = listTemplateNames(sandbox);
  const saved = (original.status.disks ?? []).map(({ name }) => name);
  if (wanted.length === saved.length && wanted.every((name) => saved.includes(name))) return undefined;
  const { disksMissing, disksNotSupported } = snapshotMessages;
  const message =
    saved.length === 0
      ? disksNotSupported(spec.sandboxName)
      : disksMissing(spec.sandboxName, original.metadata.name ?? '');
  return { reason: snapshotReasons.disksNotSupported, message };
}

function listTemplateNames(sandbox: Sandbox | undefined): string[] {
  return (sandbox?.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name ?? '');
}

function findOriginalProblem({ spec }: SandboxSnapshot, { original }: CopyLook): Problem | undefined {
  const name = spec.copyOf?.snapshotName ?? '';
  if (original === undefined || original.metadata.deletionTimestamp !== undefined)
    return { reason: snapshotReasons.snapshotNotFound, message: snapshotMessages.snapshotNotFound(name) };
  if (original.spec.whenSaved === 'StayPaused')
    return { reason: snapshotReasons.snapshotNotShared, message: snapshotMessages.snapshotNotShared(name) };
  return undefined;
}

function findFailedOriginal({ spec }: SandboxSnapshot, { original }: CopyLook): Problem | undefined {
  if (original?.status?.phase !== 'Failed') return undefined;
  const { message = '' } = findCondition(original.status.conditions, snapshotConditions.ready) ?? {};
  const text = snapshotMessages.snapshotFailed(spec.copyOf?.snapshotName ?? '', message);
  return { reason: snapshotReasons.snapshotNotReady, message: text };
}

/** Only a Ready original has its annotations for certain. */
function findTemplateProblem({ metadata, spec }: SandboxSnapshot, { original }: CopyLook): Problem | undefined {
  if (original?.status?.phase !== 'Ready') return undefined;
  const saved = original.metadata.annotations?.[annotations.savedTemplate];
  if (saved !== undefined && saved === metadata.annotations?.[annotations.savedTemplate]) return undefined;
  const message = snapshotMessages.templateMismatch(spec.copyOf?.snapshotName ?? '');
  return { reason: snapshotReasons.templateMismatch, message };
}

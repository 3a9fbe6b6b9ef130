import { formatRfc3339, setCondition, snapshotConditions, snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import type { SandboxSnapshotStatus, SnapshotReason } from '@sandlot/api-types';
import type { Manifest } from '../agent/messages.ts';
import type { Scene } from '../plan/scene.ts';
import { formatSize } from './format-size.ts';

type Phase = NonNullable<SandboxSnapshotStatus['phase']>;
export type Source = NonNullable<SandboxSnapshotStatus['source']>;
export type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

/** Why a snapshot is not Ready. */
export interface Problem {
  readonly reason: SnapshotReason;
  readonly message: string;
}

const DEFAULT_FAILED_SECONDS = 600;

/** The status with this phase, and the condition that goes with it. */
function withPhase(scene: Scene, phase: Phase, { reason, message }: Problem): SandboxSnapshotStatus {
  const { metadata, status } = scene.object;
  const observedGeneration = metadata.generation ?? 1;
  const ready = {
    type: snapshotConditions.ready,
    status: phase === 'Ready' ? ('True' as const) : ('False' as const),
    observedGeneration,
    reason,
    message,
  };
  const conditions = setCondition(status?.conditions, ready, formatRfc3339(scene.nowMs));
  return { ...status, observedGeneration, phase, conditions };
}

/** The save has to wait for something else. */
export function buildPendingStatus(scene: Scene, problem: Problem): SandboxSnapshotStatus {
  return withPhase(scene, 'Pending', problem);
}

/** The save is about to begin, or goes on in spite of this problem. */
export function buildSavingStatus(scene: Scene, source: Source, problem?: Problem): SandboxSnapshotStatus {
  const message = snapshotMessages.saving(source.podName, source.nodeName);
  return { ...withPhase(scene, 'Saving', problem ?? { reason: snapshotReasons.saving, message }), source };
}

export function buildReadyStatus(scene: Scene, saved: Manifest): SandboxSnapshotStatus {
  const { bytes, machine, savedAt, contents, hasFiles } = saved;
  const status = {
    ...withPhase(scene, 'Ready', { reason: snapshotReasons.saved, message: snapshotMessages.saved }),
    savedAt: formatRfc3339(Date.parse(savedAt)),
    sizeBytes: bytes,
    size: formatSize(bytes),
    ...(hasFiles === true ? { hasFiles } : {}),
    ...(contents === 'Files' ? {} : buildFingerprint(machine)),
    nodeName: scene.object.status?.source?.nodeName,
  };
  return { ...status, expiresAt: findExpiry({ ...scene, object: { ...scene.object, status } }) };
}

/** A copy whose data the bucket alone has, under the UID of its original. `begun` says which. */
export function buildRemoteStatus(scene: Scene, begun: SandboxSnapshotStatus): SandboxSnapshotStatus {
  const problem = { reason: snapshotReasons.saved, message: snapshotMessages.saved };
  return { ...begun, ...pickPhase(withPhase(scene, 'Ready', problem)), nodeName: undefined };
}

function pickPhase({ observedGeneration, phase, conditions }: SandboxSnapshotStatus): SandboxSnapshotStatus {
  return { observedGeneration, phase, conditions };
}

/** Files need no node of a kind. */
function buildFingerprint({ hash, runscVersion, architecture }: Manifest['machine']): Partial<SandboxSnapshotStatus> {
  return { fingerprint: hash, fingerprintText: `runsc ${runscVersion}, ${architecture}` };
}

/** It never becomes Ready, or Ready again. The object stays for a while, so that the reason can be read. */
export function buildFailedStatus(scene: Scene, problem: Problem): SandboxSnapshotStatus {
  const seconds = scene.snapshotClass?.spec.retention?.failedSeconds ?? DEFAULT_FAILED_SECONDS;
  return { ...withPhase(scene, 'Failed', problem), expiresAt: formatRfc3339(scene.nowMs + seconds * 1_000) };
}

export function buildRestoreStatus(scene: Scene, restore: Omit<Restore, 'at'>): SandboxSnapshotStatus {
  return { ...scene.object.status, restore: { ...restore, at: formatRfc3339(scene.nowMs) } };
}

/**
 * When a saved snapshot expires, by the class and the object as they are now; undefined: never. A copy waits for its Sandbox
 * alone, and its data is older than itself.
 */
export function findExpiry({ object: { spec, status }, snapshotClass }: Scene): string | undefined {
  if (spec.copyOf !== undefined) return undefined;
  const seconds = spec.ttlSeconds ?? snapshotClass?.spec.retention?.readySeconds;
  if (seconds === undefined || status?.savedAt === undefined) return undefined;
  return formatRfc3339(Date.parse(status.savedAt) + seconds * 1_000);
}

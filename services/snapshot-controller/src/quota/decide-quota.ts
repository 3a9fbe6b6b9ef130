import { snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import type { Plan } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { buildPendingStatus } from '../status/build-status.ts';
import type { Problem } from '../status/build-status.ts';

/** How often a save that waits for another one looks again. */
const LOOK_AGAIN_MS = 2_000;

/** Why the quota of the class allows no further save in the namespace; undefined when it allows one. */
export function findQuotaProblem(scene: Scene): Problem | undefined {
  const message = findCountProblem(scene) ?? findBytesProblem(scene);
  return message === undefined ? undefined : { reason: snapshotReasons.quotaExceeded, message };
}

/** A hibernation is part of its Sandbox and counts by its bytes alone. */
function findCountProblem({ object, snapshotClass, kept }: Scene): string | undefined {
  const most = snapshotClass?.spec.quota?.snapshotsPerNamespace;
  if (most === undefined || object.spec.whenSaved === 'StayPaused' || kept.snapshots < most) return undefined;
  return snapshotMessages.tooManySnapshots(most, snapshotClass?.metadata.name ?? '');
}

function findBytesProblem(scene: Scene): string | undefined {
  if (findMostBytes(scene) !== 0) return undefined;
  const { metadata, spec } = scene.snapshotClass ?? {};
  return snapshotMessages.tooManyBytes(spec?.quota?.bytesPerNamespace ?? 0, metadata?.name ?? '');
}

/** The bytes that the quota has left for the save; undefined without such a quota. */
export function findMostBytes({ snapshotClass, kept }: Scene): number | undefined {
  const { bytesPerNamespace } = snapshotClass?.spec.quota ?? {};
  return bytesPerNamespace === undefined ? undefined : Math.max(0, bytesPerNamespace - kept.bytes);
}

/** How many bytes a save takes is known at its end, so with a quota of bytes one goes after the other. */
export function decideTurn(scene: Scene): Plan | undefined {
  if (findMostBytes(scene) === undefined || !scene.kept.isSaving) return undefined;
  const message = snapshotMessages.waitsForTurn(scene.snapshotClass?.metadata.name ?? '');
  const status = buildPendingStatus(scene, { reason: snapshotReasons.pending, message });
  return { steps: [{ kind: 'status', status }], nextMs: scene.nowMs + LOOK_AGAIN_MS };
}

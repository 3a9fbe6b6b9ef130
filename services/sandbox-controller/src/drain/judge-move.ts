import { needsHibernation, resolveMode } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { findSaveOf } from '../hibernate/hibernations.ts';
import { isKept, judgeSave } from '../hibernate/judge-save.ts';
import type { Save } from '../hibernate/judge-save.ts';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isMover } from './protection.ts';

/**
 * How a Pod leaves a node that is being emptied. `none`: it need not, or its suspension sees to it. `create`: it is saved now.
 * `leave`: it is saved, so the next Pod may follow. `giveUp`: its memory cannot be saved.
 */
export type Move =
  | { readonly kind: 'none' | 'create' | 'leave' }
  | { readonly kind: 'wait'; readonly untilMs?: number | undefined }
  | { readonly kind: 'giveUp'; readonly why: string };

/** The longest that a node waits for a save, and again for the upload of what was saved. */
const PATIENCE_MS = 600_000;

const NONE: Move = { kind: 'none' };

/** A suspension decides about the Pod itself; then only what keeps the node from being emptied counts. */
export function judgeMove(snapshot: Snapshot, pod: Pod): Move {
  if (snapshot.drain === undefined || !isMover(pod) || !needsHibernation(snapshot.sandbox.spec)) return NONE;
  const save = judgeSave(snapshot, pod);
  if (save.kind === 'wait') return judgeWait(snapshot, findSaveOf(snapshot, pod), save.untilMs);
  const isSuspended = resolveMode(snapshot.sandbox.spec) === 'Suspended';
  return isSuspended ? judgeSuspended(snapshot, save) : judgeRunning(snapshot, pod, save);
}

type Settled = Exclude<Save, { readonly kind: 'wait' }>;

/** A Pod that is kept although its memory could not be saved would keep its node for ever. */
function judgeSuspended(snapshot: Snapshot, save: Settled): Move {
  return save.kind === 'failed' && isKept(snapshot, save) ? { kind: 'giveUp', why: save.why } : NONE;
}

function judgeRunning(snapshot: Snapshot, pod: Pod, save: Settled): Move {
  switch (save.kind) {
    case 'stop':
    case 'lost':
      return NONE;
    case 'create':
      return { kind: snapshot.drain?.hasTurn === true ? 'create' : 'wait' };
    case 'saved':
      return judgeSaved(snapshot, findSaveOf(snapshot, pod));
    case 'failed':
      return { kind: 'giveUp', why: save.why };
  }
}

/** Whether the Pod of a Sandbox that runs is saved, or about to be, because its node is being emptied. */
export function isBeingMoved(snapshot: Snapshot, pod: Pod): boolean {
  return judgeMove(snapshot, pod).kind !== 'none';
}

/** When the controller no longer waits for a save or an upload, epoch milliseconds; undefined: it does not. */
export function findMoveAtMs(snapshot: Snapshot): number | undefined {
  const pod = findOnlyPod(snapshot);
  const move = pod === undefined ? NONE : judgeMove(snapshot, pod);
  return move.kind === 'wait' ? move.untilMs : undefined;
}

/** The Pod stands still. It stays for the upload, because the node goes as soon as no Pod keeps it. */
function judgeSaved({ drain, nowMs }: Snapshot, save: SandboxSnapshot | undefined): Move {
  const { remote, savedAt } = save?.status ?? {};
  if (drain?.needsUpload !== true || remote?.state === 'Uploaded' || savedAt === undefined) return { kind: 'leave' };
  const untilMs = Date.parse(savedAt) + PATIENCE_MS;
  return untilMs > nowMs ? { kind: 'wait', untilMs } : { kind: 'leave' };
}

function judgeWait({ nowMs }: Snapshot, save: SandboxSnapshot | undefined, untilMs: number | undefined): Move {
  const begun = save?.metadata.creationTimestamp;
  if (begun === undefined) return { kind: 'wait', untilMs };
  const endMs = Date.parse(begun) + PATIENCE_MS;
  if (endMs > nowMs) return { kind: 'wait', untilMs: Math.min(endMs, untilMs ?? Infinity) };
  const name = save?.metadata.name ?? '';
  return { kind: 'giveUp', why: `SandboxSnapshot "${name}" was not complete after ${PATIENCE_MS / 60_000} minutes` };
}

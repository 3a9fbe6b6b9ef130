// Pauses and resumes, one at a time over all replicas (docs/reference/e2b-api.md#one-at-a-time).
import {
  annotations,
  buildFilesNote,
  buildUnresponsiveNote,
  getModeSpelling,
  resumePatch,
  suspendPatch,
} from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { createSandboxId } from '@sandlot/tenancy';
import { conflict } from '../../errors/refusals.ts';
import type { ApiError } from '../../errors/api-error.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SavedMemory } from '../../state/saved-memory.ts';
import { getState, isSuspended } from '../../state/sandbox-state.ts';
import { findDoing, formatTransition } from '../../state/transition.ts';
import { patchSandbox } from './guarded-patches.ts';
import type { PatchDeps } from './guarded-patches.ts';

export interface TransitionDeps extends PatchDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** How long to wait for a suspend or resume to complete. */
  readonly transitionTimeoutMs: number;
}

/** 409: another request is busy with the sandbox. */
export function inProgress(id = '', doing: string): ApiError {
  return conflict(`sandbox '${id}' is ${doing}; try again`);
}

/** Throws an ApiError 409 for a sandbox that is paused, or that another request is pausing, resuming or saving. */
function assertPausable(id: string | undefined, sandbox: Sandbox, nowMs: number): void {
  const doing = findDoing(sandbox, nowMs);
  if (doing !== undefined) throw inProgress(id, doing);
  if (isSuspended(sandbox) && getState(sandbox) === 'paused') throw conflict('the sandbox is paused already');
}

/** Throws an ApiError 409 if the sandbox cannot be paused now, and 404 if it is gone. Changes nothing. */
export async function checkPausable(deps: TransitionDeps, claimed: ClaimedSandbox): Promise<ClaimedSandbox> {
  const { name } = claimed.claim.metadata;
  const sandbox = await patchSandbox(deps, claimed, (current) => {
    assertPausable(name, current, deps.clock.now());
    return undefined;
  });
  return { ...claimed, sandbox };
}

export interface Suspension {
  /** Its daemon does not answer. */
  readonly isUnresponsive: boolean;
  /** Its files are saved, and no memory, if it hibernates. */
  readonly keepsFiles: boolean;
}

/** Suspends the Sandbox. Throws an ApiError: 409 as {@link checkPausable}, also if another request comes first. */
export function suspend(
  deps: TransitionDeps,
  claimed: ClaimedSandbox,
  { isUnresponsive, keepsFiles }: Suspension,
): Promise<Sandbox> {
  const { name } = claimed.claim.metadata;
  return patchSandbox(deps, claimed, (sandbox) => {
    assertPausable(name, sandbox, deps.clock.now());
    const patch = suspendPatch(sandbox, { by: 'API', spelling: getModeSpelling(sandbox.spec) });
    const note = isUnresponsive ? buildUnresponsiveNote(sandbox) : { [annotations.unresponsiveDaemon]: null };
    const files = keepsFiles ? buildFilesNote(sandbox) : { [annotations.pauseKeepsFiles]: null };
    return annotate(patch, { [annotations.transition]: null, ...note, ...files });
  });
}

/** Resumes the Sandbox, unless it runs. Until it was Ready, the record keeps a pause away. Throws an ApiError 404. */
export function resume(deps: TransitionDeps, claimed: ClaimedSandbox): Promise<Sandbox> {
  const sinceMs = deps.clock.now();
  const untilMs = sinceMs + deps.transitionTimeoutMs;
  const text = formatTransition({ kind: 'resume', id: createSandboxId(), sinceMs, untilMs });
  return patchSandbox(deps, claimed, (sandbox) => {
    if (getState(sandbox) === 'running') return undefined;
    const patch = resumePatch(sandbox, { spelling: getModeSpelling(sandbox.spec) });
    return annotate(patch, { [annotations.transition]: text });
  });
}

interface DiscardDeps extends PatchDeps {
  readonly savedMemory: Pick<SavedMemory, 'discard'>;
}

/** Lets the next start of a suspended Sandbox boot, with its files if they were kept. Throws an ApiError 404. */
export async function discardMemory(deps: DiscardDeps, claimed: ClaimedSandbox): Promise<void> {
  if (claimed.sandbox === undefined) return;
  const patch = await deps.savedMemory.discard(claimed.sandbox);
  if (patch !== undefined) await patchSandbox(deps, claimed, () => patch);
}

function annotate(patch: JsonObject, added: JsonObject): JsonObject {
  const metadata = (patch['metadata'] ?? {}) as JsonObject;
  return { ...patch, metadata: { ...metadata, annotations: { ...(metadata['annotations'] as JsonObject), ...added } } };
}

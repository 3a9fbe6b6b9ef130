import {
  annotations,
  buildFilesNote,
  getModeSpelling,
  formatRfc3339,
  sandboxClaims,
  sandboxes,
  suspendPatch,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { done, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { JsonObject, ReconcileResult } from '@sandlot/kube';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Step } from '../plan/plan.ts';

/** The claim or its Sandbox changed during the pass: decide again soon. */
const CHANGED: ReconcileResult = requeueAfter(100, 'the claim or its Sandbox has changed');

/** Suspends the Sandbox. An edit that comes first defeats the guarded patch, and the next pass decides again. */
export async function pause(
  deps: ApplyDeps,
  { claim, signal }: Pass,
  { sandbox, endedAtMs }: Step & { kind: 'pause' },
): Promise<ReconcileResult> {
  const { namespace, name = '' } = sandbox.metadata;
  const patch = buildPausePatch(claim, sandbox);
  const write = (): Promise<unknown> => deps.client.mergePatch(sandboxes, { namespace, name }, patch, { signal });
  if (!(await isWritten(write))) return CHANGED;
  deps.memory.of(claim).pausedForMs = endedAtMs;
  return done;
}

function buildPausePatch({ metadata }: SandboxClaim, sandbox: Sandbox): JsonObject {
  const patch = suspendPatch(sandbox, { by: 'API', spelling: getModeSpelling(sandbox.spec) });
  if (metadata.annotations?.[annotations.autoPauseMemory] !== 'false') return patch;
  const { annotations: given, ...others } = patch['metadata'] as JsonObject;
  return { ...patch, metadata: { ...others, annotations: { ...(given as JsonObject), ...buildFilesNote(sandbox) } } };
}

/** Gives a Sandbox that was woken after its end more time, and ends the retention of a paused one. */
export function prolong(
  deps: ApplyDeps,
  pass: Pass,
  { endAtMs }: Step & { kind: 'prolong' },
): Promise<ReconcileResult> {
  const { spec, metadata } = pass.claim;
  const isKept = metadata.annotations?.[annotations.pausedRetention] !== undefined;
  const lifecycle = isKept && spec.lifecycle?.shutdownTime !== undefined ? { shutdownTime: null } : undefined;
  const notes = { [annotations.endAt]: formatRfc3339(endAtMs) };
  return patchClaim(deps, pass, { notes, spec: lifecycle === undefined ? {} : { lifecycle } });
}

/** Ends the claim together with the retention of its paused Sandbox. */
export function retain(
  deps: ApplyDeps,
  pass: Pass,
  { shutdownAtMs }: Step & { kind: 'retain' },
): Promise<ReconcileResult> {
  const lifecycle = { shutdownTime: formatRfc3339(shutdownAtMs), shutdownPolicy: 'Delete' };
  return patchClaim(deps, pass, { notes: {}, spec: { lifecycle } });
}

interface ClaimChange {
  readonly notes: JsonObject;
  readonly spec: JsonObject;
}

/** Guarded by resourceVersion: a user who changes the claim's times at this moment wins. */
async function patchClaim(
  deps: ApplyDeps,
  { claim, signal }: Pass,
  { notes, spec }: ClaimChange,
): Promise<ReconcileResult> {
  const { namespace, name = '', uid = '', resourceVersion = '' }: SandboxClaim['metadata'] = claim.metadata;
  const patch = { metadata: { uid, resourceVersion, annotations: notes }, spec };
  const write = (): Promise<unknown> => deps.client.mergePatch(sandboxClaims, { namespace, name }, patch, { signal });
  return (await isWritten(write)) ? done : CHANGED;
}

/** False when the object is gone or has changed. */
async function isWritten(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}

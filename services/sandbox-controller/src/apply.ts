import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { RetryableError, isConflict, isNotFound, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { JsonObject, KubeObject, PersistentVolumeClaim, Pod } from '@sandlot/kube';
import { createOrRead, deleteObject, objectKey, patchObject } from './writes/calls.ts';
import type { CallDeps, PatchInput } from './writes/calls.ts';
import { publishableText } from './writes/error-text.ts';
import { answerWake, inform, recordEvent } from './troubles/report-trouble.ts';
import type { InformDeps } from './troubles/report-trouble.ts';
import { changeImage } from './pod/inplace-image.ts';
import { ownershipOf } from './ownership/ownership.ts';
import { deletionKey } from './troubles/pod-troubles.ts';
import { isRefused } from './writes/refusals.ts';
import type { Refusals } from './writes/refusals.ts';
import { failed } from './plan/snapshot.ts';
import type { Phase, Snapshot } from './plan/snapshot.ts';
import type { ChildStep, EventNote, Plan, SandboxStep, Step } from './plan/steps.ts';
import { reducedSandbox } from './wiring/transform.ts';

/** What applying a plan needs. */
export interface ApplyDeps extends CallDeps, InformDeps {
  /** Told about every status that was published, with the Sandbox as it was before. Must not throw. */
  readonly onPublished: (before: Sandbox, after: Sandbox) => void;
  readonly refusals: Refusals;
}

/**
 * Applies `plan` in order and returns what is known afterwards. A step that fails for a reason the owner should know
 * becomes a failure of its phase and skips the rest of that phase; any other error ends the pass by throwing.
 */
export async function apply(deps: ApplyDeps, snapshot: Snapshot, plan: Plan): Promise<Snapshot> {
  let current = snapshot;
  for (const step of plan) {
    const phase = 'phase' in step ? step.phase : undefined;
    if (step.kind === 'lookAgain' || current.gone || (phase !== undefined && failed(current, phase))) continue;
    try {
      current = await applyStep(deps, current, step);
    } catch (error) {
      current = withFailure(deps, current, { phase, error });
    }
  }
  return current;
}

interface Failed {
  readonly phase: Phase | undefined;
  readonly error: unknown;
}

function withFailure({ refusals }: ApplyDeps, snapshot: Snapshot, { phase, error }: Failed): Snapshot {
  const message = publishableText(error);
  if (message !== undefined && phase !== undefined) {
    const failure = { phase, message };
    const isKept = isRefused(error) && phase !== 'expiry';
    const kept = isKept ? refusals.refused(snapshot.sandbox, failure) : failure;
    return { ...snapshot, failures: [...snapshot.failures, kept] };
  }
  if (isConflict(error) || isNotFound(error)) {
    throw new RetryableError('an object changed or went away under this pass', { cause: error });
  }
  throw error;
}

async function applyStep(deps: ApplyDeps, s: Snapshot, step: Exclude<Step, { kind: 'lookAgain' }>): Promise<Snapshot> {
  switch (step.kind) {
    case 'patchSandbox':
    case 'suspendSandbox':
    case 'resumeSandbox':
    case 'patchStatus':
    case 'deleteSandbox':
      return applyToSandbox(deps, s, step);
    case 'refuse':
      return { ...s, failures: [...s.failures, { phase: step.phase, message: step.message }] };
    case 'refuseWake':
    case 'recordEvent':
    case 'tell':
      return inform(deps, s, step);
    default:
      return applyToChild(deps, s, step);
  }
}

async function applyToChild(deps: ApplyDeps, s: Snapshot, step: ChildStep): Promise<Snapshot> {
  switch (step.kind) {
    case 'createClaim':
      return withClaim(s, step.claim, await createOrRead(deps, persistentVolumeClaims, step.claim));
    case 'patchClaim':
      return withClaim(s, step.claim, await patchObject(deps, persistentVolumeClaims, patchOf(step.claim, step)));
    case 'deleteClaim':
      return withClaim(s, step.claim, await deleteObject(deps, persistentVolumeClaims, step.claim));
    case 'createPod':
      return withPod(s, await createOrRead(deps, pods, step.pod));
    case 'patchPod':
      return withPod(s, await patchPod(deps, s, step));
    case 'deletePod':
      return deletePod(deps, s, step.pod);
    case 'createService':
      return { ...s, service: await createOrRead(deps, services, step.service) };
    case 'patchService':
      return { ...s, service: await patchObject(deps, services, patchOf(step.service, step)) };
    case 'deleteService':
      return { ...s, service: await deleteObject(deps, services, step.service) };
  }
}

/** What we delete is no news to its owner. */
async function deletePod(deps: ApplyDeps, s: Snapshot, pod: Pod): Promise<Snapshot> {
  const told = deps.told.add(s.sandbox.metadata.uid ?? '', deletionKey(pod));
  return { ...withoutPod(s, pod, await deleteObject(deps, pods, pod)), told };
}

function patchPod(deps: ApplyDeps, { sandbox }: Snapshot, step: ChildStep & { kind: 'patchPod' }): Promise<Pod> {
  const { image } = step;
  if (image === undefined) return patchObject(deps, pods, patchOf(step.pod, step));
  return changeImage(deps, { ...step, sandbox, image });
}

function patchOf(object: KubeObject, { patch }: { readonly patch: JsonObject }): PatchInput {
  return { key: objectKey(object), patch };
}

/**
 * A Sandbox that is gone, or was made anew under its name, has nothing left to be told: that is success. Steps guarded by
 * resourceVersion conflict with edits too, and are decided anew.
 */
async function applyToSandbox(deps: ApplyDeps, s: Snapshot, step: SandboxStep): Promise<Snapshot> {
  try {
    if (step.kind === 'deleteSandbox') return await deleteSandbox(deps, s, step.note);
    const subresource = step.kind === 'patchStatus' ? 'status' : undefined;
    const answer = await patchObject(deps, sandboxes, { key: objectKey(s.sandbox), patch: step.patch, subresource });
    const sandbox = reducedSandbox(answer);
    deps.recent.published(sandbox);
    if (step.kind === 'patchStatus') deps.onPublished(s.sandbox, sandbox);
    const next = { ...s, sandbox };
    return step.kind === 'resumeSandbox' ? answerWake(deps, next, 'resumed') : next;
  } catch (error) {
    const isReplaced = isConflict(error) && !GUARDED.has(step.kind);
    if (isNotFound(error) || isReplaced) return { ...s, gone: true };
    throw error;
  }
}

const GUARDED: ReadonlySet<Step['kind']> = new Set(['deleteSandbox', 'suspendSandbox', 'resumeSandbox']);

/** Guarded by resourceVersion: an edit that moves the deadline must win over the deletion it makes wrong. */
async function deleteSandbox(deps: ApplyDeps, s: Snapshot, note: EventNote | undefined): Promise<Snapshot> {
  const { uid = '', resourceVersion = '' } = s.sandbox.metadata;
  await deps.client.delete(sandboxes, objectKey(s.sandbox), { signal: deps.signal, uid, resourceVersion });
  if (note !== undefined) recordEvent(deps, s, note);
  return { ...s, gone: true };
}

function withClaim(s: Snapshot, asked: PersistentVolumeClaim, found: PersistentVolumeClaim | undefined): Snapshot {
  const claims = new Map(s.claims);
  const name = asked.metadata.name ?? '';
  if (found === undefined) claims.delete(name);
  else claims.set(name, found);
  return { ...s, claims };
}

function withPod(s: Snapshot, pod: Pod): Snapshot {
  const isOurs = ownershipOf(pod, s.sandbox) === 'ours';
  return isOurs ? { ...s, ownedPods: [pod], foreignPod: undefined } : { ...s, foreignPod: pod };
}

function withoutPod(s: Snapshot, asked: Pod, left: Pod | undefined): Snapshot {
  const others = s.ownedPods.filter((pod) => pod.metadata.uid !== asked.metadata.uid);
  return { ...s, ownedPods: left === undefined ? others : [...others, left] };
}

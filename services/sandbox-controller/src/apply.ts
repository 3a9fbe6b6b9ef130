import { sandboxes, sandboxMessages, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { RetryableError, isConflict, isInvalid, isNotFound } from '@sandlot/kube';
import type { PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import { applyToHibernation } from './hibernate/apply-hibernation.ts';
import { getOwnership } from './ownership/ownership.ts';
import { hasFailed } from './plan/snapshot.ts';
import type { Failure, Phase, Snapshot } from './plan/snapshot.ts';
import type { ChildStep, EventNote, Plan, SandboxStep, Step } from './plan/steps.ts';
import { changeImage } from './pod/change-image.ts';
import { createKeySecret } from './pod/create-key-secret.ts';
import { resizePod } from './pod/resize-pod.ts';
import { isRecordNews } from './start-memory/start-record.ts';
import { withRestoreTrace } from './telemetry/restore-trace.ts';
import { applyReport, recordEvent } from './troubles/apply-reports.ts';
import type { ReportDeps } from './troubles/apply-reports.ts';
import { formatDeletionKey } from './troubles/pod-troubles.ts';
import { reduceSandbox } from './wiring/transform.ts';
import { createOrRead, deleteIncarnation, deleteObject, buildObjectKey, patchObject } from './writes/calls.ts';
import type { CallDeps } from './writes/calls.ts';
import { findPublishableText } from './writes/error-text.ts';
import { isRejection } from './writes/rejected-writes.ts';
import type { RejectedWrites } from './writes/rejected-writes.ts';

export interface ApplyDeps extends CallDeps, ReportDeps {
  /** Called with every status that was written, and the Sandbox before it. Must not throw. */
  readonly onStatusWritten: (before: Sandbox, after: Sandbox) => void;
  readonly rejectedWrites: RejectedWrites;
}

/**
 * Applies `plan` in order and returns the snapshot that results. A step that fails for a reason the owner should know
 * becomes a failure of its phase, and the rest of that phase is skipped. Any other error ends the pass by throwing.
 */
export async function apply(deps: ApplyDeps, snapshot: Snapshot, plan: Plan): Promise<Snapshot> {
  let current = snapshot;
  for (const step of plan) {
    const phase = 'phase' in step ? step.phase : undefined;
    if (step.kind === 'requeueNow' || current.gone || (phase !== undefined && hasFailed(current, phase))) continue;
    try {
      current = await applyStep(deps, current, step);
    } catch (error) {
      current = withFailure(deps, current, { phase, error });
    }
  }
  return current;
}

interface FailedStep {
  readonly phase: Phase | undefined;
  readonly error: unknown;
}

function withFailure({ rejectedWrites }: ApplyDeps, snapshot: Snapshot, { phase, error }: FailedStep): Snapshot {
  const message = findPublishableText(error);
  if (message !== undefined && phase !== undefined) {
    const failure = buildFailure({ phase, error }, message);
    const isRemembered = isRejection(error) && phase !== 'expiry';
    const final = isRemembered ? rejectedWrites.record(snapshot.sandbox, failure) : failure;
    return { ...snapshot, failures: [...snapshot.failures, final] };
  }
  if (isConflict(error) || isNotFound(error)) {
    throw new RetryableError('an object changed or went away during this pass', { cause: error });
  }
  throw error;
}

function buildFailure({ phase, error }: FailedStep & { readonly phase: Phase }, message: string): Failure {
  if (phase === 'resize' && isRejection(error)) {
    return { phase, message: sandboxMessages.resizeRejected(message), reason: sandboxReasons.resizeRejected };
  }
  return isInvalid(error) ? { phase, message, isInvalid: true } : { phase, message };
}

async function applyStep(deps: ApplyDeps, s: Snapshot, step: Exclude<Step, { kind: 'requeueNow' }>): Promise<Snapshot> {
  if (isAboutSandbox(step)) return applyToSandbox(deps, s, step);
  switch (step.kind) {
    case 'reportFailure':
      return { ...s, failures: [...s.failures, { phase: step.phase, message: step.message }] };
    case 'answerWake':
    case 'recordEvent':
    case 'countMove':
    case 'reportTrouble':
      return applyReport(deps, s, step);
    default:
      return applyToChild(deps, s, step);
  }
}

const ABOUT_SANDBOX: ReadonlySet<Step['kind']> = new Set<SandboxStep['kind']>([
  'patchSandbox',
  'suspendSandbox',
  'resumeSandbox',
  'recordStart',
  'patchStatus',
  'deleteSandbox',
]);

function isAboutSandbox(step: Step): step is SandboxStep {
  return ABOUT_SANDBOX.has(step.kind);
}

async function applyToChild(deps: ApplyDeps, s: Snapshot, step: ChildStep): Promise<Snapshot> {
  if ('disk' in step) return withDisk(s, step.disk, await applyToDisk(deps, step));
  switch (step.kind) {
    case 'createKeySecret':
      await createKeySecret(deps, step);
      return s;
    case 'createPod':
      return withPod(s, await createOrRead(deps, deps.collections.pods, withRestoreTrace(step.pod)));
    case 'patchPod':
    case 'resizePod':
      return withPod(s, await changePod(deps, s, step));
    case 'deletePod':
      return deletePod(deps, s, step);
    case 'createHibernation':
    case 'deleteHibernation':
      return applyToHibernation(deps, s, step);
    default:
      return { ...s, service: await applyToService(deps, step) };
  }
}

type DiskStep = Extract<ChildStep, { readonly disk: PersistentVolumeClaim }>;

function applyToDisk(deps: ApplyDeps, step: DiskStep): Promise<PersistentVolumeClaim | undefined> {
  const { disks } = deps.collections;
  switch (step.kind) {
    case 'createDisk':
      return createOrRead(deps, disks, step.disk);
    case 'patchDisk':
      return patchObject(deps, disks, { object: step.disk, patch: step.patch });
    case 'deleteDisk':
      return deleteObject(deps, disks, step.disk);
  }
}

type ServiceStep = Extract<ChildStep, { readonly service: Service }>;

function applyToService(deps: ApplyDeps, step: ServiceStep): Promise<Service | undefined> {
  const { services } = deps.collections;
  switch (step.kind) {
    case 'createService':
      return createOrRead(deps, services, step.service);
    case 'patchService':
      return patchObject(deps, services, { object: step.service, patch: step.patch });
    case 'deleteService':
      return deleteObject(deps, services, step.service);
  }
}

type PodDeletion = Extract<ChildStep, { readonly kind: 'deletePod' }>;

/** The shortest time in which the kubelet still ends a Pod properly. Hooks of a Pod that stands still would never answer. */
const FROZEN_GRACE_SECONDS = 1;

/** Counts the deletion as reported before the request: the owner needs no Event about what the controller deletes. */
async function deletePod(deps: ApplyDeps, s: Snapshot, { pod, isFrozen }: PodDeletion): Promise<Snapshot> {
  const gracePeriodSeconds = isFrozen === true ? FROZEN_GRACE_SECONDS : undefined;
  const reportedTroubles = deps.reportedTroubles.record(s.sandbox.metadata.uid ?? '', formatDeletionKey(pod));
  const left = await deleteIncarnation(deps, deps.collections.pods, { object: pod, gracePeriodSeconds });
  return { ...withoutPod(s, pod, left), reportedTroubles };
}

type PodChange = Extract<ChildStep, { readonly kind: 'patchPod' | 'resizePod' }>;

function changePod(deps: ApplyDeps, { sandbox }: Snapshot, step: PodChange): Promise<Pod> {
  if (step.kind === 'resizePod') return resizePod(deps, { ...step, sandbox });
  const { image, pod, patch } = step;
  if (image === undefined) return patchObject(deps, deps.collections.pods, { object: pod, patch });
  return changeImage(deps, { ...step, sandbox, image });
}

/**
 * A Sandbox that is gone, or a new one of its name, needs nothing from this pass: that counts as success. A step guarded by
 * resourceVersion also conflicts with edits; then the next pass decides anew.
 */
async function applyToSandbox(deps: ApplyDeps, s: Snapshot, step: SandboxStep): Promise<Snapshot> {
  try {
    if (step.kind === 'deleteSandbox') return await deleteSandbox(deps, s, step.note);
    const subresource = step.kind === 'patchStatus' ? 'status' : undefined;
    const input = { object: s.sandbox, patch: step.patch, subresource } as const;
    const sandbox = reduceSandbox(await patchObject(deps, deps.collections.sandboxes, input));
    if (step.kind === 'patchStatus') deps.onStatusWritten(s.sandbox, sandbox);
    return { ...s, sandbox, needsMemoryLook: s.needsMemoryLook || isRecordNews(step, s.sandbox, sandbox) };
  } catch (error) {
    const isReplaced = isConflict(error) && !GUARDED.has(step.kind);
    if (isNotFound(error) || isReplaced) return { ...s, gone: true };
    throw error;
  }
}

const GUARDED: ReadonlySet<Step['kind']> = new Set(['deleteSandbox', 'suspendSandbox', 'resumeSandbox', 'recordStart']);

/** The resourceVersion makes an edit that moves the deadline win over the deletion. */
async function deleteSandbox(deps: ApplyDeps, s: Snapshot, note: EventNote | undefined): Promise<Snapshot> {
  const { uid = '', resourceVersion = '' } = s.sandbox.metadata;
  await deps.client.delete(sandboxes, buildObjectKey(s.sandbox), { signal: deps.signal, uid, resourceVersion });
  if (note !== undefined) recordEvent(deps, s, note);
  return { ...s, gone: true };
}

function withDisk(s: Snapshot, asked: PersistentVolumeClaim, found: PersistentVolumeClaim | undefined): Snapshot {
  const disks = new Map(s.disks);
  const name = asked.metadata.name ?? '';
  if (found === undefined) disks.delete(name);
  else disks.set(name, found);
  return { ...s, disks };
}

function withPod(s: Snapshot, pod: Pod): Snapshot {
  const isOurs = getOwnership(pod, s.sandbox) === 'ours';
  return isOurs ? { ...s, ownedPods: [pod], foreignPod: undefined } : { ...s, foreignPod: pod };
}

function withoutPod(s: Snapshot, asked: Pod, left: Pod | undefined): Snapshot {
  const others = s.ownedPods.filter((pod) => pod.metadata.uid !== asked.metadata.uid);
  return { ...s, ownedPods: left === undefined ? others : [...others, left] };
}

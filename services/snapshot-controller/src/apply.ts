import { annotations, buildMergePatch, finalizers, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxTemplate } from '@sandlot/api-types';
import {
  getKey,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  parseKey,
  persistentVolumeClaims,
} from '@sandlot/kube';
import type { EventRecorder, JsonObject, KubeClient, OwnWrites, PersistentVolumeClaim } from '@sandlot/kube';
import { failSpan, parseCarriedContext, spanAttributes, spanNames, withSpan } from '@sandlot/telemetry';
import type { SpanName } from '@sandlot/telemetry';
import type { Agents } from './agent/agents.ts';
import { callIds } from './agent/call-ids.ts';
import type { AgentCalls } from './agent/calls.ts';
import type { RestoreEnd, SnapshotId } from './agent/messages.ts';
import { restoreHere } from './agent/restore-here.ts';
import { DiskRefused } from './disks/disk-refused.ts';
import type { Step } from './plan/steps.ts';
import type { SnapshotMetrics } from './telemetry/metrics.ts';
import { TemplateRefused } from './template/template-refused.ts';

export interface ApplyDeps {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly metrics: SnapshotMetrics;
  readonly snapshots: OwnWrites<SandboxSnapshot>;
  readonly agents: Agents;
  readonly calls: AgentCalls;
}

/** Takes one step and returns the object as it is afterwards. Every write is guarded by the resourceVersion. */
export async function apply(
  deps: ApplyDeps,
  object: SandboxSnapshot,
  { step, signal }: { readonly step: Step; readonly signal: AbortSignal },
): Promise<SandboxSnapshot> {
  switch (step.kind) {
    case 'hold':
    case 'release':
      return write(deps, object, { patch: buildFinalizerPatch(object, step), signal });
    case 'status':
      return writeStatus(deps, object, { step, signal });
    case 'template':
      await createTemplate(deps, step.template, signal);
      return object;
    case 'createDisk':
      await createDisk(deps, step.disk, signal);
      return object;
    case 'deleteDisk':
      await deleteDisk(deps, step.disk, signal);
      return object;
    case 'delete':
      await remove(deps, object, signal);
      return object;
    case 'refuse':
      deps.recorder.record({ object: step.pod, type: 'Warning', reason: 'RestoreRefused', message: step.message });
      return object;
    default:
      startCall(deps, object, step);
      return object;
  }
}

type FinalizerStep = Extract<Step, { readonly kind: 'hold' | 'release' }>;

function buildFinalizerPatch({ metadata }: SandboxSnapshot, step: FinalizerStep): JsonObject {
  const others = (metadata.finalizers ?? []).filter((name) => name !== finalizers.snapshotData);
  if (step.kind === 'release') return { metadata: { finalizers: others } };
  return { metadata: { finalizers: [...others, finalizers.snapshotData], annotations: { ...step.annotations } } };
}

interface Write {
  readonly patch: JsonObject;
  readonly signal: AbortSignal;
  readonly subresource?: 'status';
}

/** Fails with a conflict if the object has changed since the decision. */
async function write({ client, snapshots }: ApplyDeps, object: SandboxSnapshot, how: Write): Promise<SandboxSnapshot> {
  const { uid, resourceVersion } = object.metadata;
  const key = getKey(object);
  const { patch, signal, subresource } = how;
  const guarded = { ...patch, metadata: { ...(patch['metadata'] as JsonObject | undefined), uid, resourceVersion } };
  return snapshots.write(key, () =>
    client.mergePatch(sandboxSnapshots, parseKey(key), guarded, { signal, subresource }),
  );
}

type StatusStep = Extract<Step, { readonly kind: 'status' }>;

async function writeStatus(
  deps: ApplyDeps,
  object: SandboxSnapshot,
  { step, signal }: { readonly step: StatusStep; readonly signal: AbortSignal },
): Promise<SandboxSnapshot> {
  const status = buildMergePatch(object.status, step.status);
  if (status === undefined) return object;
  const after = await write(deps, object, { patch: { status }, signal, subresource: 'status' });
  deps.metrics.onStatusWritten(object, after);
  return after;
}

/** A template that appeared meanwhile is looked at in the next pass. */
async function createTemplate({ client }: ApplyDeps, template: SandboxTemplate, signal: AbortSignal): Promise<void> {
  try {
    await client.create(sandboxTemplates, template, { signal });
  } catch (error) {
    const isRefused = error instanceof Error && (isForbidden(error) || isInvalid(error));
    throw isRefused ? new TemplateRefused(template.metadata.name ?? '', error) : error;
  }
}

/** One that appeared meanwhile is looked at in the next pass. */
async function createDisk({ client }: ApplyDeps, disk: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
  try {
    await client.create(persistentVolumeClaims, disk, { signal });
  } catch (error) {
    if (!(error instanceof Error) || isAlreadyExists(error)) return;
    throw isForbidden(error) || isInvalid(error) ? new DiskRefused(disk.metadata.name ?? '', error) : error;
  }
}

async function deleteDisk(
  { client }: ApplyDeps,
  { metadata }: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  try {
    await client.delete(persistentVolumeClaims, { namespace, name }, { uid, signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

async function remove({ client, snapshots }: ApplyDeps, object: SandboxSnapshot, signal: AbortSignal): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  await client.delete(sandboxSnapshots, parseKey(getKey(object)), { uid, resourceVersion, signal });
  snapshots.recordDelete(object);
}

type CallStep = Extract<Step, { readonly nodeName: string }>;

/** Starts a call and returns at once. The object is reconciled again when the call ends. */
function startCall(deps: ApplyDeps, object: SandboxSnapshot, step: CallStep): void {
  const { agents, calls } = deps;
  const id = getId(object);
  const ids = callIds(object);
  const agent = () => agents.get(step.nodeName);
  switch (step.kind) {
    case 'save':
      calls.start(ids.save, (signal) =>
        measure(deps, object, { step, work: async () => agent().save(id, step.request, signal) }),
      );
      return;
    case 'copy':
      calls.start(ids.save, (signal) =>
        measure(deps, object, { step, work: async () => agent().copy(id, step.from, signal) }),
      );
      return;
    case 'restore':
      calls.start(ids.restore(step.request.podUID), (signal) =>
        measure(deps, object, { step, work: async () => restoreOn(deps, object, { step, signal }) }),
      );
      return;
    case 'upload':
      calls.start(ids.upload, (signal) =>
        measure(deps, object, { step, work: async () => agent().upload(id, signal) }),
      );
      return;
    default:
      startEnd(deps, object, step);
  }
}

type EndStep = Extract<CallStep, { readonly kind: 'withdraw' | 'endHold' | 'erase' | 'eraseRemote' }>;

/** What ends something also ends the call about it: that one would announce a Pod once more when its node has the data. */
function startEnd({ agents, calls }: ApplyDeps, object: SandboxSnapshot, step: EndStep): void {
  const id = getId(object);
  const ids = callIds(object);
  const agent = () => agents.get(step.nodeName);
  switch (step.kind) {
    case 'withdraw':
      calls.drop(ids.restore(step.podUID));
      calls.start(ids.withdraw(step.podUID), async (signal) => agent().withdraw(step.podUID, signal));
      return;
    case 'endHold':
      calls.start(ids.endHold, async (signal) => agent().endHold(id, signal));
      return;
    case 'erase':
      calls.drop(ids.upload);
      calls.drop(ids.restore(object.status?.restore?.podUID ?? ''));
      calls.start(ids.erase(step.nodeName), async (signal) => agent().erase(id, step.staysPaused, signal));
      return;
    case 'eraseRemote':
      calls.start(ids.eraseRemote, async (signal) => agent().eraseRemote(id, signal));
  }
}

function getId({ metadata: { namespace = '', uid = '' } }: SandboxSnapshot): SnapshotId {
  return { namespace, uid };
}

type RestoreStep = Extract<Step, { readonly kind: 'restore' }>;

function restoreOn(
  deps: ApplyDeps,
  object: SandboxSnapshot,
  { step, signal }: { readonly step: RestoreStep; readonly signal: AbortSignal },
): Promise<RestoreEnd> {
  const { nodeName, request, remote, trace } = step;
  return restoreHere(deps.agents.get(nodeName), {
    ...{ id: getId(object), request, remote, signal },
    measure: async (work) => {
      try {
        const done = await measure(deps, object, { step: { kind: 'download', nodeName, trace }, work });
        deps.metrics.countDownload('done');
        return done;
      } catch (error) {
        deps.metrics.countDownload('failed');
        throw error;
      }
    },
  });
}

const SPANS = {
  download: spanNames.snapshotDownload,
  upload: spanNames.snapshotUpload,
  save: spanNames.snapshotSave,
  copy: spanNames.snapshotCopy,
  restore: spanNames.snapshotRestore,
} satisfies Readonly<Record<string, SpanName>>;

interface Measured<T> {
  readonly step: {
    readonly kind: keyof typeof SPANS;
    readonly nodeName: string;
    readonly trace?: string | undefined;
  };
  readonly work: () => Promise<T>;
}

/** The span belongs to the operation that the step carries, such as a resume, or else to that of the object, which is its save. */
function measure<T>(
  { metrics }: ApplyDeps,
  { metadata, spec }: SandboxSnapshot,
  { step, work }: Measured<T>,
): Promise<T> {
  const attributes = {
    [spanAttributes.namespace]: metadata.namespace ?? '',
    [spanAttributes.sandboxName]: spec.sandboxName,
    [spanAttributes.nodeName]: step.nodeName,
  };
  const parent = parseCarriedContext(step.trace ?? metadata.annotations?.[annotations.traceContext]);
  return withSpan({ name: SPANS[step.kind], attributes, parent }, async (span) => {
    const done = await metrics.measureCall(step.kind, work);
    if (isFailedRestore(done)) failSpan(span, done.message);
    return done;
  });
}

function isFailedRestore(done: unknown): done is RestoreEnd {
  return typeof done === 'object' && done !== null && 'state' in done && done.state === 'Failed';
}

import {
  eventReasons,
  labels,
  nameHash,
  networkPolicyName,
  sandboxTemplates,
  templateReasons,
} from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { done, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { EventRecorder, JsonObject, KubeClient, ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { applyPolicy } from './apply.ts';
import type { Settled } from './apply.ts';
import type { PolicyMetrics } from './network/metrics.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { OwnWrites } from './own-writes.ts';
import type { Pace } from './pace.ts';
import type { TemplateSnapshot } from './snapshot.ts';
import { notControlledMessage, statusChange, templateStatus } from './status.ts';
import type { PolicyOutcome } from './status.ts';

export interface TemplateDeps extends ObserveDeps {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly metrics: PolicyMetrics;
  readonly ownWrites: OwnWrites<SandboxTemplate>;
  readonly pace: Pace;
}

/** The cache did not show what a write met; it will in a moment. */
const CATCH_UP_MS = 1_000;

/** One pass over one template: its NetworkPolicy, its label, its status. */
export async function reconcileTemplate(
  deps: TemplateDeps,
  key: string,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const cached = deps.templates.get(key);
  if (cached === undefined) {
    for (const memory of [deps.ownWrites, deps.pace, deps.refusals]) memory.forget(key);
    return done;
  }
  const template = deps.ownWrites.view(key, cached);
  // Garbage collection takes the policy along: in foreground it goes first, and must not come back.
  if (template.metadata.deletionTimestamp !== undefined) return done;
  const pass: Pass = { key, signal, snapshot: observe(deps, key, template) };
  const settled = await applyPolicy({ ...deps, signal }, pass);
  const written = await writeStatus(deps, { ...pass, snapshot: await writeLabel(deps, pass) }, settled.outcome);
  if (settled.error !== undefined) throw settled.error;
  return sooner(written, settled);
}

export interface Pass {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly snapshot: TemplateSnapshot;
}

function sooner(written: ReconcileResult, { outcome, awaitsDeletion }: Settled): ReconcileResult {
  if (outcome.kind !== 'pending' || awaitsDeletion) return written;
  return requeueAfter(CATCH_UP_MS, 'the NetworkPolicy is not as the cache shows it');
}

/** Labels the template itself, so that a selector finds it with its sandboxes. */
async function writeLabel(deps: TemplateDeps, { key, signal, snapshot }: Pass): Promise<TemplateSnapshot> {
  const { metadata } = snapshot.template;
  const hash = nameHash(metadata.name ?? '');
  if (metadata.labels?.[labels.templateRefHash] === hash) return snapshot;
  const patch = { metadata: { uid: metadata.uid, labels: { [labels.templateRefHash]: hash } } };
  const template = await patchTemplate(deps, { key, signal, snapshot }, { patch });
  return template === undefined ? snapshot : { ...snapshot, template };
}

interface Patch {
  readonly patch: JsonObject;
  readonly subresource?: 'status';
}

/** The template as it is then; undefined when it is gone, or when another one bears its name. */
async function patchTemplate(
  { client, ownWrites }: TemplateDeps,
  { key, signal, snapshot }: Pass,
  { patch, subresource }: Patch,
): Promise<SandboxTemplate | undefined> {
  const before = snapshot.template;
  const { namespace, name = '' } = before.metadata;
  try {
    const options = { subresource, priority: 'background', signal } as const;
    const after = await client.mergePatch(sandboxTemplates, { namespace, name }, patch, options);
    ownWrites.record(key, before, after);
    return after;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    return undefined;
  }
}

async function writeStatus(deps: TemplateDeps, pass: Pass, outcome: PolicyOutcome): Promise<ReconcileResult> {
  const { key, snapshot } = pass;
  const { template } = snapshot;
  const change = statusChange(template, templateStatus(snapshot, outcome));
  if (change === undefined) return done;
  const waitMs = deps.pace.waitMs(key);
  if (waitMs > 0 && !change.urgent) return requeueAfter(waitMs, 'the status was written a moment ago');
  deps.pace.written(key);
  const patch = { metadata: { uid: template.metadata.uid }, status: change.patch };
  const after = await patchTemplate(deps, pass, { patch, subresource: 'status' });
  if (after !== undefined) tell(deps, template, after);
  return done;
}

/** What others hear, once for each transition of the status. */
function tell({ recorder, metrics }: TemplateDeps, before: SandboxTemplate, after: SandboxTemplate): void {
  const { name = '' } = after.metadata;
  if (isNotControlled(after) && !isNotControlled(before)) {
    metrics.count('not_controlled');
    const message = notControlledMessage(networkPolicyName(name));
    recorder.event({ object: after, type: 'Warning', reason: eventReasons.networkPolicyNotControlled, message });
  }
}

function isNotControlled({ status }: SandboxTemplate): boolean {
  return (status?.conditions ?? []).some(({ reason }) => reason === templateReasons.notControlled);
}

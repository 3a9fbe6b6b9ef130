import { eventReasons, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import {
  done,
  isAborted,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  requeueAfter,
  RetryableError,
} from '@sandlot/kube';
import type { EventRecorder, JsonObject, KubeClient, OwnWrites, ReconcileResult } from '@sandlot/kube';
import type { StatusPace } from '../status/status-pace.ts';
import type { PolicyMetrics } from '../telemetry/policy-metrics.ts';
import { writePolicy } from './network/write-policy.ts';
import type { PolicyOutcome, PolicyStep, StatusStep, TemplatePlan } from './plan/plan.ts';
import type { Refusal } from './plan/snapshot.ts';

/** How long the cache may lag behind what a write met. */
const CATCH_UP_MS = 1_000;

export interface ApplyDeps {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly metrics: PolicyMetrics;
  /** The templates of the cache, ahead of it by our own writes. */
  readonly templates: OwnWrites<SandboxTemplate>;
  readonly statusPace: StatusPace;
  readonly monotonic: () => number;
}

export interface Pass {
  readonly key: string;
  readonly signal: AbortSignal;
}

/** How the policy step ended. */
export type PolicyResult =
  | { readonly kind: 'outcome'; readonly outcome: PolicyOutcome; readonly error?: Error }
  /** The API server refuses the rules. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** The cache does not show a policy that the API server has. */
  | { readonly kind: 'exists' };

const PENDING: PolicyResult = { kind: 'outcome', outcome: { kind: 'pending' } };

/** Carries out the policy step. Rejects only when the pass is aborted; other failures are results. */
export async function applyPolicy(
  { client, metrics }: ApplyDeps,
  { signal }: Pass,
  { step, refusal }: { readonly step: PolicyStep; readonly refusal: Refusal | undefined },
): Promise<PolicyResult> {
  try {
    await writePolicy({ client, metrics, signal }, step);
  } catch (error) {
    if (isAborted(error)) throw error;
    return handleFailure(error);
  }
  return { kind: 'outcome', outcome: buildOutcome(step, refusal) };
}

function buildOutcome(step: PolicyStep, refusal: Refusal | undefined): PolicyOutcome {
  const written: PolicyOutcome =
    refusal === undefined ? { kind: 'applied' } : { kind: 'refused', message: refusal.message };
  switch (step.kind) {
    case 'create':
    case 'replace':
    case 'mark':
      return written;
    case 'delete':
      return { kind: 'unmanaged' };
    case 'keep':
      return step.because === 'unmanaged' ? { kind: 'unmanaged' } : written;
    case 'leave':
      return { kind: 'notControlled' };
    case 'await':
      return { kind: 'pending' };
  }
}

function handleFailure(error: unknown): PolicyResult {
  if (isAlreadyExists(error)) return { kind: 'exists' };
  // The cache lags: another client changed the policy, or deleted it.
  if (isConflict(error) || isNotFound(error)) return PENDING;
  if (!(error instanceof Error)) throw error;
  if (isInvalid(error)) return { kind: 'refused', error };
  return { kind: 'outcome', outcome: { kind: 'failed', message: error.message }, error };
}

/** Writes the label of the template, if the plan has one. */
export async function applyLabel(
  deps: ApplyDeps,
  pass: Pass,
  { template, label }: { readonly template: SandboxTemplate } & Pick<TemplatePlan, 'label'>,
): Promise<void> {
  if (label === undefined) return;
  await patchTemplate(deps, pass, { template, patch: { metadata: label }, priority: 'background' });
}

/** Writes the status when it is due; otherwise a later pass does. */
export async function applyStatus(
  deps: ApplyDeps,
  pass: Pass,
  { template, step }: { readonly template: SandboxTemplate; readonly step: StatusStep | undefined },
): Promise<ReconcileResult> {
  if (step === undefined) return done;
  const waitMs = (step.notBeforeMs ?? -Infinity) - deps.monotonic();
  if (waitMs > 0) return requeueAfter(waitMs, 'the last status write was a moment ago');
  deps.statusPace.recordWrite(pass.key);
  const patch = { metadata: { uid: template.metadata.uid }, status: step.patch };
  const priority = step.notBeforeMs === undefined ? 'normal' : 'background';
  const after = await patchTemplate(deps, pass, { template, patch, subresource: 'status', priority });
  if (after !== undefined && step.warning !== undefined) warn(deps, after, step.warning);
  return done;
}

function warn({ recorder, metrics }: ApplyDeps, template: SandboxTemplate, message: string): void {
  metrics.count('not_controlled');
  recorder.record({ object: template, type: 'Warning', reason: eventReasons.networkPolicyNotControlled, message });
}

interface Patch {
  readonly template: SandboxTemplate;
  readonly patch: JsonObject;
  readonly subresource?: 'status';
  readonly priority: 'normal' | 'background';
}

/** The template after the patch; undefined when it is gone. */
async function patchTemplate(
  { client, templates }: ApplyDeps,
  { key, signal }: Pass,
  { template, patch, subresource, priority }: Patch,
): Promise<SandboxTemplate | undefined> {
  const { namespace, name = '' } = template.metadata;
  try {
    const options = { subresource, priority, signal };
    return await templates.write(key, () => client.mergePatch(sandboxTemplates, { namespace, name }, patch, options));
  } catch (error) {
    // Another template has the name, or the API server gave up on competing writes: the next pass sees which.
    if (isConflict(error))
      throw new RetryableError(`the write to template ${key} met a conflict`, {
        retryAfterMs: CATCH_UP_MS,
      });
    if (!isNotFound(error)) throw error;
    return undefined;
  }
}

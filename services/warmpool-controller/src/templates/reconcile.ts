import { networkPolicies, requeueAfter } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { applyLabel, applyPolicy, applyStatus } from './apply.ts';
import type { ApplyDeps, Pass, PolicyResult } from './apply.ts';
import { decide, decidePolicy, decideStatus } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { PolicyOutcome, PolicyStep } from './plan/plan.ts';
import type { TemplateSnapshot } from './plan/snapshot.ts';
import { forgetRetained, reconcileRetained } from './retained/reconcile-retained.ts';
import type { RetainedDeps } from './retained/reconcile-retained.ts';

export type TemplateDeps = ObserveDeps & ApplyDeps & RetainedDeps;

/** How long the cache may lag behind what a write met. */
const CATCH_UP_MS = 1_000;

/** One pass over one template: its NetworkPolicy, its status, its label. The policy may outlive the template. */
export async function reconcileTemplate(
  deps: TemplateDeps,
  key: string,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const template = deps.templates.get(key);
  if (template === undefined) {
    deps.statusPace.forget(key);
    deps.refusals.forget(key);
    return reconcileRetained(deps, key, { signal });
  }
  forgetRetained(deps.retained, key);
  const pass: Pass = { key, signal };
  const snapshot = observe(deps, key, template);
  const plan = decide(snapshot);
  const policy = await reconcilePolicy(deps, pass, { snapshot, step: plan.policy });
  // Claims and pools wait for the condition. It is about the generation that the policy was built from, and no later one.
  const result = await applyStatus(deps, pass, { template, step: decideStatus(snapshot, policy.outcome) });
  await applyLabel(deps, pass, { template, label: plan.label });
  if (policy.error !== undefined) throw policy.error;
  return policy.isBehind ? requeueAfter(CATCH_UP_MS, 'the cache does not show the NetworkPolicy as it is') : result;
}

interface PolicyEnd {
  readonly outcome: PolicyOutcome;
  /** Worth another attempt after the back-off. */
  readonly error?: Error;
  /** The cache is behind the API server, and no event announces when it has caught up. */
  readonly isBehind: boolean;
}

interface Attempt {
  readonly snapshot: TemplateSnapshot;
  readonly step: PolicyStep;
}

/** Applies the policy step. A refusal, or a policy that the cache does not show, leads to one more decision at once. */
async function reconcilePolicy(deps: TemplateDeps, pass: Pass, attempt: Attempt): Promise<PolicyEnd> {
  const { snapshot, step } = attempt;
  if (step.kind === 'delete') deps.retained.dismiss(step.present);
  const result = await applyPolicy(deps, pass, { step, refusal: snapshot.refusal });
  if (result.kind === 'outcome') {
    return { ...result, isBehind: result.outcome.kind === 'pending' && step.kind !== 'await' };
  }
  if (result.kind === 'refused' && snapshot.refusal !== undefined) {
    return { outcome: { kind: 'failed', message: result.error.message }, error: result.error, isBehind: false };
  }
  const next = await observeAgain(deps, pass, { ...attempt, result });
  if (next === undefined) return { outcome: { kind: 'pending' }, isBehind: true };
  return reconcilePolicy(deps, pass, { snapshot: next, step: decidePolicy(next) });
}

interface Surprise extends Attempt {
  readonly result: Exclude<PolicyResult, { kind: 'outcome' }>;
}

/** The snapshot with what the write revealed; undefined when the API server does not say. */
async function observeAgain(
  deps: TemplateDeps,
  pass: Pass,
  { snapshot, step, result }: Surprise,
): Promise<TemplateSnapshot | undefined> {
  if (result.kind === 'refused') {
    const { message } = result.error;
    deps.metrics.count('refused');
    deps.refusals.record(pass.key, snapshot.template, message);
    return { ...snapshot, refusal: { message } };
  }
  if (step.kind !== 'create') return undefined;
  const { namespace, name } = step.wanted.metadata;
  const policy = await deps.client.find(networkPolicies, { namespace, name }, { signal: pass.signal });
  return policy === undefined ? undefined : { ...snapshot, policy };
}

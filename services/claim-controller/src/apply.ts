import { mergePatchOf, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaimStatus, SandboxTemplate } from '@sandlot/api-types';
import { metadataPatch } from '@sandlot/blueprint';
import { done, isConflict, isNotFound, keyOf, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { adoptAndPublish, annotate, createAndPublish, publishSandbox } from './bind.ts';
import type { BindDeps, Pass } from './bind.ts';
import type { Plan, Shortage, Step } from './plan.ts';
import { deleteSandbox } from './publish.ts';
import { expiredStatus, reportStatus } from './status.ts';

/** A cold start that finds its Sandbox already there looks again after this long (API contract, cold start). */
const CREATE_PENDING_MS = 200;

/** Carries out a plan, step by step; the earliest wish to look again wins. */
export async function apply(deps: BindDeps, pass: Pass, plan: Plan): Promise<ReconcileResult> {
  let result: ReconcileResult = done;
  for (const step of plan) result = sooner(result, await applyStep(deps, pass, step));
  return result;
}

function sooner(a: ReconcileResult, b: ReconcileResult): ReconcileResult {
  if (a.kind === 'done') return b;
  if (b.kind === 'done') return a;
  return b.ms < a.ms ? b : a;
}

async function applyStep(deps: BindDeps, pass: Pass, step: Step): Promise<ReconcileResult> {
  switch (step.kind) {
    case 'adopt':
      return (await adoptAndPublish(deps, pass, step)) ? done : applyShortage(deps, pass, step.otherwise);
    case 'create':
    case 'queueForStock':
      return applyShortage(deps, pass, step);
    case 'publish':
      await publishSandbox(deps, pass, step.sandbox);
      return done;
    case 'annotate':
      annotate(deps, pass, step.sandbox);
      return done;
    case 'syncMetadata':
      return syncMetadata(deps, pass, step);
    case 'deleteSandbox':
      await deleteSandbox(deps, step.sandbox);
      return done;
    case 'deleteClaim':
      return deleteClaim(deps, pass, step.foreground);
    case 'report':
      return writeStatus(deps, pass, reportStatus(pass.claim, step.report, deps.nowMs()));
    case 'expire':
      return writeStatus(deps, pass, expiredStatus(pass.claim, step, deps.nowMs()));
    case 'wait':
      return requeueAfter(step.ms, step.reason);
  }
}

async function applyShortage(deps: BindDeps, pass: Pass, step: Shortage): Promise<ReconcileResult> {
  if (step.kind === 'create') {
    const created = await createAndPublish(deps, pass, step.sandbox);
    return created ? done : requeueAfter(CREATE_PENDING_MS, 'a Sandbox of that name is being looked at');
  }
  deps.waiters.add(
    keyOf(pass.claim),
    step.pools.map((pool) => pool.metadata.uid ?? ''),
  );
  if (step.report !== undefined) await writeStatus(deps, pass, reportStatus(pass.claim, step.report, deps.nowMs()));
  return step.retryMs === undefined ? done : requeueAfter(step.retryMs, 'members of the pool are starting');
}

async function writeStatus(
  deps: BindDeps,
  { claim, signal }: Pass,
  wanted: SandboxClaimStatus,
): Promise<ReconcileResult> {
  const status = mergePatchOf(claim.status, wanted);
  if (status === undefined) return done;
  const { namespace, name = '', uid } = claim.metadata;
  try {
    const options = { subresource: 'status', signal } as const;
    await deps.client.mergePatch(sandboxClaims, { namespace, name }, { metadata: { uid }, status }, options);
  } catch (error) {
    // The claim is gone, or another one bears its name: there is nobody to tell.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  return done;
}

interface SyncInput {
  readonly sandbox: Sandbox;
  readonly template: SandboxTemplate;
}

async function syncMetadata(deps: BindDeps, { claim, signal }: Pass, step: SyncInput): Promise<ReconcileResult> {
  const patch = metadataPatch(step.sandbox, step.template, claim);
  if (patch === undefined) return done;
  const { namespace, name = '', uid } = step.sandbox.metadata;
  await deps.client.mergePatch(sandboxes, { namespace, name }, { metadata: { uid }, ...patch }, { signal });
  return done;
}

async function deleteClaim(deps: BindDeps, { claim, signal }: Pass, foreground: boolean): Promise<ReconcileResult> {
  const { namespace, name = '', uid } = claim.metadata;
  const policy = claim.spec.lifecycle?.shutdownPolicy ?? 'Retain';
  const message = `Deleting Claim (ShutdownPolicy=${policy})`;
  deps.recorder.event({ object: claim, type: 'Normal', reason: 'ClaimExpired', message });
  const propagationPolicy = foreground ? 'Foreground' : 'Background';
  try {
    await deps.client.delete(sandboxClaims, { namespace, name }, { uid, propagationPolicy, signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  return done;
}

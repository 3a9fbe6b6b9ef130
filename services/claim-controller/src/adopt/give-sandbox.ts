import { claimMessages, claimReasons } from '@sandlot/api-types';
import { getKey, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Pass } from '../plan/pass.ts';
import type { Shortage, Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import { openEarlyNotes } from '../publish/early-notes.ts';
import { holdStatus } from '../publish/publish-sandbox.ts';
import { writeStatus } from '../publish/publish.ts';
import { reportStatus } from '../publish/status.ts';
import { adopt } from './adopt.ts';
import { continueAfterCommit } from './after-commit.ts';
import { createOrRead, withTrace } from './create.ts';

/** A cold start that finds its name taken retries after this long (docs/reference/sandbox-claim.md#cold-start). */
const CREATE_PENDING_MS = 200;

/** Other claims adopted the candidates that this claim tried: the watch is behind, and catches up soon. */
const LOST_RETRY_MS = 500;

/** There is stock, and other claims were faster. */
const CONFLICT: Report = {
  reason: claimReasons.adoptionConflict,
  message: claimMessages.adoptionConflict('every sandbox that was tried had been taken by another claim'),
};

type Adoption = Step & { kind: 'adopt' };
type Creation = Shortage & { kind: 'create' };

/** Gives the claim a Sandbox, or has it wait for one. One `claim.bind` span, in the trace of the claim. */
export async function giveSandbox(deps: ApplyDeps, pass: Pass, step: Adoption | Shortage): Promise<ReconcileResult> {
  if (deps.memory.of(pass.claim).milestones.picked === undefined) deps.memory.reached(pass.claim, 'picked');
  if (step.kind === 'queueForStock') return queueForStock(deps, pass, step);
  deps.memory.reached(pass.claim, 'tried');
  const { namespace = '', uid = '' } = pass.claim.metadata;
  const attributes = { [spanAttributes.namespace]: namespace, [spanAttributes.claimUid]: uid };
  return withChildSpan({ name: spanNames.claimBind, attributes }, () =>
    step.kind === 'create' ? createCold(deps, pass, step) : adoptWarm(deps, pass, step),
  );
}

async function adoptWarm(deps: ApplyDeps, pass: Pass, step: Adoption): Promise<ReconcileResult> {
  const claimKey = getKey(pass.claim);
  const traceContext = deps.traces.findAdoptionCarrier(pass.claim);
  const early = openEarlyNotes(deps, pass.claim);
  deps.waiters.setServing(claimKey, true);
  try {
    const record = deps.memory.of(pass.claim);
    const { pools, promised, template } = step;
    const input = { ...pass, record, pools, promised, template, traceContext, early };
    const sandbox = await withChildSpan({ name: spanNames.claimAdopt }, () => adopt(deps, input));
    if (sandbox !== undefined) return await continueAfterCommit(deps, { ...pass, early }, { sandbox, then: step.then });
  } finally {
    deps.waiters.setServing(claimKey, false);
  }
  early?.retract();
  const { otherwise } = step;
  if (otherwise.kind === 'create') return createCold(deps, pass, otherwise);
  const report = otherwise.report === undefined ? undefined : CONFLICT;
  return queueForStock(deps, pass, { ...otherwise, retryMs: LOST_RETRY_MS, report });
}

async function createCold(deps: ApplyDeps, pass: Pass, step: Creation): Promise<ReconcileResult> {
  const wanted = withTrace(step.sandbox, deps.traces.findCarrier(pass.claim));
  const sandbox = await withChildSpan({ name: spanNames.claimColdStart }, () => createOrRead(deps, pass, wanted));
  if (sandbox !== undefined) {
    const result = await continueAfterCommit(deps, pass, { sandbox, then: step.then });
    return step.holdMs === undefined ? result : holdStatus(deps, pass, step.holdMs);
  }
  const report = { reason: claimReasons.sandboxCreatePending, message: claimMessages.sandboxCreatePending };
  await writeStatus(deps, { ...pass, status: reportStatus(pass.claim, report, deps.nowMs()) });
  return requeueAfter(CREATE_PENDING_MS, 'a Sandbox of that name exists');
}

async function queueForStock(
  deps: ApplyDeps,
  pass: Pass,
  { pools, retryMs, report }: Shortage & { kind: 'queueForStock' },
): Promise<ReconcileResult> {
  const poolUids = pools.map(({ metadata }) => metadata.uid ?? '');
  deps.waiters.add(getKey(pass.claim), poolUids);
  deps.memory.recordWait(pass.claim, deps.waiters.count(poolUids));
  if (report !== undefined) {
    await writeStatus(deps, { ...pass, status: reportStatus(pass.claim, report, deps.nowMs()) });
  }
  return requeueAfter(retryMs, 'a pool has no candidate for this claim yet');
}

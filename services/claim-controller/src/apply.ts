import { eventReasons, sandboxClaims } from '@sandlot/api-types';
import { done, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import pMap from 'p-map';
import { noteNetwork, secureNetwork } from './network/secure-network.ts';
import { pause, prolong, retain } from './lifetime/pause.ts';
import { fillSlots } from './batch/fill-slots.ts';
import { publishSlots } from './batch/publish-slots.ts';
import { giveSandbox } from './adopt/give-sandbox.ts';
import { giveUpLate, recordTimeout } from './delivery/give-up.ts';
import { annotate } from './publish/annotate.ts';
import { AWAITS_DAEMON, holdStatus, publishSandbox } from './publish/publish-sandbox.ts';
import { syncMetadata, syncSlots } from './metadata/sync-metadata.ts';
import type { Pass } from './plan/pass.ts';
import type { ApplyDeps } from './plan/apply-deps.ts';
import type { Plan, Step } from './plan/plan.ts';
import { deleteSandbox, writeStatus } from './publish/publish.ts';
import { isDetached } from './batch/mode.ts';
import { buildExpiredStatus, reportStatus } from './publish/status.ts';

/**
 * What a step asks for: a requeue; to abandon the rest of the plan because it no longer holds; or to leave the rest to a
 * pass after `ms`, at the latest.
 */
type Outcome = ReconcileResult | { readonly kind: 'abandon' } | { readonly kind: 'later'; readonly ms: number };

/** Daemons of one claim that the controller initialises at once. */
const INIT_WIDTH = 50;

const ABANDON: Outcome = { kind: 'abandon' };

/** Carries out a plan, step by step. The earliest requested requeue wins. */
export async function apply(deps: ApplyDeps, pass: Pass, plan: Plan): Promise<ReconcileResult> {
  let result: ReconcileResult = done;
  for (const step of plan) {
    const outcome = await applyStep(step.kind, step, { deps, pass });
    if (outcome.kind === 'abandon') return requeueAfter(0, 'the plan no longer holds');
    if (outcome.kind === 'later') return pickSooner(result, requeueAfter(outcome.ms, AWAITS_DAEMON));
    result = pickSooner(result, outcome);
  }
  return result;
}

function pickSooner(a: ReconcileResult, b: ReconcileResult): ReconcileResult {
  if (a.kind === 'done') return b;
  if (b.kind === 'done') return a;
  return b.ms < a.ms ? b : a;
}

type Handlers = {
  readonly [K in Step['kind']]: (deps: ApplyDeps, pass: Pass, step: Step & { kind: K }) => Promise<Outcome>;
};

const handlers: Handlers = {
  admit: async ({ places }, { claim }) => (places.admit(claim) ? done : ABANDON),
  adopt: giveSandbox,
  create: giveSandbox,
  queueForStock: giveSandbox,
  publish: async (deps, pass, { sandbox }) => {
    const shown = await publishSandbox(deps, pass, sandbox);
    if (shown === 'shown') return done;
    return shown === 'lost' ? ABANDON : { kind: 'later', ms: shown.laterInMs };
  },
  hold: async (deps, pass, { ms }) => holdStatus(deps, pass, ms),
  annotate: async (deps, pass, { sandbox }) => {
    annotate(deps, pass, sandbox);
    return done;
  },
  initRuntimes,
  secureNetwork,
  noteNetwork,
  pause,
  prolong,
  retain,
  syncMetadata,
  syncSlots,
  startTime: async ({ deliveries }, { claim }, { sandboxes, atMs }) => {
    deliveries.startTime(claim, sandboxes, atMs);
    return done;
  },
  giveUp: async (deps, pass, step) => {
    await giveUpLate(deps, pass, step);
    return done;
  },
  deleteSandbox: async (deps, { signal }, { sandbox }) => {
    await deleteSandbox(deps, sandbox, { signal });
    return done;
  },
  deleteClaim,
  fillSlots,
  publishSlots: async (deps, pass, news) => {
    const published = await publishSlots(deps, pass, news);
    if (published === 'gone' || published.againInMs === undefined) return done;
    return requeueAfter(published.againInMs, 'changes of readiness are gathered');
  },
  report: async (deps, pass, { report }) => {
    if (isDetached(pass.claim)) {
      await publishSlots(deps, pass, { timedOut: false, report });
      return done;
    }
    recordTimeout(deps, pass, report);
    await writeStatus(deps, { ...pass, status: reportStatus(pass.claim, report, deps.nowMs()) });
    return done;
  },
  expire,
  wait: async (_deps, _pass, { ms, reason }) => requeueAfter(ms, reason),
};

function applyStep<K extends Step['kind']>(kind: K, step: Step & { kind: K }, on: Target): Promise<Outcome> {
  const handler: Handlers[K] = handlers[kind];
  return handler(on.deps, on.pass, step);
}

interface Target {
  readonly deps: ApplyDeps;
  readonly pass: Pass;
}

/** Initialises the daemons side by side: a batch has as many as a wave has slots. */
async function initRuntimes(
  deps: ApplyDeps,
  pass: Pass,
  { due }: Step & { kind: 'initRuntimes' },
): Promise<ReconcileResult> {
  const results = await pMap(due, (sandbox) => deps.runtime.tryInit(pass, sandbox), { concurrency: INIT_WIDTH });
  return results.reduce(pickSooner, done);
}

async function expire(deps: ApplyDeps, pass: Pass, step: Step & { kind: 'expire' }): Promise<Outcome> {
  if (step.first) deps.recorder.record(buildExpiryEvent(pass, 'Claim expired'));
  await writeStatus(deps, { ...pass, status: buildExpiredStatus(pass.claim, step, deps.nowMs()) });
  return done;
}

async function deleteClaim(
  deps: ApplyDeps,
  pass: Pass,
  { policy, cause }: Step & { kind: 'deleteClaim' },
): Promise<Outcome> {
  const { namespace, name = '', uid } = pass.claim.metadata;
  const propagationPolicy = policy === 'DeleteForeground' ? 'Foreground' : 'Background';
  deps.recorder.record(
    buildExpiryEvent(
      pass,
      cause === 'shutdownPolicy' ? `Deleting Claim (ShutdownPolicy=${policy})` : `Deleting Claim (${cause})`,
    ),
  );
  try {
    await deps.client.delete(sandboxClaims, { namespace, name }, { uid, propagationPolicy, signal: pass.signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  return done;
}

function buildExpiryEvent({ claim }: Pass, message: string): Parameters<ApplyDeps['recorder']['record']>[0] {
  return { object: claim, type: 'Normal', reason: eventReasons.claimExpired, message };
}

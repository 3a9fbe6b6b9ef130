import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { boundClaimingEndsAtMs } from '../lifetime/deadlines.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { findUninitialised } from '../runtime/decide-init.ts';
import {
  formatDeliveryFailure,
  formatRefusedDelivery,
  isExhausted,
  isTimedByInit,
  findLeftToDeliverMs,
  retryInMs,
  wasServed,
} from './rules.ts';

const TIMED_OUT: Report = { reason: claimReasons.claimTimeout, message: claimMessages.claimTimeout(0, 1), final: true };

/** Milliseconds for which a bound claim may still look for a Sandbox; undefined without a limit, or once it was served. */
function findLeftToClaimMs({ claim, nowMs }: ClaimSnapshot): number | undefined {
  const endsAtMs = boundClaimingEndsAtMs(claim);
  return endsAtMs === undefined ? undefined : endsAtMs - nowMs;
}

/**
 * Stops a claim without a Sandbox from looking for one: its time is over, or its deliveries failed and the next try is not
 * due. Undefined when it may look.
 */
export function decideSearchStop(snapshot: ClaimSnapshot): Plan | undefined {
  const leftMs = findLeftToClaimMs(snapshot);
  if (leftMs !== undefined && leftMs <= 0) return [{ kind: 'report', report: TIMED_OUT }];
  const { failures } = snapshot;
  if (failures === undefined) return undefined;
  const report = { reason: claimReasons.sandboxInitFailed, message: failures.message };
  if (isExhausted(snapshot.claim, failures)) return [{ kind: 'report', report: { ...report, final: true } }];
  const inMs = retryInMs(failures, snapshot.nowMs);
  return inMs === 0 ? undefined : [{ kind: 'report', report }, wait(inMs, 'a delivery failed')];
}

/** Requeues the claim for the end of its time to look for a Sandbox. */
export function decideSearchEnd(snapshot: ClaimSnapshot): Plan {
  const leftMs = findLeftToClaimMs(snapshot);
  return leftMs === undefined ? [] : [wait(Math.max(0, leftMs), 'the time to claim is over')];
}

interface Delivery {
  readonly hasFailed: boolean;
  /** Before all other steps. */
  readonly start: Plan;
  readonly plan: Plan;
}

/** What to do about a committed Sandbox besides showing it: requeue for its deadline, give it up, or nothing. */
export function decideDelivery(snapshot: ClaimSnapshot, sandbox: Sandbox): Delivery {
  const { claim } = snapshot;
  if (wasServed(claim, sandbox)) return { hasFailed: false, start: [], plan: [] };
  const start = decideStartOfTime(snapshot, [sandbox]);
  const deliverMs = timeLeftMs(snapshot, sandbox);
  const left = [deliverMs, isReady(sandbox) ? undefined : findLeftToClaimMs(snapshot)].filter((ms) => ms !== undefined);
  if (left.length === 0) return { hasFailed: false, start, plan: [] };
  const ms = Math.min(...left);
  if (ms > 0) return { hasFailed: false, start, plan: [wait(ms, 'the Sandbox has to be ready by then')] };
  return { hasFailed: true, start, plan: [decideGivingUp(snapshot, sandbox), wait(0, 'a delivery failed')] };
}

/** Starts the time of those whose time does not run yet. */
export function decideStartOfTime({ timedSince, nowMs }: ClaimSnapshot, sandboxes: readonly Sandbox[]): Plan {
  const untimed = sandboxes.filter(({ metadata: { uid = '' } }) => !timedSince.has(uid));
  return untimed.length === 0 ? [] : [{ kind: 'startTime', sandboxes: untimed, atMs: nowMs }];
}

export function decideGivingUp(snapshot: ClaimSnapshot, sandbox: Sandbox): Step {
  const tries = findUninitialised(snapshot, sandbox)?.tries;
  if (tries?.isRefused === true) {
    const message = formatRefusedDelivery(sandbox, tries.message);
    return { kind: 'giveUp', sandbox, message, isRefused: true };
  }
  return { kind: 'giveUp', sandbox, message: formatDeliveryFailure(snapshot.claim, sandbox, tries?.message) };
}

/**
 * Milliseconds that a committed Sandbox still has to become ready; undefined when it has no limit, or is ready already.
 * When only the daemon is outstanding, the time runs from the first try to initialise it: a pod may start slowly. A daemon
 * that trusts another key has no time left.
 */
export function timeLeftMs(snapshot: ClaimSnapshot, sandbox: Sandbox): number | undefined {
  const { claim, nowMs, timedSince } = snapshot;
  const elapsedMs = nowMs - (timedSince.get(sandbox.metadata.uid ?? '') ?? nowMs);
  const tries = findUninitialised(snapshot, sandbox)?.tries;
  if (tries?.isRefused === true) return 0;
  if (!isTimedByInit(claim, sandbox)) return findLeftToDeliverMs(claim, sandbox, elapsedMs);
  return tries === undefined ? undefined : findLeftToDeliverMs(claim, sandbox, nowMs - tries.firstMs);
}

import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { boundClaimingEndsAtMs } from '../lifetime/deadlines.ts';
import { timeLeftMs, troubleOf } from '../runtime/decide-init.ts';
import { deliveryFailure, isExhausted, retryInMs, wasServed } from './rules.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

const TIMED_OUT: Report = { reason: claimReasons.claimTimeout, message: claimMessages.claimTimeout(0, 1), final: true };

/** Milliseconds a bound claim that has not been served yet may still try; undefined when it may for ever. */
function leftToClaimMs({ claim, nowMs }: ClaimSnapshot): number | undefined {
  const endsAtMs = boundClaimingEndsAtMs(claim);
  return endsAtMs === undefined ? undefined : endsAtMs - nowMs;
}

/**
 * What stops a claim without a Sandbox from looking for one: its time is over, or its deliveries failed and the next try
 * is not due. Undefined when it may look.
 */
export function decideStop(snapshot: ClaimSnapshot): Plan | undefined {
  const leftMs = leftToClaimMs(snapshot);
  if (leftMs !== undefined && leftMs <= 0) return [{ kind: 'report', report: TIMED_OUT }];
  const { failures } = snapshot;
  if (failures === undefined) return undefined;
  const report = { reason: claimReasons.sandboxInitFailed, message: failures.message };
  if (isExhausted(snapshot.claim, failures)) return [{ kind: 'report', report: { ...report, final: true } }];
  const inMs = retryInMs(failures, snapshot.nowMs);
  return inMs === 0 ? undefined : [{ kind: 'report', report }, wait(inMs, 'a delivery failed')];
}

/** The step that looks when the time to claim is over. */
export function deadlineOf(snapshot: ClaimSnapshot): Plan {
  const leftMs = leftToClaimMs(snapshot);
  return leftMs === undefined ? [] : [wait(Math.max(0, leftMs), 'the time to claim is over')];
}

/** What to do about a committed Sandbox besides showing it: wait for it, give it up, or nothing. */
export function decideDelivery(
  snapshot: ClaimSnapshot,
  sandbox: Sandbox,
): { readonly failed: boolean; readonly plan: Plan } {
  const { claim } = snapshot;
  if (wasServed(claim, sandbox)) return { failed: false, plan: [] };
  const deliverMs = timeLeftMs(snapshot, sandbox);
  const left = [deliverMs, isReady(sandbox) ? undefined : leftToClaimMs(snapshot)].filter((ms) => ms !== undefined);
  if (left.length === 0) return { failed: false, plan: [] };
  const ms = Math.min(...left);
  if (ms > 0) return { failed: false, plan: [wait(ms, 'the Sandbox has to be ready by then')] };
  const failure: Step = {
    kind: 'failDelivery',
    sandbox,
    message: deliveryFailure(claim, sandbox, troubleOf(snapshot, sandbox)),
  };
  return { failed: true, plan: [failure, wait(0, 'a delivery failed')] };
}

import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';
import type { BatchSnapshot } from './batch-observe.ts';
import { decideExpiry } from './decide-expiry.ts';
import { coldStart, needsColdStart, shortageOf } from './decide-source.ts';
import { wait } from './plan.ts';
import type { Plan, Report, Step } from './plan.ts';
import { refusalOf } from './refusal.ts';
import { freeSlots, isComplete } from './slots.ts';

const MISSING_RETRY_MS = 60_000;
/** Effective `claimTimeout` of a detached claim (API contract, claim spec). */
const DEFAULT_TIMEOUT_MS = 60_000;

const SHOW: Step = { kind: 'publishSlots', timedOut: false };

/**
 * What one pass over a detached claim does: fill the slots that are free, show what was delivered, and stop for good when
 * all are, or when the time is over (API contract, detached claims).
 */
export function decideBatch(snapshot: BatchSnapshot): Plan {
  const { claim, nowMs } = snapshot;
  if (claim.metadata.deletionTimestamp !== undefined) return [];
  const expiry = decideExpiry(snapshot);
  if (expiry.kind === 'expired') return expiry.plan;
  const endsInMs = endsAtMs(claim) - nowMs;
  if (endsInMs <= 0) return [{ kind: 'deleteClaim', policy: 'Delete', cause: 'ttlSecondsAfterCompleted' }];
  return [
    ...(isComplete(claim) ? [SHOW] : decideClaiming(snapshot)),
    ...(Number.isFinite(endsInMs) ? [wait(endsInMs, 'the claim, not its sandboxes, goes')] : []),
    ...(expiry.inMs === undefined ? [] : [wait(expiry.inMs, 'the claim expires')]),
  ];
}

/** When the claim alone goes, epoch milliseconds. */
function endsAtMs({ spec, status }: SandboxClaim): number {
  if (spec.ttlSecondsAfterCompleted === undefined || status?.completionTime === undefined) return Infinity;
  return Date.parse(status.completionTime) + spec.ttlSecondsAfterCompleted * 1_000;
}

/** When claiming stops, epoch milliseconds. */
export function claimDeadlineMs(claim: SandboxClaim, startMs: number): number {
  return startMs + (parseDurationMs(claim.spec.claimTimeout ?? '') ?? DEFAULT_TIMEOUT_MS);
}

function decideClaiming(snapshot: BatchSnapshot): Plan {
  const { claim, live, origin, nowMs } = snapshot;
  const slots = freeSlots(claim, live);
  if (slots.length === 0) return [SHOW];
  const template = origin.kind === 'found' ? origin.template : undefined;
  const refusal = template === undefined ? undefined : refusalOf(snapshot, template);
  if (refusal !== undefined) return [{ kind: 'publishSlots', timedOut: false, report: refusal }];
  const leftMs = claimDeadlineMs(claim, snapshot.startMs) - nowMs;
  if (leftMs <= 0) return [{ kind: 'publishSlots', timedOut: true }];
  return [...decideFilling(snapshot, slots), wait(leftMs, 'the time to claim is over')];
}

function decideFilling(snapshot: BatchSnapshot, slots: readonly number[]): Plan {
  const { origin } = snapshot;
  if (origin.kind !== 'found') {
    return [
      { kind: 'publishSlots', timedOut: false, report: missing(origin) },
      wait(MISSING_RETRY_MS, 'what the claim names is missing'),
    ];
  }
  const { template } = origin;
  const pools = needsColdStart(snapshot, template) ? [] : origin.pools;
  const cold = { kind: 'createSlot', input: coldStart(snapshot, template) } as const;
  return [{ kind: 'fillSlots', slots, pools, template, otherwise: shortageOf(snapshot, pools) ?? cold }];
}

function missing(origin: { readonly kind: 'missingPool' | 'missingTemplate'; readonly name: string }): Report {
  return origin.kind === 'missingPool'
    ? { reason: claimReasons.warmPoolNotFound, message: claimMessages.warmPoolNotFound(origin.name) }
    : { reason: claimReasons.templateNotFound, message: claimMessages.templateNotFound(origin.name) };
}

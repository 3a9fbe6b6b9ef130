import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { BatchSnapshot } from './observe-batch.ts';
import { completedTtlAtMs, detachedClaimingEndsAtMs } from '../lifetime/deadlines.ts';
import { decideExpiry } from '../lifetime/decide-expiry.ts';
import { coldStart, needsColdStart, shortageOf } from '../adopt/decide-warm-or-cold.ts';
import { decideInits, timeLeftMs, troubleOf } from '../runtime/decide-init.ts';
import { deliveryFailure, isDelivered, retryInMs } from '../delivery/rules.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import { metadataRefusalOf, persistentVolumeReport, refusalOf } from '../refusal/refusal.ts';
import { freeSlots, isComplete, shownSlots } from './slots.ts';

const MISSING_RETRY_MS = 60_000;
const VOLUME_RETRY_MS = 10_000;

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
  const endsInMs = (completedTtlAtMs(claim) ?? Infinity) - nowMs;
  if (endsInMs <= 0) return [{ kind: 'deleteClaim', policy: 'Delete', cause: 'ttlSecondsAfterCompleted' }];
  return [
    ...decideInits(snapshot, snapshot.live),
    ...(isComplete(claim) ? [SHOW] : decideClaiming(snapshot)),
    ...decideSync(snapshot),
    ...(Number.isFinite(endsInMs) ? [wait(endsInMs, 'the claim, not its sandboxes, goes')] : []),
    ...(expiry.inMs === undefined ? [] : [wait(expiry.inMs, 'the claim expires')]),
  ];
}

/** Metadata is live: what was delivered follows the claim and its template, as long as both are there. */
function decideSync(snapshot: BatchSnapshot): Plan {
  const { origin, live } = snapshot;
  if (origin.kind !== 'found' || live.length === 0 || metadataRefusalOf(snapshot) !== undefined) return [];
  return [{ kind: 'syncSlots', live, template: origin.template }];
}

function decideClaiming(snapshot: BatchSnapshot): Plan {
  const { claim, live, origin, nowMs } = snapshot;
  const slots = freeSlots(claim, live);
  const shown = new Set(shownSlots(claim).values());
  const pending = live.filter((sandbox) => !shown.has(sandbox.metadata.name ?? '') && !isDelivered(claim, sandbox));
  if (slots.length === 0 && pending.length === 0) return [SHOW];
  const template = origin.kind === 'found' ? origin.template : undefined;
  const refusal = template === undefined ? undefined : refusalOf(snapshot, template);
  if (refusal !== undefined) return [{ kind: 'publishSlots', timedOut: false, report: refusal }];
  const leftMs = detachedClaimingEndsAtMs(claim, snapshot.startMs) - nowMs;
  if (leftMs <= 0) return [{ kind: 'publishSlots', timedOut: true }];
  return [...decideSlots(snapshot, slots, pending), wait(leftMs, 'the time to claim is over')];
}

/** Gives up what is late, waits a moment after a failure, and fills what is free. */
function decideSlots(snapshot: BatchSnapshot, slots: readonly number[], pending: readonly Sandbox[]): Plan {
  const { claim, nowMs, failures } = snapshot;
  const leftMs = (sandbox: Sandbox): number => timeLeftMs(snapshot, sandbox) ?? Infinity;
  const late = pending.filter((sandbox) => leftMs(sandbox) <= 0);
  if (late.length > 0) {
    const give = (sandbox: Sandbox): Step => ({
      kind: 'failDelivery',
      sandbox,
      message: deliveryFailure(claim, sandbox, troubleOf(snapshot, sandbox)),
    });
    return [...late.map(give), wait(0, 'deliveries failed')];
  }
  const next = Math.min(...pending.map(leftMs));
  const look = Number.isFinite(next) ? [wait(next, 'a Sandbox has to be ready by then')] : [];
  const pauseMs = failures === undefined ? 0 : retryInMs(failures, nowMs);
  if (pauseMs > 0) return [SHOW, wait(pauseMs, 'a delivery failed'), ...look];
  return [...(slots.length === 0 ? [SHOW] : decideFilling(snapshot, slots)), ...look];
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
  const volumes = persistentVolumeReport(snapshot);
  if (volumes !== undefined) {
    return [{ kind: 'publishSlots', timedOut: false, report: volumes }, wait(VOLUME_RETRY_MS, volumes.reason)];
  }
  const pools = needsColdStart(snapshot, template) ? [] : origin.pools;
  const cold = { kind: 'createSlot', input: coldStart(snapshot, template) } as const;
  return [{ kind: 'fillSlots', slots, pools, template, otherwise: shortageOf(snapshot, pools) ?? cold }];
}

function missing(origin: { readonly kind: 'missingPool' | 'missingTemplate'; readonly name: string }): Report {
  return origin.kind === 'missingPool'
    ? { reason: claimReasons.warmPoolNotFound, message: claimMessages.warmPoolNotFound(origin.name) }
    : { reason: claimReasons.templateNotFound, message: claimMessages.templateNotFound(origin.name) };
}

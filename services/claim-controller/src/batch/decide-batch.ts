import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { BatchSnapshot } from '../plan/snapshot-batch.ts';
import { findCompletedTtlAtMs, getDetachedClaimingEndMs } from '../lifetime/deadlines.ts';
import { decideExpiry } from '../lifetime/decide-expiry.ts';
import { buildColdStart, decideQueue, needsColdStart } from '../adopt/decide-warm-or-cold.ts';
import { decideGivingUp, decideStartOfTime, timeLeftMs } from '../delivery/decide-time-limits.ts';
import { isDelivered, retryInMs } from '../delivery/rules.ts';
import { decideInits } from '../runtime/decide-init.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import { decideMetadataRefusal, decideVolumeReport, decideRefusal } from '../refusal/decide-refusal.ts';
import { decideAdmission, decideQuotaBlock } from '../quota/decide-quota.ts';
import { decideRequests, isRequest } from '../refusal/decide-requests.ts';
import { listFreeSlots, isComplete, mapShownSlots } from './slots.ts';

const MISSING_RETRY_MS = 60_000;
const VOLUME_RETRY_MS = 10_000;

const SHOW: Step = { kind: 'publishSlots', timedOut: false };

/**
 * What one pass over a detached claim does: fill the free slots, show what was delivered, and stop for good when all slots
 * are delivered or the time is over (docs/reference/sandbox-claim.md#detached-claims).
 */
export function decideBatch(snapshot: BatchSnapshot): Plan {
  return decideRequests(snapshot, decideClaim(snapshot));
}

/** Whether the plan for this snapshot sends a request that depends on the claim's Secrets. */
export function isBatchRequest(snapshot: BatchSnapshot): boolean {
  return isRequest(decideClaim(snapshot));
}

function decideClaim(snapshot: BatchSnapshot): Plan {
  const { claim, nowMs } = snapshot;
  if (claim.metadata.deletionTimestamp !== undefined) return [];
  const expiry = decideExpiry(snapshot);
  if (expiry.kind === 'expired') return expiry.plan;
  const endsInMs = (findCompletedTtlAtMs(claim) ?? Infinity) - nowMs;
  if (endsInMs <= 0) return [{ kind: 'deleteClaim', policy: 'Delete', cause: 'ttlSecondsAfterCompleted' }];
  return [
    ...decideInits(snapshot, snapshot.live),
    ...(isComplete(claim) ? [SHOW] : decideClaiming(snapshot)),
    ...decideSync(snapshot),
    ...(Number.isFinite(endsInMs) ? [wait(endsInMs, 'the completed claim is due for deletion')] : []),
    ...(expiry.inMs === undefined ? [] : [wait(expiry.inMs, 'the claim expires')]),
  ];
}

/** The pod metadata of delivered Sandboxes follows the claim and its template, as long as both exist. */
function decideSync(snapshot: BatchSnapshot): Plan {
  const { source, live } = snapshot;
  if (source.kind !== 'found' || live.length === 0 || decideMetadataRefusal(snapshot) !== undefined) return [];
  return [{ kind: 'syncSlots', live, template: source.template }];
}

function decideClaiming(snapshot: BatchSnapshot): Plan {
  const { claim, live, source, nowMs } = snapshot;
  const slots = listFreeSlots(claim, live);
  const shown = new Set(mapShownSlots(claim).values());
  const pending = live.filter((sandbox) => !shown.has(sandbox.metadata.name ?? '') && !isDelivered(claim, sandbox));
  if (slots.length === 0 && pending.length === 0) return [SHOW];
  const template = source.kind === 'found' ? source.template : undefined;
  const refusal = template === undefined ? undefined : decideRefusal(snapshot, template);
  if (refusal !== undefined) return [{ kind: 'publishSlots', timedOut: false, report: refusal }];
  const leftMs = getDetachedClaimingEndMs(claim, snapshot.startMs) - nowMs;
  if (leftMs <= 0) return [{ kind: 'publishSlots', timedOut: true }];
  const block = decideQuotaBlock(snapshot);
  const work = block ?? [...decideAdmission(snapshot), ...decideSlots(snapshot, slots, pending)];
  return [...work, wait(leftMs, 'the time to claim is over')];
}

/** Gives up Sandboxes that are late, waits a moment after a failure, and fills free slots. */
function decideSlots(snapshot: BatchSnapshot, slots: readonly number[], pending: readonly Sandbox[]): Plan {
  const { nowMs, failures } = snapshot;
  const leftMs = (sandbox: Sandbox): number => timeLeftMs(snapshot, sandbox) ?? Infinity;
  const start = decideStartOfTime(snapshot, pending);
  const late = pending.filter((sandbox) => leftMs(sandbox) <= 0);
  if (late.length > 0) {
    const giveUps = late.map((sandbox) => decideGivingUp(snapshot, sandbox));
    return [...start, ...giveUps, wait(0, 'deliveries failed')];
  }
  const next = Math.min(...pending.map(leftMs));
  const look = Number.isFinite(next) ? [wait(next, 'a Sandbox has to be ready by then')] : [];
  const pauseMs = failures === undefined ? 0 : retryInMs(failures, nowMs);
  if (pauseMs > 0) return [...start, SHOW, wait(pauseMs, 'a delivery failed'), ...look];
  return [...start, ...(slots.length === 0 ? [SHOW] : decideFilling(snapshot, slots)), ...look];
}

function decideFilling(snapshot: BatchSnapshot, slots: readonly number[]): Plan {
  const { source } = snapshot;
  if (source.kind !== 'found') {
    return [
      { kind: 'publishSlots', timedOut: false, report: buildMissingReport(source) },
      wait(MISSING_RETRY_MS, 'the pool or template of the claim is missing'),
    ];
  }
  const { template } = source;
  const volumes = decideVolumeReport(snapshot);
  if (volumes !== undefined) {
    return [{ kind: 'publishSlots', timedOut: false, report: volumes }, wait(VOLUME_RETRY_MS, volumes.reason)];
  }
  const pools = needsColdStart(snapshot, template) ? [] : source.pools;
  const cold = { kind: 'createSlot', input: buildColdStart(snapshot, template) } as const;
  return [{ kind: 'fillSlots', slots, pools, template, otherwise: decideQueue(snapshot, template, pools) ?? cold }];
}

function buildMissingReport(source: {
  readonly kind: 'missingPool' | 'missingTemplate';
  readonly name: string;
}): Report {
  return source.kind === 'missingPool'
    ? { reason: claimReasons.warmPoolNotFound, message: claimMessages.warmPoolNotFound(source.name) }
    : { reason: claimReasons.templateNotFound, message: claimMessages.templateNotFound(source.name) };
}

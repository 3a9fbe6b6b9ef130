import { annotations, resolveMode, isPoolMember, formatRfc3339 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Snapshot } from '../plan/snapshot.ts';

/** What idleness is judged by. */
export type IdleMoment = Pick<Snapshot, 'sandbox' | 'nowMs'> &
  Partial<Pick<Snapshot, 'earlyReportSeenMs' | 'lastUsedMs'>>;

/** The status shows activity at most this often, however short the limits are. */
const MIN_PUBLISH_INTERVAL_MS = 5_000;

/** When idleness needs a pass, epoch milliseconds; undefined: never. */
export function findIdleRequeueAtMs(snapshot: IdleMoment & Pick<Snapshot, 'wakeRequestUntilMs'>): number | undefined {
  const times = [findIdleSuspendMs(snapshot), findIdleDeleteMs(snapshot)].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.max(Math.min(...times), snapshot.wakeRequestUntilMs ?? 0);
}

/** When the Sandbox is suspended unless it is used, epoch milliseconds; undefined: never. */
export function findIdleSuspendMs(moment: IdleMoment): number | undefined {
  const { spec } = moment.sandbox;
  return resolveMode(spec) === 'Suspended' ? undefined : findIdleLimitMs(moment, spec.idle?.suspendAfterSeconds);
}

/** When the Sandbox is deleted unless it is used, suspended time included. Epoch milliseconds; undefined: never. */
export function findIdleDeleteMs(moment: IdleMoment): number | undefined {
  return findIdleLimitMs(moment, moment.sandbox.spec.idle?.deleteAfterSeconds);
}

/**
 * `status.lastActivityTime`: the idle limits count from it. The clock starts when the Sandbox is first Ready and restarts
 * when it is Ready after a resume; in between, reports move it. Rounded up, so that no limit acts early.
 */
export function findLastActivity(snapshot: Snapshot, isReady: boolean): string | undefined {
  const { sandbox, nowMs } = snapshot;
  const published = sandbox.status?.lastActivityTime;
  if (isPoolMember(sandbox) || isResuming(sandbox)) return undefined;
  if (published === undefined) return isReady && sandbox.spec.idle !== undefined ? roundUpToSecond(nowMs) : undefined;
  const reported = findReportedMs(snapshot) ?? 0;
  return reported - Date.parse(published) < publishIntervalMs(sandbox) ? published : roundUpToSecond(reported);
}

/**
 * The Sandbox leaves a suspension, or its suspension is withdrawn before it took effect. The record of who asked stays
 * until the status shows a stopped clock: otherwise, after a crash in between, the old time would suspend it again.
 */
function isResuming({ metadata, spec, status }: Sandbox): boolean {
  if (resolveMode(spec) === 'Suspended') return false;
  const isRecorded = metadata.annotations?.[annotations.suspendedBy] !== undefined;
  return isRecorded || status?.phase === 'Suspended' || status?.phase === 'Suspending';
}

/** Reports count to the millisecond, even before the status shows them. */
function findIdleLimitMs(moment: IdleMoment, seconds: number | undefined): number | undefined {
  const { sandbox } = moment;
  const published = sandbox.status?.lastActivityTime;
  if (seconds === undefined || published === undefined) return undefined;
  if (isPoolMember(sandbox) || isResuming(sandbox)) return undefined;
  return Math.max(Date.parse(published), findReportedMs(moment) ?? 0) + seconds * 1_000;
}

/**
 * The latest report of activity, by the annotation or by gateways and the API; undefined without one. Never in the future:
 * an annotation ahead of our clock counts as of when it was first seen.
 */
function findReportedMs({
  sandbox: { metadata },
  nowMs,
  earlyReportSeenMs,
  lastUsedMs,
}: IdleMoment): number | undefined {
  const reported = Date.parse(metadata.annotations?.[annotations.lastActivityAt] ?? '');
  if (Number.isNaN(reported)) return lastUsedMs;
  return Math.max(Math.min(reported, earlyReportSeenMs ?? nowMs), lastUsedMs ?? 0);
}

/** A quarter of the shortest limit is precise enough for readers: docs/reference/sandbox.md#status. */
function publishIntervalMs({ spec: { idle = {} } }: Sandbox): number {
  const limits = [idle.suspendAfterSeconds, idle.deleteAfterSeconds].filter((limit) => limit !== undefined);
  return limits.length === 0 ? MIN_PUBLISH_INTERVAL_MS : Math.max(MIN_PUBLISH_INTERVAL_MS, Math.min(...limits) * 250);
}

const roundUpToSecond = (ms: number): string => formatRfc3339(Math.ceil(ms / 1_000) * 1_000);

import { annotations, effectiveMode, eventReasons, isPoolMember, rfc3339 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { failed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';
import { suspendStep } from './suspend.ts';

/** What idleness is judged by. */
type Moment = Pick<Snapshot, 'sandbox' | 'nowMs'> & Partial<Pick<Snapshot, 'reportSeenMs' | 'usedMs'>>;

/** Activity is published at most this often, however short the limits are. */
const MIN_REPORT_MS = 5_000;

/** Suspends a Sandbox that nobody has used for `idle.suspendAfterSeconds` (API contract, idle). */
export function decideIdleSuspension(snapshot: Snapshot): Plan {
  const isDue = isPast(idleSuspendMs(snapshot), snapshot) && !isPast(idleDeleteMs(snapshot), snapshot);
  return isDue ? [suspendStep(snapshot.sandbox, 'Idle')] : [];
}

/**
 * Deletes a Sandbox that nobody has used for `idle.deleteAfterSeconds`. Only once its disks are owned as `whenDeleted`
 * says: garbage collection takes the others along.
 */
export function decideIdleDeletion(snapshot: Snapshot): Plan {
  const { sandbox } = snapshot;
  if (!isPast(idleDeleteMs(snapshot), snapshot) || failed(snapshot, 'pvcs') || failed(snapshot, 'expiry')) return [];
  const seconds = sandbox.spec.idle?.deleteAfterSeconds ?? 0;
  const message = `Sandbox was deleted: nobody had used it for ${seconds} s, which is its idle.deleteAfterSeconds`;
  const note = { type: 'Normal', reason: eventReasons.idleDeleted, message } as const;
  return [{ kind: 'deleteSandbox', phase: 'expiry', note }];
}

/** When idleness needs a pass; undefined: never. Epoch milliseconds. */
export function idleWakeMs(snapshot: Moment & Pick<Snapshot, 'wakeUntilMs'>): number | undefined {
  const times = [idleSuspendMs(snapshot), idleDeleteMs(snapshot)].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.max(Math.min(...times), snapshot.wakeUntilMs ?? 0);
}

/** When the Sandbox is deleted unless somebody uses it, suspended time included. Epoch milliseconds. */
export function idleDeleteMs(moment: Moment): number | undefined {
  return after(moment, moment.sandbox.spec.idle?.deleteAfterSeconds);
}

/**
 * `status.lastActivityTime`: what the idle limits are measured from. The clock starts when the Sandbox is first Ready, and
 * again when it is Ready after a resume; in between, reports move it. Rounded up, so that no limit is early.
 */
export function lastActivityOf(snapshot: Snapshot, isReady: boolean): string | undefined {
  const { sandbox, nowMs } = snapshot;
  const published = sandbox.status?.lastActivityTime;
  if (isPoolMember(sandbox) || isResuming(sandbox)) return undefined;
  if (published === undefined) return isReady && sandbox.spec.idle !== undefined ? upToSecond(nowMs) : undefined;
  const reported = reportedMs(snapshot) ?? 0;
  return reported - Date.parse(published) < reportEveryMs(sandbox) ? published : upToSecond(reported);
}

/**
 * The Sandbox leaves a suspension, or one that was asked for is withdrawn. The record of who asked stays until the clock
 * is seen to be stopped: otherwise a crash in between would let the old time suspend it again.
 */
function isResuming({ metadata, spec, status }: Sandbox): boolean {
  if (effectiveMode(spec) === 'Suspended') return false;
  const isRecorded = metadata.annotations?.[annotations.suspendedBy] !== undefined;
  return isRecorded || status?.phase === 'Suspended' || status?.phase === 'Suspending';
}

/** When the Sandbox is suspended unless somebody uses it. Epoch milliseconds. */
export function idleSuspendMs(moment: Moment): number | undefined {
  const { spec } = moment.sandbox;
  return effectiveMode(spec) === 'Suspended' ? undefined : after(moment, spec.idle?.suspendAfterSeconds);
}

/**
 * As with an expiry, an edit of the spec is seen by a normal pass before its limit acts. Nor does a limit act while
 * somebody asks for the Sandbox: whoever was let in reports his activity before the request has lapsed.
 */
function isPast(deadlineMs: number | undefined, { sandbox, nowMs, wakeUntilMs }: Snapshot): boolean {
  const isSeen = sandbox.status?.observedGeneration === sandbox.metadata.generation;
  return isSeen && wakeUntilMs === undefined && deadlineMs !== undefined && deadlineMs <= nowMs;
}

/** Reports count to the millisecond, published or not. */
function after(moment: Moment, seconds: number | undefined): number | undefined {
  const { sandbox } = moment;
  const published = sandbox.status?.lastActivityTime;
  if (seconds === undefined || published === undefined) return undefined;
  if (isPoolMember(sandbox) || isResuming(sandbox)) return undefined;
  return Math.max(Date.parse(published), reportedMs(moment) ?? 0) + seconds * 1_000;
}

/**
 * What tools outside reported, or gateways and the API; undefined without a report, or one that is no time. Never in the future: what is ahead of
 * our clock counts from when it was first seen.
 */
function reportedMs({ sandbox: { metadata }, nowMs, reportSeenMs, usedMs }: Moment): number | undefined {
  const reported = Date.parse(metadata.annotations?.[annotations.lastActivityAt] ?? '');
  if (Number.isNaN(reported)) return usedMs;
  return Math.max(Math.min(reported, reportSeenMs ?? nowMs), usedMs ?? 0);
}

/** A quarter of the shortest limit is precise enough for people (API contract, status). */
function reportEveryMs({ spec: { idle = {} } }: Sandbox): number {
  const limits = [idle.suspendAfterSeconds, idle.deleteAfterSeconds].filter((limit) => limit !== undefined);
  return limits.length === 0 ? MIN_REPORT_MS : Math.max(MIN_REPORT_MS, Math.min(...limits) * 250);
}

const upToSecond = (ms: number): string => rfc3339(Math.ceil(ms / 1_000) * 1_000);

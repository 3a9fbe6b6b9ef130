import {
  claimConditions,
  claimMessages,
  claimReasons,
  effectiveClaimMode,
  findCondition,
  removeCondition,
  rfc3339,
  sandboxConditions,
  setCondition,
} from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { isDetached } from '../batch/mode.ts';
import { isDelivered, readyWithinMs } from '../delivery/rules.ts';
import type { Report } from '../plan/report.ts';

type Phase = NonNullable<SandboxClaimStatus['phase']>;

function generationOf(claim: SandboxClaim): number {
  return claim.metadata.generation ?? 0;
}

/** Conditions with Ready as stated for the claim's generation; the transition time is the Sandbox's where it is copied. */
export function withReady(claim: SandboxClaim, ready: Condition): Condition[] {
  const others = removeCondition(claim.status?.conditions, claimConditions.ready);
  const before = findCondition(claim.status?.conditions, claimConditions.ready);
  const lastTransitionTime = before?.status === ready.status ? before.lastTransitionTime : ready.lastTransitionTime;
  const next = { ...ready, observedGeneration: generationOf(claim), lastTransitionTime };
  return [...others, next].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** The Sandbox's Ready as the claim shows it (API contract, claim status). */
function readyOf(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): Condition {
  const ready = findCondition(sandbox.status?.conditions, sandboxConditions.ready);
  const base = { type: claimConditions.ready, lastTransitionTime: rfc3339(nowMs) };
  const isEarly =
    ready?.status === 'True' && firstServedAt(claim, sandbox) === undefined && !isDelivered(claim, sandbox);
  if (ready === undefined || isEarly) {
    return { ...base, status: 'False', reason: claimReasons.sandboxNotReady, message: claimMessages.sandboxNotReady };
  }
  if (ready.reason === claimReasons.sandboxExpired) {
    return { ...base, status: 'False', reason: claimReasons.sandboxExpired, message: claimMessages.sandboxExpired };
  }
  return ready;
}

/** Finished follows the Sandbox, in both directions. */
function withFinished(conditions: Condition[], claim: SandboxClaim, sandbox: Sandbox): Condition[] {
  const finished = findCondition(sandbox.status?.conditions, sandboxConditions.finished);
  if (finished === undefined) return removeCondition(conditions, claimConditions.finished);
  const copied = { ...finished, observedGeneration: generationOf(claim) };
  return setCondition(conditions, copied, finished.lastTransitionTime);
}

/** Status of a claim that has `sandbox`: its condition, name and addresses. */
export function boundStatus(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): SandboxClaimStatus {
  const conditions = withFinished(withReady(claim, readyOf(claim, sandbox, nowMs)), claim, sandbox);
  const ready = findCondition(conditions, claimConditions.ready)?.status === 'True';
  const completionTime = firstServedAt(claim, sandbox) ?? (ready ? rfc3339(nowMs) : undefined);
  return {
    ...identityOf(claim),
    conditions,
    sandbox: shownSandbox(sandbox),
    ...(completionTime === undefined
      ? { phase: 'Claiming' as const }
      : { phase: 'Completed' as const, completionTime }),
    claimedReplicas: 1,
    ...(ready ? { readyReplicas: 1 } : {}),
  };
}

/** When the claim was served first; with steps of delivery asked for, that counts for each Sandbox anew. */
function firstServedAt(claim: SandboxClaim, sandbox: Sandbox): string | undefined {
  const isNew = readyWithinMs(claim, sandbox) !== undefined && publishedName(claim) !== sandbox.metadata.name;
  return isNew ? undefined : claim.status?.completionTime;
}

function shownSandbox({ metadata, status }: Sandbox): NonNullable<SandboxClaimStatus['sandbox']> {
  const podIPs = status?.podIPs ?? [];
  return { name: metadata.name, ...(podIPs.length === 0 ? {} : { podIPs }) };
}

/** What every status of a claim begins with. */
export function identityOf(claim: SandboxClaim): Pick<SandboxClaimStatus, 'observedGeneration' | 'mode'> {
  return {
    observedGeneration: generationOf(claim),
    mode: claim.status?.mode ?? effectiveClaimMode(claim.spec),
  };
}

interface Unready extends Report {
  readonly phase: Phase;
  readonly keepSandbox: boolean;
  readonly nowMs: number;
}

function unreadyStatus(
  claim: SandboxClaim,
  { reason, message, phase, keepSandbox, nowMs }: Unready,
): SandboxClaimStatus {
  const { completionTime, sandbox } = claim.status ?? {};
  const kept = keepSandbox ? sandbox : undefined;
  return {
    conditions: withReady(claim, {
      type: claimConditions.ready,
      status: 'False',
      reason,
      message,
      lastTransitionTime: rfc3339(nowMs),
    }),
    ...(kept === undefined ? {} : { sandbox: kept }),
    ...identityOf(claim),
    phase,
    message,
    ...(completionTime === undefined ? {} : { completionTime }),
    claimedReplicas: kept === undefined ? 0 : 1,
  };
}

/** Reasons that only a claim without a Sandbox has; any other may be a passing trouble, and takes nothing away. */
const WITHOUT_SANDBOX: ReadonlySet<string> = new Set([
  claimReasons.waitingForStock,
  claimReasons.claimTimeout,
  claimReasons.sandboxInitFailed,
]);

/** Status of a claim that has no Sandbox, and why. A final reason means that only a change of the claim can help. */
export function reportStatus(claim: SandboxClaim, report: Report, nowMs: number): SandboxClaimStatus {
  const phase = report.final === true ? 'Failed' : 'Pending';
  const keepSandbox = !WITHOUT_SANDBOX.has(report.reason);
  return unreadyStatus(claim, { ...report, phase, keepSandbox, nowMs });
}

/** Status of a claim whose time is over; Finished, if it was set, stays. */
export function expiredStatus(
  claim: SandboxClaim,
  { message, sandboxGone }: { readonly message: string; readonly sandboxGone: boolean },
  nowMs: number,
): SandboxClaimStatus {
  const reason = claimReasons.claimExpired;
  if (isDetached(claim)) return expiredBatch(claim, { reason, message }, nowMs);
  return unreadyStatus(claim, { reason, message, phase: 'Expired', keepSandbox: !sandboxGone, nowMs });
}

/** What was delivered stays delivered, and goes by its own lifetime. */
function expiredBatch(claim: SandboxClaim, { reason, message }: Report, nowMs: number): SandboxClaimStatus {
  const lastTransitionTime = rfc3339(nowMs);
  const ready: Condition = { type: claimConditions.ready, status: 'False', reason, message, lastTransitionTime };
  return {
    ...claim.status,
    ...identityOf(claim),
    conditions: withReady(claim, ready),
    phase: 'Expired',
    message,
    claimedReplicas: claim.status?.sandboxes?.length ?? 0,
  };
}

/** Name of the Sandbox that the claim's status shows; empty when it shows none. */
export function publishedName({ status }: SandboxClaim): string {
  return status?.sandbox?.name ?? '';
}

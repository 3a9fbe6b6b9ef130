import {
  claimConditions,
  claimMessages,
  claimReasons,
  resolveClaimMode,
  findCondition,
  removeCondition,
  formatRfc3339,
  sandboxConditions,
  setCondition,
} from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { isDetached } from '../batch/mode.ts';
import { isDelivered, findReadyWithinMs } from '../delivery/rules.ts';
import type { Report } from '../plan/report.ts';

type Phase = NonNullable<SandboxClaimStatus['phase']>;

function getGeneration(claim: SandboxClaim): number {
  return claim.metadata.generation ?? 0;
}

/** The claim's conditions with this Ready, for the claim's generation. Its transition time moves only when the status changes. */
export function withReady(claim: SandboxClaim, ready: Condition): Condition[] {
  const others = removeCondition(claim.status?.conditions, claimConditions.ready);
  const before = findCondition(claim.status?.conditions, claimConditions.ready);
  const lastTransitionTime = before?.status === ready.status ? before.lastTransitionTime : ready.lastTransitionTime;
  const next = { ...ready, observedGeneration: getGeneration(claim), lastTransitionTime };
  return [...others, next].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** The Sandbox's Ready as the claim shows it (docs/reference/sandbox-claim.md#conditions). */
function buildReady(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): Condition {
  const ready = findCondition(sandbox.status?.conditions, sandboxConditions.ready);
  const base = { type: claimConditions.ready, lastTransitionTime: formatRfc3339(nowMs) };
  const isEarly =
    ready?.status === 'True' && findFirstServedAt(claim, sandbox) === undefined && !isDelivered(claim, sandbox);
  if (ready === undefined || isEarly) {
    return { ...base, status: 'False', reason: claimReasons.sandboxNotReady, message: claimMessages.sandboxNotReady };
  }
  if (ready.reason === claimReasons.sandboxExpired) {
    return { ...base, status: 'False', reason: claimReasons.sandboxExpired, message: claimMessages.sandboxExpired };
  }
  return ready;
}

/** Copies Finished from the Sandbox, and removes it when the Sandbox has lost it. */
function withFinished(conditions: Condition[], claim: SandboxClaim, sandbox: Sandbox): Condition[] {
  const finished = findCondition(sandbox.status?.conditions, sandboxConditions.finished);
  if (finished === undefined) return removeCondition(conditions, claimConditions.finished);
  const copied = { ...finished, observedGeneration: getGeneration(claim) };
  return setCondition(conditions, copied, finished.lastTransitionTime);
}

/** Status of a claim that has `sandbox`: its condition, name and addresses. */
export function boundStatus(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): SandboxClaimStatus {
  const conditions = withFinished(withReady(claim, buildReady(claim, sandbox, nowMs)), claim, sandbox);
  const ready = findCondition(conditions, claimConditions.ready)?.status === 'True';
  const completionTime = findFirstServedAt(claim, sandbox) ?? (ready ? formatRfc3339(nowMs) : undefined);
  return {
    ...buildIdentity(claim),
    conditions,
    sandbox: getShownSandbox(sandbox),
    ...(completionTime === undefined
      ? { phase: 'Claiming' as const }
      : { phase: 'Completed' as const, completionTime }),
    claimedReplicas: 1,
    ...(ready ? { readyReplicas: 1 } : {}),
  };
}

/** When the claim was first served; a claim with delivery steps is served anew with each Sandbox. */
function findFirstServedAt(claim: SandboxClaim, sandbox: Sandbox): string | undefined {
  const isNew = findReadyWithinMs(claim, sandbox) !== undefined && getPublishedName(claim) !== sandbox.metadata.name;
  return isNew ? undefined : claim.status?.completionTime;
}

function getShownSandbox({ metadata, status }: Sandbox): NonNullable<SandboxClaimStatus['sandbox']> {
  const podIPs = status?.podIPs ?? [];
  return { name: metadata.name, ...(podIPs.length === 0 ? {} : { podIPs }) };
}

/** The fields that every status of a claim has. */
export function buildIdentity(claim: SandboxClaim): Pick<SandboxClaimStatus, 'observedGeneration' | 'mode'> {
  return {
    observedGeneration: getGeneration(claim),
    mode: claim.status?.mode ?? resolveClaimMode(claim.spec),
  };
}

interface Unready extends Report {
  readonly phase: Phase;
  readonly keepSandbox: boolean;
  readonly nowMs: number;
}

function buildUnreadyStatus(
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
      lastTransitionTime: formatRfc3339(nowMs),
    }),
    ...(kept === undefined ? {} : { sandbox: kept }),
    ...buildIdentity(claim),
    phase,
    message,
    ...(completionTime === undefined ? {} : { completionTime }),
    claimedReplicas: kept === undefined ? 0 : 1,
  };
}

/** Reasons of claims without a Sandbox. Every other reason may pass, so the status keeps the Sandbox it shows. */
const WITHOUT_SANDBOX: ReadonlySet<string> = new Set([
  claimReasons.quotaExceeded,
  claimReasons.waitingForStock,
  claimReasons.networkPolicyPending,
  claimReasons.claimTimeout,
  claimReasons.sandboxInitFailed,
]);

/** Status of a claim that has no Sandbox, with the reason. After a final one only a change of the claim helps. */
export function reportStatus(claim: SandboxClaim, report: Report, nowMs: number): SandboxClaimStatus {
  const phase = report.final === true ? 'Failed' : 'Pending';
  const keepSandbox = !WITHOUT_SANDBOX.has(report.reason);
  return buildUnreadyStatus(claim, { ...report, phase, keepSandbox, nowMs });
}

/** Status of a claim whose time is over. Finished stays if it is set. */
export function buildExpiredStatus(
  claim: SandboxClaim,
  { message, sandboxGone }: { readonly message: string; readonly sandboxGone: boolean },
  nowMs: number,
): SandboxClaimStatus {
  const reason = claimReasons.claimExpired;
  if (isDetached(claim)) return buildExpiredBatch(claim, { reason, message }, nowMs);
  return buildUnreadyStatus(claim, { reason, message, phase: 'Expired', keepSandbox: !sandboxGone, nowMs });
}

/** Delivered Sandboxes stay in the status, and end by their own lifetime. */
function buildExpiredBatch(claim: SandboxClaim, { reason, message }: Report, nowMs: number): SandboxClaimStatus {
  const lastTransitionTime = formatRfc3339(nowMs);
  const ready: Condition = { type: claimConditions.ready, status: 'False', reason, message, lastTransitionTime };
  return {
    ...claim.status,
    ...buildIdentity(claim),
    conditions: withReady(claim, ready),
    phase: 'Expired',
    message,
    claimedReplicas: claim.status?.sandboxes?.length ?? 0,
  };
}

/** Name of the Sandbox that the claim's status shows; empty when it shows none. */
export function getPublishedName({ status }: SandboxClaim): string {
  return status?.sandbox?.name ?? '';
}

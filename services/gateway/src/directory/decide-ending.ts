import { findClaimEnding, resolveMode, findCondition, labels, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { SandboxSnapshot } from './snapshot.ts';
import { formatIncarnation } from './target.ts';
import type { Target } from './target.ts';

/** Why there is no sandbox to talk to (docs/reference/e2b-api.md#data-plane-errors). */
export const GONE_REASONS = ['unknown', 'killed', 'expired', 'failed', 'paused'] as const;
export type GoneReason = (typeof GONE_REASONS)[number];

/**
 * Why the exchanges with a target must end: it is gone or paused, or another incarnation runs. A sandbox that is only not
 * Ready keeps them, because it may be slow and not over.
 */
export function findEndOfIncarnation(target: Target, { claim, sandbox }: SandboxSnapshot): GoneReason | undefined {
  if (sandbox === undefined || sandbox.metadata.uid !== target.uid) return 'killed';
  const end = findEnding(claim, sandbox);
  if (end !== undefined) return end;
  if (resolveMode(sandbox.spec) === 'Suspended') return 'paused';
  return formatIncarnation(sandbox) === target.incarnation ? undefined : 'failed';
}

/** Why a sandbox is over for good, by its claim or its Sandbox; undefined: it is not. */
export function findEnding(claim: SandboxClaim | undefined, sandbox: Sandbox | undefined): GoneReason | undefined {
  if (claim?.metadata.deletionTimestamp !== undefined || sandbox?.metadata.deletionTimestamp !== undefined) {
    return 'killed';
  }
  return findEndOfClaim(claim) ?? findEndOfSandbox(sandbox);
}

function findEndOfClaim(claim: SandboxClaim | undefined): GoneReason | undefined {
  const conditions = claim?.status?.conditions;
  const ready = findCondition(conditions, sandboxConditions.ready);
  const ending = ready?.status === 'False' ? findClaimEnding(ready.reason) : undefined;
  if (ending === 'expired') return 'expired';
  const isOver = ending === 'refused' || ending === 'broken';
  return isOver || isTrue(conditions, sandboxConditions.finished) ? 'failed' : undefined;
}

function findEndOfSandbox(sandbox: Sandbox | undefined): GoneReason | undefined {
  if (sandbox === undefined) return undefined;
  if (sandbox.status?.phase === 'Expired') return 'expired';
  if (sandbox.metadata.labels?.[labels.reservedFailed] === 'true') return 'failed';
  return isTrue(sandbox.status?.conditions, sandboxConditions.finished) ? 'failed' : undefined;
}

type Conditions = Parameters<typeof findCondition>[0];

export const isTrue = (conditions: Conditions, type: string): boolean =>
  findCondition(conditions, type)?.status === 'True';

import {
  annotations,
  claimEndingOf,
  effectiveMode,
  findCondition,
  hasSignOfPool,
  labels,
  sandboxConditions,
  wakeObstacleOf,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { owningClaim } from './directory/snapshot.ts';
import type { Situation } from './directory/snapshot.ts';

/** Why there is no sandbox to talk to (E2B wire contract 3.2). */
export const GONE_REASONS = ['unknown', 'killed', 'expired', 'failed', 'paused'] as const;
export type GoneReason = (typeof GONE_REASONS)[number];

export interface SandboxRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A live, claimed sandbox and where it is. */
export interface Target extends SandboxRef {
  /** One incarnation of its pod: another address or resume is another one, and shares no connection with it. */
  readonly incarnation: string;
  /** Addresses of its pod that may be dialled, the preferred one first. */
  readonly addresses: readonly [string, ...string[]];
  /** Shortest of its idle limits in milliseconds; undefined: nobody has to know that it is used. */
  readonly idleMs: number | undefined;
}

/** What holds for requests to a sandbox, running or not. */
export interface Terms {
  /** SHA-256 in hex of the token that all ports but the daemon's ask for; undefined: they are open. */
  readonly trafficTokenHash: string | undefined;
  /** API key that it was made with. */
  readonly keyId: string | undefined;
  /** The daemon was put into it. */
  readonly hasDaemon: boolean;
}

export type Decision =
  | { readonly kind: 'go'; readonly target: Target; readonly terms: Terms }
  /** `wake`: it sleeps until somebody asks for it. */
  | { readonly kind: 'wait'; readonly terms: Terms; readonly wake: SandboxRef | undefined }
  | { readonly kind: 'gone'; readonly reason: GoneReason };

export interface Asked {
  /** Whether the request is one that wakes a sleeping sandbox. */
  readonly wakes: boolean;
  readonly isRoutable: (address: string) => boolean;
}

/** What becomes of a request for a sandbox in this situation. */
export function decide(situation: Situation, asked: Asked): Decision {
  const { claim, sandbox } = situation;
  if (claim === undefined && sandbox === undefined) return gone('unknown');
  const end = endOf(claim, sandbox);
  if (end !== undefined) return gone(end);
  const terms = termsOf(claim, sandbox);
  if (sandbox === undefined) return { kind: 'wait', terms, wake: undefined };
  if (hasSignOfPool(sandbox)) return gone('unknown');
  if (effectiveMode(sandbox.spec) === 'Suspended') return asleep({ claim, sandbox }, terms, asked);
  return isReady(claim, sandbox) ? awake(sandbox, terms, asked) : { kind: 'wait', terms, wake: undefined };
}

interface Known {
  readonly claim: SandboxClaim | undefined;
  readonly sandbox: Sandbox;
}

function asleep({ claim, sandbox }: Known, terms: Terms, { wakes }: Asked): Decision {
  // The sandbox-controller decides again; a request that it would refuse must not wait in vain.
  const canWake = wakes && wakeObstacleOf(sandbox, claim) === undefined;
  return canWake ? { kind: 'wait', terms, wake: refOf(sandbox) } : gone('paused');
}

function awake(sandbox: Sandbox, terms: Terms, { isRoutable }: Asked): Decision {
  const [first, ...others] = (sandbox.status?.podIPs ?? []).filter(isRoutable);
  return first === undefined ? gone('failed') : { kind: 'go', target: targetOf(sandbox, [first, ...others]), terms };
}

const gone = (reason: GoneReason): Decision => ({ kind: 'gone', reason });

/**
 * Whether `now` ends the connections of a target: it is gone, paused, or another incarnation runs. A sandbox that is
 * merely not Ready keeps them: what is slow is not over.
 */
export function endOfIncarnation(target: Target, { claim, sandbox }: Situation): GoneReason | undefined {
  if (sandbox === undefined || sandbox.metadata.uid !== target.uid) return 'killed';
  const end = endOf(claim, sandbox);
  if (end !== undefined) return end;
  if (effectiveMode(sandbox.spec) === 'Suspended') return 'paused';
  return incarnationOf(sandbox) === target.incarnation ? undefined : 'failed';
}

function endOf(claim: SandboxClaim | undefined, sandbox: Sandbox | undefined): GoneReason | undefined {
  if (claim?.metadata.deletionTimestamp !== undefined || sandbox?.metadata.deletionTimestamp !== undefined) {
    return 'killed';
  }
  return endOfClaim(claim) ?? endOfSandbox(sandbox);
}

function endOfClaim(claim: SandboxClaim | undefined): GoneReason | undefined {
  const conditions = claim?.status?.conditions;
  const ready = findCondition(conditions, sandboxConditions.ready);
  const ending = ready?.status === 'False' ? claimEndingOf(ready.reason) : undefined;
  if (ending === 'expired') return 'expired';
  const isOver = ending === 'refused' || ending === 'broken';
  return isOver || isTrue(conditions, sandboxConditions.finished) ? 'failed' : undefined;
}

function endOfSandbox(sandbox: Sandbox | undefined): GoneReason | undefined {
  if (sandbox === undefined) return undefined;
  if (sandbox.status?.phase === 'Expired') return 'expired';
  if (sandbox.metadata.labels?.[labels.reservedFailed] === 'true') return 'failed';
  return isTrue(sandbox.status?.conditions, sandboxConditions.finished) ? 'failed' : undefined;
}

type Conditions = Parameters<typeof findCondition>[0];

const isTrue = (conditions: Conditions, type: string): boolean => findCondition(conditions, type)?.status === 'True';

/**
 * Ready for traffic: the Sandbox is, and so is the claim that owns it, which waits for the daemon to know its token and
 * environment. A Sandbox without a claim, or of a batch, answers for itself.
 */
function isReady(claim: SandboxClaim | undefined, sandbox: Sandbox): boolean {
  if (!isTrue(sandbox.status?.conditions, sandboxConditions.ready)) return false;
  if (owningClaim(sandbox) === undefined) return true;
  return claim?.status?.sandbox?.name === sandbox.metadata.name && isTrue(claim?.status?.conditions, 'Ready');
}

function refOf({ metadata: { namespace = '', name = '', uid = '' } }: Sandbox): SandboxRef {
  return { namespace, name, uid };
}

function incarnationOf({ metadata, status }: Sandbox): string {
  return `${metadata.uid}/${status?.resumedAt ?? ''}/${status?.podIPs?.join(',') ?? ''}`;
}

function targetOf(sandbox: Sandbox, addresses: Target['addresses']): Target {
  const { idle = {} } = sandbox.spec;
  const limits = [idle.suspendAfterSeconds, idle.deleteAfterSeconds].filter((limit) => limit !== undefined);
  return {
    ...refOf(sandbox),
    incarnation: incarnationOf(sandbox),
    addresses,
    idleMs: limits.length === 0 ? undefined : Math.min(...limits) * 1_000,
  };
}

function termsOf(claim: SandboxClaim | undefined, sandbox: Sandbox | undefined): Terms {
  const notes = claim?.metadata.annotations;
  return {
    trafficTokenHash: notes?.[annotations.trafficTokenHash],
    keyId: notes?.[annotations.apiKeyId],
    hasDaemon: sandbox?.spec.runtime?.inject === true,
  };
}

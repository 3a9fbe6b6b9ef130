import { resolveMode, hasSignOfPool, sandboxConditions, findWakeObstacle } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { findEnding, isTrue } from './directory/decide-ending.ts';
import type { GoneReason } from './directory/decide-ending.ts';
import { findOwningClaim } from './directory/ownership.ts';
import type { RequestSnapshot } from './directory/snapshot.ts';
import { buildSleepingRef, buildTarget, buildTerms } from './directory/target.ts';
import type { SleepingRef, Target, Terms } from './directory/target.ts';

export type Decision =
  | { readonly kind: 'go'; readonly target: Target; readonly terms: Terms }
  /** `wake`: the Sandbox sleeps, and this request wakes it. */
  | { readonly kind: 'wait'; readonly terms: Terms; readonly wake: SleepingRef | undefined }
  | { readonly kind: 'gone'; readonly reason: GoneReason };

/** Decides whether a request goes to its sandbox, waits for it, or is refused. */
export function decide(snapshot: RequestSnapshot): Decision {
  const { claim, sandbox } = snapshot;
  if (claim === undefined && sandbox === undefined) return gone('unknown');
  const end = findEnding(claim, sandbox);
  if (end !== undefined) return gone(end);
  const terms = buildTerms(claim, sandbox);
  if (sandbox === undefined) return { kind: 'wait', terms, wake: undefined };
  if (hasSignOfPool(sandbox)) return gone('unknown');
  const found = { ...snapshot, sandbox };
  if (resolveMode(sandbox.spec) === 'Suspended') return decideSuspended(found, terms);
  return isReady(claim, sandbox) ? decideReady(found, terms) : { kind: 'wait', terms, wake: undefined };
}

type Found = RequestSnapshot & { readonly sandbox: Sandbox };

function decideSuspended({ claim, sandbox, wakes }: Found, terms: Terms): Decision {
  // The sandbox-controller decides again: a request that it would not obey must not wait in vain.
  const canWake = wakes && findWakeObstacle(sandbox, claim) === undefined;
  return canWake ? { kind: 'wait', terms, wake: buildSleepingRef(sandbox) } : gone('paused');
}

function decideReady({ sandbox, dialable: [first, ...others] }: Found, terms: Terms): Decision {
  return first === undefined ? gone('failed') : { kind: 'go', target: buildTarget(sandbox, [first, ...others]), terms };
}

const gone = (reason: GoneReason): Decision => ({ kind: 'gone', reason });

/**
 * Whether the sandbox can take requests: the Sandbox is Ready, and so is the claim that owns it, whose Ready includes that the
 * daemon has its token and environment. A Sandbox without a claim, or of a batch, needs no claim.
 */
function isReady(claim: SandboxClaim | undefined, sandbox: Sandbox): boolean {
  if (!isTrue(sandbox.status?.conditions, sandboxConditions.ready)) return false;
  if (findOwningClaim(sandbox) === undefined) return true;
  return claim?.status?.sandbox?.name === sandbox.metadata.name && isTrue(claim?.status?.conditions, 'Ready');
}

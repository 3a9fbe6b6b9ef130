import { claimMessages } from '@sandlot/api-types';
import { findExpiresAtMs, hasAnnouncedExpiry } from './deadlines.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** The plan of an expired claim, or how long a living one still has; `inMs` is undefined when it has no end. */
export type Expiry =
  { readonly kind: 'expired'; readonly plan: Plan } | { readonly kind: 'alive'; readonly inMs: number | undefined };

/** Two passes: the first reports the expiry, the second follows the policy. Never early (docs/reference/sandbox-claim.md#expiry). */
export function decideExpiry(snapshot: ClaimSnapshot): Expiry {
  const { claim, nowMs } = snapshot;
  const atMs = findExpiresAtMs(claim);
  if (atMs === undefined) return { kind: 'alive', inMs: undefined };
  if (nowMs < atMs) return { kind: 'alive', inMs: atMs - nowMs };
  if (!hasAnnouncedExpiry(claim))
    return { kind: 'expired', plan: [expire(snapshot, { first: true, sandboxGone: false }), wait(0, 'expired')] };
  return { kind: 'expired', plan: decideEnd(snapshot) };
}

function decideEnd(snapshot: ClaimSnapshot): Plan {
  const policy = snapshot.claim.spec.lifecycle?.shutdownPolicy ?? 'Retain';
  switch (policy) {
    case 'Delete':
    case 'DeleteForeground':
      return [{ kind: 'deleteClaim', policy, cause: 'shutdownPolicy' }];
    case 'Retain':
      return [
        ...snapshot.owned
          .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
          .map((sandbox): Step => ({ kind: 'deleteSandbox', sandbox })),
        expire(snapshot, { first: false, sandboxGone: snapshot.owned.length === 0 }),
      ];
  }
}

/** Leaves a foreign Sandbox with the claim's name alone, and says so in the message. */
function expire(
  { claim, owned, namesake }: ClaimSnapshot,
  progress: { readonly first: boolean; readonly sandboxGone: boolean },
): Step {
  const foreign = owned.length === 0 && namesake !== undefined ? namesake.metadata.name : undefined;
  const message =
    foreign === undefined
      ? claimMessages.claimExpired
      : claimMessages.claimExpiredNotOwned(foreign, claim.metadata.name ?? '');
  return { kind: 'expire', message, ...progress };
}

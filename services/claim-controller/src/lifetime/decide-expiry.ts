import { claimMessages } from '@sandlot/api-types';
import { expiresAtMs, hasAnnouncedExpiry } from './deadlines.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** Either the claim has expired and this is what to do, or it will in `inMs`, or never as far as is known. */
export type Expiry =
  { readonly kind: 'expired'; readonly plan: Plan } | { readonly kind: 'alive'; readonly inMs: number | undefined };

/** Two passes (API contract, expiry of a bound claim): first say it, then act by the policy. Never early. */
export function decideExpiry(snapshot: ClaimSnapshot): Expiry {
  const { claim, nowMs } = snapshot;
  const atMs = expiresAtMs(claim);
  if (atMs === undefined) return { kind: 'alive', inMs: undefined };
  if (nowMs < atMs) return { kind: 'alive', inMs: atMs - nowMs };
  if (!hasAnnouncedExpiry(claim))
    return { kind: 'expired', plan: [expire(snapshot, { first: true, sandboxGone: false }), wait(0, 'expired')] };
  return { kind: 'expired', plan: endOf(snapshot) };
}

function endOf(snapshot: ClaimSnapshot): Plan {
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

/** A named Sandbox that is not ours is left alone, and the message says so. */
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

import type { Lease } from '../objects/resources.ts';

/** The last record we read of a lease, and when (monotonic) we first saw that record. */
export interface Observation {
  readonly lease: Lease | undefined;
  readonly sinceMs: number;
}

/** What a candidate may do about a lease. */
export type Bid =
  /** `token` is the number of the term that would begin: it only ever grows. */
  | { readonly kind: 'take'; readonly token: number }
  /** Another candidate holds it. It expires after `expiresInMs` unless renewed. */
  | { readonly kind: 'wait'; readonly expiresInMs: number };

/** The bidder, the time, and a holder reported as gone. */
export interface CandidateView {
  readonly identity: string;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  /** Identity of a holder that is known to be gone. */
  readonly gone?: string | undefined;
}

/**
 * The rule of the election. Expiry counts from the moment we saw the record change, by our own monotonic clock: the
 * times in it are the holder's and may be wrong. A lease in our own name is ours at once, because the process that held
 * it under this identity is gone. A lease whose holder is reported as gone is free at once, too.
 */
export function bid(observation: Observation, candidate: CandidateView): Bid {
  const { lease, sinceMs } = observation;
  if (lease === undefined) return { kind: 'take', token: 1 };
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
  const take: Bid = { kind: 'take', token: tokenOf(lease) + 1 };
  if (['', candidate.identity, candidate.gone].includes(holderIdentity)) return take;
  const expiresInMs = sinceMs + leaseDurationSeconds * 1_000 - candidate.nowMs;
  return expiresInMs <= 0 ? take : { kind: 'wait', expiresInMs };
}

/** Our observation after reading `lease`. An unchanged record keeps its age, whatever else in the object changed. */
export function observe(before: Observation | undefined, lease: Lease | undefined, nowMs: number): Observation {
  const unchanged = before !== undefined && recordOf(before.lease) === recordOf(lease);
  return { lease, sinceMs: unchanged ? before.sinceMs : nowMs };
}

/** Number of the term: how often a candidate has taken the lease. */
export function tokenOf(lease: Lease): number {
  return lease.spec?.leaseTransitions ?? 0;
}

function recordOf(lease: Lease | undefined): string {
  const { holderIdentity, renewTime, leaseTransitions, leaseDurationSeconds } = lease?.spec ?? {};
  return JSON.stringify([lease?.metadata.uid, holderIdentity, renewTime, leaseTransitions, leaseDurationSeconds]);
}

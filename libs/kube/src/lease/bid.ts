import type { Lease } from '../objects/resources.ts';

/** The record of a lease from our last read, and the monotonic time when we first saw that record. */
export interface Observation {
  readonly lease: Lease | undefined;
  readonly sinceMs: number;
}

/** What a candidate may do with a lease. */
export type Bid =
  /** `token` is the number of the new term. It only grows. */
  | { readonly kind: 'take'; readonly token: number }
  /** Another candidate holds the lease. It expires after `expiresInMs` unless the holder renews it. */
  | { readonly kind: 'wait'; readonly expiresInMs: number };

/** The candidate's identity, the time, and a holder that was reported gone. */
export interface CandidateView {
  readonly identity: string;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  /** Identity of a holder that was reported gone. */
  readonly gone?: string | undefined;
}

/**
 * The rule of the election. The lease expires a duration after we last saw its record change, measured by our monotonic
 * clock, because the holder's wall clock may be wrong. A candidate takes a lease under its own identity at once: the
 * process that held it has ended. It also takes a lease at once when the holder was reported gone.
 */
export function bid(observation: Observation, candidate: CandidateView): Bid {
  const { lease, sinceMs } = observation;
  if (lease === undefined) return { kind: 'take', token: 1 };
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
  const take: Bid = { kind: 'take', token: getToken(lease) + 1 };
  if (['', candidate.identity, candidate.gone].includes(holderIdentity)) return take;
  const expiresInMs = sinceMs + leaseDurationSeconds * 1_000 - candidate.nowMs;
  return expiresInMs <= 0 ? take : { kind: 'wait', expiresInMs };
}

/** The observation after reading `lease`. An unchanged record keeps its age, even if the metadata changed. */
export function observe(before: Observation | undefined, lease: Lease | undefined, nowMs: number): Observation {
  const unchanged = before !== undefined && formatRecord(before.lease) === formatRecord(lease);
  return { lease, sinceMs: unchanged ? before.sinceMs : nowMs };
}

/** The number of the term: how often candidates have taken the lease. */
export function getToken(lease: Lease): number {
  return lease.spec?.leaseTransitions ?? 0;
}

function formatRecord(lease: Lease | undefined): string {
  const { holderIdentity, renewTime, leaseTransitions, leaseDurationSeconds } = lease?.spec ?? {};
  return JSON.stringify([lease?.metadata.uid, holderIdentity, renewTime, leaseTransitions, leaseDurationSeconds]);
}

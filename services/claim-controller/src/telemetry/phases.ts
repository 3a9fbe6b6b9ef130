/** Moments in the life of a claim as this process saw them, monotonic milliseconds; the last time each was reached. */
export interface Milestones {
  /** A pass had a plan that gives the claim a Sandbox or lines it up for one. Reached once. */
  picked?: number;
  /** The adoption or creation that succeeded began. */
  tried?: number;
  /** The Sandbox was the claim's: the answer to W1, or to the creation, was there. */
  committed?: number;
  /** The claim's status named the Sandbox: the answer to W2 was there. */
  bound?: number;
}

/**
 * Where the time of a claim goes, in the order of its life: `queue` until a pass takes it up, `stock` until there is
 * something to try, `commit` until the Sandbox is the claim's, `publish` until the status says so, `start` until Ready.
 */
export const CLAIM_PHASES = ['queue', 'stock', 'commit', 'publish', 'start'] as const;

export type ClaimPhase = (typeof CLAIM_PHASES)[number];

/** Milliseconds of the phases that end with the binding; they add up to the time from `observedMs` to the binding. */
export function phasesOfBinding(
  observedMs: number,
  { picked, tried, committed, bound }: Milestones,
): readonly (readonly [ClaimPhase, number])[] {
  // What a process before this one did is not known here: then nothing is measured, rather than something wrong.
  if (picked === undefined || tried === undefined || committed === undefined || bound === undefined) return [];
  return [
    ['queue', picked - observedMs],
    ['stock', tried - picked],
    ['commit', committed - tried],
    ['publish', bound - committed],
  ];
}

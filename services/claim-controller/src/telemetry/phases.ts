/** When the claim last reached each point, as this process saw it, monotonic milliseconds. */
export interface Milestones {
  /** A pass first had a plan to give the claim a Sandbox or to queue it for one. */
  picked?: number;
  /** The adoption or creation that succeeded started. */
  tried?: number;
  /** The API server answered W1 or the creation: the Sandbox is the claim's. */
  committed?: number;
  /** The API server answered W2: the claim's status names the Sandbox. */
  bound?: number;
}

/**
 * The phases of a claim in order: `queue` until its first pass, `stock` until there is a Sandbox to try, `commit` until the
 * Sandbox is the claim's, `publish` until the status shows it, `start` until Ready.
 */
export const CLAIM_PHASES = ['queue', 'stock', 'commit', 'publish', 'start'] as const;

export type ClaimPhase = (typeof CLAIM_PHASES)[number];

/** Milliseconds of each phase up to the binding. They add up to the time from `observedMs` to the binding. */
export function listPhasesOfBinding(
  observedMs: number,
  { picked, tried, committed, bound }: Milestones,
): readonly (readonly [ClaimPhase, number])[] {
  // An earlier process did part of the work: measure nothing rather than something wrong.
  if (picked === undefined || tried === undefined || committed === undefined || bound === undefined) return [];
  return [
    ['queue', picked - observedMs],
    ['stock', tried - picked],
    ['commit', committed - tried],
    ['publish', bound - committed],
  ];
}

/** When the claim last reached each point, as this process saw it, monotonic milliseconds. */
export interface Milestones {
  /** A pass first had a plan to give the claim a Sandbox or to queue it for one. */
  picked?: number;
  /** The adoption or creation that succeeded started. */
  tried?: number;
  /** The API server answered W1 or the creation: the Sandbox is the claim's. */
  committed?: number;
  /** The status that shows the Sandbox was held, and is no more. */
  released?: number;
  /** The API server answered W2: the claim's status names the Sandbox. */
  bound?: number;
}

/**
 * The phases of a claim in order: `queue` until its first pass, `stock` until there is a Sandbox to try, `commit` until the
 * Sandbox is the claim's, `publish` until the status shows it, `start` until Ready.
 */
export const CLAIM_PHASES = ['queue', 'stock', 'commit', 'publish', 'start'] as const;

export type ClaimPhase = (typeof CLAIM_PHASES)[number];

/** For how long the first status was held. The Sandbox was starting, so this is part of the phase `start`. */
export function computeHeldMs({ committed, released }: Milestones): number {
  return committed === undefined || released === undefined ? 0 : released - committed;
}

/**
 * Milliseconds of each phase up to the binding. They add up to the time from `observedMs` to the binding, less the time for
 * which the status was held.
 */
export function listPhasesOfBinding(
  observedMs: number,
  milestones: Milestones,
): readonly (readonly [ClaimPhase, number])[] {
  const { picked, tried, committed, bound } = milestones;
  // An earlier process did part of the work: measure nothing rather than something wrong.
  if (picked === undefined || tried === undefined || committed === undefined || bound === undefined) return [];
  return [
    ['queue', picked - observedMs],
    ['stock', tried - picked],
    ['commit', committed - tried],
    ['publish', bound - committed - computeHeldMs(milestones)],
  ];
}

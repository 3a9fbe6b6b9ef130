import type { HeldAddress } from '../plan/plan.ts';

/** The rules of a claim that hold at this replica. */
export interface Applied {
  /** The annotation `sandlot.dev/network` of the claim. */
  readonly text: string;
  /** The addresses of its sandboxes at which they hold. */
  readonly addresses: readonly string[];
}

/**
 * The text by which this replica decides over all addresses of a claim; undefined while it knows none, while they do not have
 * the same text, or while something of it is not complete.
 */
export function findApplied(
  held: readonly HeldAddress[],
  isComplete: (address: HeldAddress) => boolean,
): Applied | undefined {
  const [text, ...others] = new Set(held.map((each) => each.text));
  if (text === undefined || others.length > 0 || !held.every(isComplete)) return undefined;
  return { text, addresses: held.map(({ address }) => address) };
}

// Which changes of Sandboxes a pool has to look at, and how soon.
import { isPoolMember } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Change } from '@sandlot/kube';
import { formerPoolOf, strayOf } from './cache.ts';

/**
 * In a refill every member changes several times, and in a burst adoptions come by the hundred: one look at the pool serves all
 * changes of so long. No refill begins sooner after an adoption.
 */
export const GATHER_MS = 30;

type SandboxChange = Pick<Change<Sandbox>, 'old' | 'next'>;

/** False for what becomes of a Sandbox while a claim has it: a pool counts it from its adoption to its end. */
export function concernsPool({ old, next }: SandboxChange): boolean {
  if (old === undefined || next === undefined) return true;
  if (isEnding(old) !== isEnding(next)) return true;
  const staysClaimed = isClaimed(old) && isClaimed(next) && formerPoolOf(old) === formerPoolOf(next);
  return !staysClaimed;
}

/** How long a change can wait, milliseconds: a loss and an orphan not at all, an adoption and the progress of a member a little. */
export function gatherMs({ old, next }: SandboxChange): number {
  if (next === undefined || isEnding(next)) return 0;
  if (old !== undefined && !isPoolMember(old)) return 0;
  return isPoolMember(next) || isClaimed(next) ? GATHER_MS : 0;
}

function isClaimed(sandbox: Sandbox): boolean {
  return !isPoolMember(sandbox) && strayOf(sandbox) === undefined && formerPoolOf(sandbox) !== undefined;
}

function isEnding({ metadata }: Sandbox): boolean {
  return metadata.deletionTimestamp !== undefined;
}

// Which changes of Sandboxes enqueue a pool, and after which delay.
import { isPoolMember } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Change } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { findFormerPool, findStrayPool } from './cache.ts';

type SandboxChange = Pick<Change<Sandbox>, 'old' | 'next'>;

/** False for changes of a Sandbox while a claim has it: the pool counts it from its adoption to its deletion. */
export function isRelevantToPool({ old, next }: SandboxChange): boolean {
  if (old === undefined || next === undefined) return true;
  if (isTerminating(old) !== isTerminating(next)) return true;
  const staysClaimed = isClaimed(old) && isClaimed(next) && findFormerPool(old) === findFormerPool(next);
  return !staysClaimed;
}

/** Milliseconds until the change enqueues its pool: a loss and a stray at once, adoptions and progress together. */
export function enqueueDelayMs({ old, next }: SandboxChange): number {
  if (next === undefined || isTerminating(next)) return 0;
  if (old !== undefined && !isPoolMember(old)) return 0;
  return isPoolMember(next) || isClaimed(next) ? pacing.poolChanges.gatherMs : 0;
}

function isClaimed(sandbox: Sandbox): boolean {
  return !isPoolMember(sandbox) && findStrayPool(sandbox) === undefined && findFormerPool(sandbox) !== undefined;
}

function isTerminating({ metadata }: Sandbox): boolean {
  return metadata.deletionTimestamp !== undefined;
}

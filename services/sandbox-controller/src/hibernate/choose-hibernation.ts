import { resolveMode } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isWanted } from '../start-memory/start-record.ts';
import { getPatienceEndMs, listRestorable } from './hibernations.ts';
import { findRestoreRefusal } from './refusals.ts';

/** The hibernation from which the next Pod continues: the newest one, if a Pod of the Sandbox as it is now can. */
export function findNext(snapshot: Snapshot): SandboxSnapshot | undefined {
  const [newest] = listRestorable(snapshot);
  if (newest === undefined || !isWanted(snapshot.sandbox, newest)) return undefined;
  return findRestoreRefusal(snapshot, newest) === undefined ? newest : undefined;
}

/**
 * A hibernation that was announced to a Pod that is gone. If that Pod had not begun, the snapshot-controller withdraws it, and
 * the next Pod has it; so the next Pod waits for that, for a time.
 */
export function findAwaited(snapshot: Snapshot): SandboxSnapshot | undefined {
  if (listRestorable(snapshot).length > 0) return undefined;
  const isAwaited = (each: SandboxSnapshot): boolean => {
    const isLeft = isWanted(snapshot.sandbox, each) && !isTerminating(each);
    return isLeft && (findAwaitedUntilMs(each) ?? 0) > snapshot.nowMs;
  };
  return snapshot.hibernations.find(isAwaited);
}

/** When the Sandbox begins anew although the outcome of a restore is open, epoch milliseconds; undefined: it does not wait. */
export function findAnewAtMs(snapshot: Snapshot): number | undefined {
  const awaited = resolveMode(snapshot.sandbox.spec) === 'Running' ? findAwaited(snapshot) : undefined;
  return awaited === undefined ? undefined : findAwaitedUntilMs(awaited);
}

function findAwaitedUntilMs({ status }: SandboxSnapshot): number | undefined {
  const { restore, phase } = status ?? {};
  return phase === 'Ready' && restore?.state === 'Announced' ? getPatienceEndMs(restore) : undefined;
}

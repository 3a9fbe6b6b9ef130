import {
  findCondition,
  resolveMode,
  sandboxMessages as messages,
  snapshotConditions,
  snapshotReasons,
} from '@sandlot/api-types';
import { formatUnseen, isUnseen } from '../hibernate/unseen.ts';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { findCopy, isStartRefused, isStrict, readStart } from './start-record.ts';

/** Why the Sandbox gets no Pod any more: its start failed and it may not boot; undefined otherwise. */
export function findStartProblem({ sandbox }: Snapshot): string | undefined {
  const start = readStart(sandbox);
  if (start.kind !== 'failed' || !isStartRefused(sandbox)) return undefined;
  return messages.restoreFailed(sandbox.spec.restoreFrom?.snapshotName ?? '', start.why);
}

/** What a Sandbox waits for that has no Pod because its copy is being made; undefined otherwise. */
export function findStartWait({ sandbox, hibernations, nowMs }: Snapshot): string | undefined {
  const { restoreFrom } = sandbox.spec;
  if (restoreFrom === undefined || readStart(sandbox).kind !== 'open') return undefined;
  const copy = findCopy(sandbox, hibernations);
  const wait = messages.startPending(restoreFrom.snapshotName);
  if (copy !== undefined && isUnseen(copy, nowMs)) return `${wait}: ${formatUnseen(copy)}`;
  const said = findCondition(copy?.status?.conditions, snapshotConditions.ready);
  return said === undefined || ORDINARY.has(said.reason) ? wait : `${wait}: ${said.message}`;
}

const ORDINARY: ReadonlySet<string> = new Set([snapshotReasons.pending, snapshotReasons.saving, snapshotReasons.saved]);

/**
 * Whether the Pod runs, and no node has said yet that it was restored. A Sandbox that may not boot is not Ready before that:
 * its Pod may turn out to have begun anew.
 */
export function isStartUnconfirmed({ sandbox }: Snapshot): boolean {
  const { kind } = readStart(sandbox);
  return isStrict(sandbox) && (kind === 'open' || kind === 'chosen');
}

/** Whether the Sandbox is on its way to its first Pod. */
export function isOnItsWay(snapshot: Snapshot): boolean {
  const { kind } = readStart(snapshot.sandbox);
  const isOpen = kind === 'open' || kind === 'chosen';
  return isOpen && findOnlyPod(snapshot) === undefined && resolveMode(snapshot.sandbox.spec) === 'Running';
}

import type { SandboxSnapshot } from '@sandlot/api-types';
import { isTerminating } from '../plan/snapshot.ts';

/** The snapshot-controller writes a status at once, also where a save or a copy has to wait. */
const UNSEEN_MS = 60_000;

/** When a SandboxSnapshot without a status means that no snapshot-controller works, epoch milliseconds; undefined: it has one. */
export function findUnseenAtMs(object: SandboxSnapshot): number | undefined {
  const createdMs = Date.parse(object.metadata.creationTimestamp ?? '');
  const isSeen = object.status?.phase !== undefined || isTerminating(object);
  return isSeen || Number.isNaN(createdMs) ? undefined : createdMs + UNSEEN_MS;
}

/** Whether no snapshot-controller has looked at it for so long that none can be expected to. */
export function isUnseen(object: SandboxSnapshot, nowMs: number): boolean {
  return (findUnseenAtMs(object) ?? Infinity) <= nowMs;
}

/** For the owner, and for who runs the cluster. */
export function formatUnseen({ metadata: { name = '' } }: SandboxSnapshot): string {
  return `the snapshot-controller has not looked at SandboxSnapshot "${name}" for a minute. Look at its Deployment`;
}

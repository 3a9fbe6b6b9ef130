import { isUnschedulable } from '../members/not-ready.ts';
import type { PoolSnapshot } from '../plan/snapshot.ts';

/**
 * The golden snapshot from which new members start; undefined: they boot. The snapshot lies on one node: while a member waits
 * for room there, others boot on any node.
 */
export function selectGolden({ golden, members }: PoolSnapshot): string | undefined {
  const waitsForRoom = members.some(
    ({ sandbox }) => sandbox.spec.restoreFrom?.snapshotName === golden && isUnschedulable(sandbox),
  );
  return waitsForRoom ? undefined : golden;
}

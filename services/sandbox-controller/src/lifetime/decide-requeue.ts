import { findMoveAtMs } from '../drain/judge-move.ts';
import { findVacantUntilMs } from '../drain/vacancy.ts';
import { findAnewAtMs } from '../hibernate/choose-hibernation.ts';
import { findSettledAtMs } from '../hibernate/judge-save.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { restartRequeueAtMs } from '../pod/restart.ts';
import { decideStatusWrite } from '../status/decide-status-write.ts';
import { getStatus } from '../status/status.ts';
import { findTroubleRequeueAtMs } from '../troubles/decide-troubles.ts';
import { findEffectiveExpiryMs, isExpired, isMarkedExpired } from './expiry.ts';
import { findIdleRequeueAtMs } from './idle.ts';

/** A foreign Pod may lack the label that the controller watches, so no event shows when it goes away. */
const FOREIGN_POD_RECHECK_MS = 60_000;

/** When this Sandbox needs a pass although nothing changes, epoch milliseconds; undefined: never. */
export function requeueAtMs(snapshot: Snapshot): number | undefined {
  if (snapshot.gone || snapshot.sandbox.metadata.deletionTimestamp !== undefined) return undefined;
  const expiryAtMs = findEffectiveExpiryMs(snapshot);
  if (isMarkedExpired(snapshot.sandbox) && isExpired(snapshot, expiryAtMs)) return undefined;
  const write = decideStatusWrite(snapshot, getStatus(snapshot));
  const times = [
    expiryAtMs,
    restartRequeueAtMs(snapshot),
    findIdleRequeueAtMs(snapshot),
    findTroubleRequeueAtMs(snapshot),
    findAnewAtMs(snapshot),
    findSettledAtMs(snapshot),
    findMoveAtMs(snapshot),
    findVacantUntilMs(snapshot),
    write.kind === 'hold' ? write.untilMs : undefined,
    snapshot.foreignPod === undefined ? undefined : snapshot.nowMs + FOREIGN_POD_RECHECK_MS,
  ].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

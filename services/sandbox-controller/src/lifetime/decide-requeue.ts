import type { Snapshot } from '../plan/snapshot.ts';
import { restartRequeueAtMs } from '../pod/restart.ts';
import { decideStatusWrite } from '../status/decide-status-write.ts';
import { statusOf } from '../status/status.ts';
import { troubleRequeueAtMs } from '../troubles/decide-troubles.ts';
import { effectiveExpiryMs, isExpired, isMarkedExpired } from './expiry.ts';
import { idleRequeueAtMs } from './idle.ts';

/** A foreign Pod may lack the label that the controller watches, so no event shows when it goes away. */
const FOREIGN_POD_RECHECK_MS = 60_000;

/** When this Sandbox needs a pass although nothing changes, epoch milliseconds; undefined: never. */
export function requeueAtMs(snapshot: Snapshot): number | undefined {
  if (snapshot.gone || snapshot.sandbox.metadata.deletionTimestamp !== undefined) return undefined;
  const expiryAtMs = effectiveExpiryMs(snapshot);
  if (isMarkedExpired(snapshot.sandbox) && isExpired(snapshot, expiryAtMs)) return undefined;
  const write = decideStatusWrite(snapshot, statusOf(snapshot));
  const times = [
    expiryAtMs,
    restartRequeueAtMs(snapshot),
    idleRequeueAtMs(snapshot),
    troubleRequeueAtMs(snapshot),
    write.kind === 'hold' ? write.untilMs : undefined,
    snapshot.foreignPod === undefined ? undefined : snapshot.nowMs + FOREIGN_POD_RECHECK_MS,
  ].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

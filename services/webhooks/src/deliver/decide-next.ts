import type { Delivery } from '@sandlot/team-events';

/** Repeats after the first attempt, and the pause before each, as E2B has them. */
const REPEATS = 3;
const PAUSE_MS = 10_000;
/** So many failures in a row are a receiver that is down, and not a delivery that failed. */
const TOLERATED_IN_ROW = 8;
const FIRST_COOL_MS = 10_000;
const LAST_COOL_MS = 300_000;

export interface Tried {
  readonly isSuccess: boolean;
  /** Attempts of this delivery, this one included. */
  readonly tries: number;
  /** Failed attempts of all deliveries of the webhook since its last success, without this one. */
  readonly failuresInRow: number;
  readonly nowMs: number;
}

export interface Next {
  readonly status: Delivery['status'];
  /** When the delivery is tried again; undefined: it has ended. */
  readonly dueMs: number | undefined;
  readonly failuresInRow: number;
  /** Until then the webhook gets nothing; 0: it need not cool down. */
  readonly coolUntilMs: number;
}

/** What follows from an attempt. A receiver that is down is asked less and less often, so that it keeps no place from others. */
export function decideNext({ isSuccess, tries, failuresInRow, nowMs }: Tried): Next {
  if (isSuccess) return { status: 'succeeded', dueMs: undefined, failuresInRow: 0, coolUntilMs: 0 };
  const failures = failuresInRow + 1;
  const excess = failures - TOLERATED_IN_ROW;
  const coolMs = excess <= 0 ? 0 : Math.min(LAST_COOL_MS, FIRST_COOL_MS * 2 ** Math.min(excess - 1, 10));
  const isLast = tries > REPEATS;
  return {
    status: isLast ? 'failed' : 'pending',
    dueMs: isLast ? undefined : nowMs + PAUSE_MS,
    failuresInRow: failures,
    coolUntilMs: coolMs === 0 ? 0 : nowMs + coolMs,
  };
}

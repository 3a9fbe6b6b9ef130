import type { Delivery } from '@sandlot/team-events';

/** Repeats after the first attempt, and the pause before each, as E2B has them. */
const REPEATS = 3;
const PAUSE_MS = 10_000;
/** A receiver that fails for longer than the four attempts of a delivery take is down. */
const DOWN_AFTER_MS = 45_000;
const LONGEST_COOL_MS = 300_000;

export interface Tried {
  readonly isSuccess: boolean;
  /** Attempts of this delivery, this one included. */
  readonly tries: number;
  /** When the first attempt failed since the last one of the webhook that succeeded; undefined: none has. */
  readonly failingSinceMs: number | undefined;
  readonly nowMs: number;
}

export interface Next {
  readonly status: Delivery['status'];
  /** When the delivery is tried again; undefined: it has ended. */
  readonly dueMs: number | undefined;
  /** As in {@link Tried}, with this attempt. */
  readonly failingSinceMs: number | undefined;
  /** Until then the webhook gets nothing; 0: it need not cool down. */
  readonly coolUntilMs: number;
}

/**
 * What follows from an attempt. A receiver that is down is asked less and less often, so that it keeps no place from others. The time
 * for which it fails decides, not the number of failures: many events at once would make that grow within one outage of a second.
 */
export function decideNext({ isSuccess, tries, failingSinceMs, nowMs }: Tried): Next {
  if (isSuccess) return { status: 'succeeded', dueMs: undefined, failingSinceMs: undefined, coolUntilMs: 0 };
  const sinceMs = failingSinceMs ?? nowMs;
  const failingMs = nowMs - sinceMs;
  const coolMs = failingMs < DOWN_AFTER_MS ? 0 : Math.min(LONGEST_COOL_MS, Math.round(failingMs / 2));
  const isLast = tries > REPEATS;
  return {
    status: isLast ? 'failed' : 'pending',
    dueMs: isLast ? undefined : nowMs + PAUSE_MS,
    failingSinceMs: sinceMs,
    coolUntilMs: coolMs === 0 ? 0 : nowMs + coolMs,
  };
}

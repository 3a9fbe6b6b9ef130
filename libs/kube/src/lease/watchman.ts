import type { Clock } from '@sandlot/std';

/** Time between two checks. */
const ASK_MS = 250;

/** Consecutive answers required: a holder with a short connection loss is not gone. */
const CERTAIN_AFTER = 3;

export interface WatchmanOptions {
  readonly clock: Clock;
  /** The last known holder; undefined when there is none or it is unknown. */
  readonly holder: () => string | undefined;
  /** Whether the holder of that name is certainly gone. Must not throw. */
  readonly isGone: (holder: string) => Promise<boolean>;
}

/**
 * Checks whether the holder of a lease still lives, until it is gone or the signal aborts. Detects a dead process within
 * a second, while its lease lasts for fifteen. After a false alarm the holder loses the lease at its next renewal.
 */
export async function watchOver(options: WatchmanOptions, signal: AbortSignal): Promise<string | undefined> {
  const { clock, holder, isGone } = options;
  let missed = { holder: '', times: 0 };
  while (!signal.aborted) {
    const name = holder();
    if (name === undefined || !(await isGone(name))) missed = { holder: '', times: 0 };
    else missed = { holder: name, times: missed.holder === name ? missed.times + 1 : 1 };
    if (missed.times >= CERTAIN_AFTER) return missed.holder;
    await clock.sleep(ASK_MS, signal);
  }
  return undefined;
}

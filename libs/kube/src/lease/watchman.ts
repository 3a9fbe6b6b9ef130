import type { Clock } from '@sandlot/std';

/** Between two questions. */
const ASK_MS = 250;

/** So many answers in a row are believed: a holder whose connection blinks is not gone. */
const CERTAIN_AFTER = 3;

export interface WatchmanOptions {
  readonly clock: Clock;
  /** Who holds the lease, as far as is known; undefined: nobody, or nobody knows. */
  readonly holder: () => string | undefined;
  /** Whether the holder of that name is certainly gone. Must not throw. */
  readonly isGone: (holder: string) => Promise<boolean>;
}

/**
 * Asks after the holder of a lease until it is gone or the signal aborts. A process that dies is missed within a second,
 * where its lease would stand for fifteen. Should the watchman err, the holder finds its lease taken at its next renewal.
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

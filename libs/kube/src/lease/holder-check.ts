import type { Clock } from '@sandlot/std';

/** Time between two checks. */
const CHECK_EVERY_MS = 250;

/** Number of consecutive positive checks required, so that a short connection loss does not count. */
const REQUIRED_CHECKS = 3;

export interface HolderCheckOptions {
  readonly clock: Clock;
  /** The last known holder; undefined when there is none or it is unknown. */
  readonly holder: () => string | undefined;
  /** Whether the holder of that name is certainly gone. Must not throw. */
  readonly isGone: (holder: string) => Promise<boolean>;
}

/**
 * Checks a few times per second whether the holder of a lease is gone. Returns its identity, or undefined when the signal
 * aborts. It detects a dead process within a second, whereas the lease expires after 15 s. After a false alarm, the
 * holder loses the lease at its next renewal.
 */
export async function waitUntilHolderGone(
  options: HolderCheckOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { clock, holder, isGone } = options;
  let missed = { holder: '', times: 0 };
  while (!signal.aborted) {
    const name = holder();
    if (name === undefined || !(await isGone(name))) missed = { holder: '', times: 0 };
    else missed = { holder: name, times: missed.holder === name ? missed.times + 1 : 1 };
    if (missed.times >= REQUIRED_CHECKS) return missed.holder;
    await clock.sleep(CHECK_EVERY_MS, signal);
  }
  return undefined;
}

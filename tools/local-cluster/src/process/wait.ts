import { setTimeout as delay } from 'node:timers/promises';
import { LocalClusterError } from '../errors.ts';

/** What to wait for, and how long. */
export interface WaitOptions {
  /** Completes the sentence "timed out waiting for …". */
  what: string;
  timeoutMs: number;
  everyMs?: number | undefined;
}

/** Polls until `check` returns something other than undefined or false. Throws LocalClusterError TIMEOUT. */
export async function waitFor<T>(check: () => Promise<T | undefined | false>, options: WaitOptions): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) {
      throw new LocalClusterError(
        'TIMEOUT',
        `timed out after ${options.timeoutMs / 1000} s waiting for ${options.what}`,
      );
    }
    await delay(options.everyMs ?? 50);
  }
}

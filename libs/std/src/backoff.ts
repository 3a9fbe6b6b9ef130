import type { Random } from './random.ts';

export interface BackoffOptions {
  /** 0 for the first retry. */
  readonly attempt: number;
  readonly baseMs: number;
  readonly maxMs: number;
  /** Share of the delay that is random, 0 to 1; default 0.5. */
  readonly jitter?: number | undefined;
  readonly random: Random;
}

/** Delay before retry number `attempt`: doubles from `baseMs`, never above `maxMs`, with jitter taken off the top. */
export function computeBackoffMs({ attempt, baseMs, maxMs, jitter = 0.5, random }: BackoffOptions): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
  return full * (1 - jitter * random());
}

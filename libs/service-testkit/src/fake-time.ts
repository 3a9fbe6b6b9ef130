import { systemClock } from '@sandlot/std';
import type { FakeClock } from '@sandlot/std/testing';

const PATIENCE_MS = 45_000;
const STEP_MS = 10;

/** Small enough that no request exceeds its deadline on a busy machine. */
const LARGEST_STEP_MS = 100;

async function step(clock: FakeClock, ms = STEP_MS): Promise<void> {
  await clock.advance(ms);
  await systemClock.sleep(1);
}

/** Advances the clock until the work ends. */
export async function elapseUntil(clock: FakeClock, work: Promise<void>): Promise<void> {
  const ended = work.then(() => true);
  while (!(await Promise.race([ended, step(clock).then(() => false)]))) continue;
}

/**
 * Repeats `check` until it does not throw, and advances the fake clock in growing steps in between. After 45 seconds of
 * real time, throws the last error of `check`.
 */
export async function eventually<T>(clock: FakeClock, check: () => T): Promise<T> {
  const deadlineMs = systemClock.monotonic() + PATIENCE_MS;
  for (let round = 0; ; round += 1) {
    try {
      return check();
    } catch (error) {
      if (systemClock.monotonic() > deadlineMs) throw error;
    }
    await step(clock, Math.min(STEP_MS + round, LARGEST_STEP_MS));
  }
}

/** Advances the fake clock by `ms` in small steps, with real time in between for requests and answers. */
export async function elapse(clock: FakeClock, ms: number): Promise<void> {
  const stepMs = Math.min(Math.max(STEP_MS, ms / 100), LARGEST_STEP_MS);
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) await step(clock, stepMs);
}

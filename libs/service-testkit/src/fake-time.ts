import { systemClock } from '@sandlot/std';
import type { FakeClock } from '@sandlot/std/testing';

const PATIENCE_MS = 10_000;
const STEP_MS = 10;

/** Small enough that no request outlives its deadline while the machine is busy. */
const LARGEST_STEP_MS = 100;

async function step(clock: FakeClock, ms = STEP_MS): Promise<void> {
  await clock.advance(ms);
  await systemClock.sleep(1);
}

/** Lets time pass until the work ends. */
export async function elapseUntil(clock: FakeClock, work: Promise<void>): Promise<void> {
  const ended = work.then(() => true);
  while (!(await Promise.race([ended, step(clock).then(() => false)]))) continue;
}

/**
 * Lets real time and the fake clock pass, the latter faster and faster, until `check` throws no more; after ten seconds
 * its last error counts.
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

/** Lets the fake clock move by `ms` in small steps, with time in between for requests and answers. */
export async function elapse(clock: FakeClock, ms: number): Promise<void> {
  const stepMs = Math.min(Math.max(STEP_MS, ms / 100), LARGEST_STEP_MS);
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) await step(clock, stepMs);
}

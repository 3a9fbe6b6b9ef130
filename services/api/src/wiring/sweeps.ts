import type { Clock, Logger, Random } from '@sandlot/std';

/** Work that brings things back to what they should be, whoever does it and however often. */
export interface Sweep {
  readonly name: string;
  readonly everyMs: number;
  run(): Promise<void>;
}

export interface SweepDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Replicas that start together come apart. */
const SPREAD = 0.2;

/** Runs each at once and then again and again, until the signal aborts. One that fails is tried again at its next time. */
export async function runSweeps(deps: SweepDeps, sweeps: readonly Sweep[]): Promise<void> {
  await Promise.all(sweeps.map((sweep) => repeat(deps, sweep)));
}

async function repeat({ clock, random, log, signal }: SweepDeps, sweep: Sweep): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    try {
      await sweep.run();
    } catch (err) {
      if (!isOver()) log.warn({ err, sweep: sweep.name }, 'a sweep failed; it is repeated at its next time');
    }
    const spread = 1 + SPREAD * (2 * random() - 1);
    await clock.sleep(sweep.everyMs * spread, signal);
  }
}

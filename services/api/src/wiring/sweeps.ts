import type { Clock, Logger, Random } from '@sandlot/std';

/** Repeated repair work. Any replica may run it, at any time and any number of times. */
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

/** Part of the interval by which runs vary, so that replicas that start together do not stay together. */
const JITTER = 0.2;

/** Runs each sweep at once and then at its interval, until the signal aborts. A failed sweep is retried at its next time. */
export async function runSweeps(deps: SweepDeps, sweeps: readonly Sweep[]): Promise<void> {
  await Promise.all(sweeps.map((sweep) => repeat(deps, sweep)));
}

async function repeat({ clock, random, log, signal }: SweepDeps, sweep: Sweep): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    try {
      await sweep.run();
    } catch (err) {
      if (!isOver()) log.warn({ err, sweep: sweep.name }, 'a sweep failed; it runs again at its next time');
    }
    const factor = 1 + JITTER * (2 * random() - 1);
    await clock.sleep(sweep.everyMs * factor, signal);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

/** A load that goes on until it is stopped. */
export interface Running {
  /** Begins nothing more, and resolves when what it began has ended. */
  stop(): Promise<void>;
}

/** Begins a round, waits until it has ended, pauses, and so on. A round must not reject. */
export function repeat(pauseMs: number, round: () => Promise<unknown>): Running {
  const ending = new AbortController();
  const running = (async () => {
    while (!ending.signal.aborted) {
      await round();
      await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}

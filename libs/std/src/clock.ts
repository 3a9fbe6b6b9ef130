/** A pending call of {@link Clock.setTimeout}. */
export interface Timer {
  cancel(): void;
}

/**
 * Time as a dependency. `now` is wall time for deadlines that must survive a restart; `monotonic` is for latencies and
 * leases, which a stepped wall clock must not move. Both in milliseconds.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Calls `fn` once after `delayMs`. Delays beyond the platform's 2^31-1 ms are honoured exactly. */
  setTimeout(fn: () => void, delayMs: number): Timer;
  /** Resolves after `delayMs`, or at once when `signal` aborts. Never rejects: callers look at the signal. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Longest delay a platform timer takes; more overflows to "now". */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** One platform timer after another until the whole delay has passed. */
function startTimer(fn: () => void, delayMs: number): Timer {
  let handle: NodeJS.Timeout;
  const arm = (remainingMs: number): void => {
    const stepMs = Math.min(Math.max(remainingMs, 0), MAX_TIMER_MS);
    handle = setTimeout(() => {
      if (remainingMs > stepMs) arm(remainingMs - stepMs);
      else fn();
    }, stepMs);
  };
  arm(delayMs);
  return { cancel: () => clearTimeout(handle) };
}

/** Builds {@link Clock.sleep} from a timer function, for real and fake clocks alike. */
export function sleepWith(clock: Pick<Clock, 'setTimeout'>, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = clock.setTimeout(() => {
    signal?.removeEventListener('abort', onAbort);
    resolve(undefined);
  }, delayMs);
  const onAbort = (): void => {
    timer.cancel();
    resolve(undefined);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return promise;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: startTimer,
  sleep: (delayMs, signal) => sleepWith({ setTimeout: startTimer }, delayMs, signal),
};

import { setTimeout as sleep } from 'node:timers/promises';

/** What one kind of load did. Times are in milliseconds, failures are texts. */
export interface Count {
  readonly started: number;
  readonly succeeded: number;
  readonly failures: readonly string[];
  /** Attempts that met a closed door, after which a client tries again. */
  readonly retried: number;
  /** By reason. */
  readonly retries: Readonly<Record<string, number>>;
  readonly longestMs: number;
}

/** Waits between attempts of a client, in milliseconds: about ten seconds in all, as clients with a back-off do. */
const PAUSES_MS = [100, 200, 400, 800, 1_600, 3_200, 3_200];

/**
 * Errors by which a client knows that its request reached no process that would act on it, or that asks it to come again. The E2B
 * client hides 502, 503 and 504 at the start of a command behind "probably not running", and its users do not try again: a failure.
 */
const CLOSED_DOOR =
  /ECONNREFUSED|ECONNRESET|EPIPE|EHOSTUNREACH|UND_ERR_SOCKET|other side closed|socket hang up|fetch failed|\b50[234]\b|unavailable/i;

/** Counts the calls of one kind. */
export class Tally {
  readonly #beginMs = performance.now();
  #started = 0;
  #succeeded = 0;
  #longestMs = 0;
  readonly #failures: string[] = [];
  readonly #retries = new Map<string, number>();

  /** Makes a call, again when it met a closed door, and never rejects. */
  async run(call: () => Promise<unknown>): Promise<void> {
    this.#started += 1;
    const startedMs = performance.now();
    try {
      await this.#attempt(call);
      this.#succeeded += 1;
    } catch (error) {
      const seconds = ((performance.now() - this.#beginMs) / 1_000).toFixed(1);
      this.#failures.push(`after ${seconds} s of load: ${describe(error)}`);
    }
    this.#longestMs = Math.max(this.#longestMs, performance.now() - startedMs);
  }

  async #attempt(call: () => Promise<unknown>): Promise<void> {
    for (const pauseMs of PAUSES_MS) {
      try {
        await call();
        return;
      } catch (error) {
        const [reason] = CLOSED_DOOR.exec(describe(error)) ?? [];
        if (reason === undefined) throw error;
        this.#retries.set(reason, (this.#retries.get(reason) ?? 0) + 1);
        await sleep(pauseMs);
      }
    }
    await call();
  }

  read(): Count {
    return {
      started: this.#started,
      succeeded: this.#succeeded,
      failures: [...this.#failures],
      retried: [...this.#retries.values()].reduce((sum, each) => sum + each, 0),
      retries: Object.fromEntries(this.#retries),
      longestMs: Math.round(this.#longestMs),
    };
  }
}

/** The messages and codes of an error and of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? ` (${String(error.code)})` : '';
  const cause = error.cause === undefined ? '' : `: ${describe(error.cause)}`;
  return `${error.name}: ${error.message}${code}${cause}`;
}

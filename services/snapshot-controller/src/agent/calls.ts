import type { Clock, Logger } from '@sandlot/std';
import { AgentRefusal } from './agent-error.ts';

/** A call to an agent as far as it has come. Times are epoch milliseconds. */
export type Call<T> =
  | { readonly state: 'running' }
  | { readonly state: 'answered'; readonly value: T; readonly endedMs: number }
  | { readonly state: 'refused'; readonly code: string; readonly message: string; readonly endedMs: number }
  /** `sinceMs`: when the first of these failures in a row began. */
  | { readonly state: 'away'; readonly message: string; readonly endedMs: number; readonly sinceMs: number };

/** One call of an object: a kind of call, and whom it is about. */
export interface CallId<T> {
  /** Key of the SandboxSnapshot, which is reconciled when the call ends. */
  readonly key: string;
  readonly id: string;
  /** Never present at run time; carries `T`. */
  readonly __result?: T;
}

interface Entry {
  readonly key: string;
  readonly call: Call<unknown>;
  readonly abort: AbortController;
  readonly startedMs: number;
}

/** A call that lasted this long before it failed had reached the agent, so a row of failures begins anew. */
const REACHED_MS = 30_000;

export interface AgentCallsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the key when a call ends. */
  readonly onEnd: (key: string) => void;
}

/**
 * Calls that outlive a pass: a save lasts minutes, and meanwhile the object may be deleted. All requests to agents are
 * idempotent, so a process that lost this memory asks again.
 */
export class AgentCalls {
  readonly #o: AgentCallsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: AgentCallsOptions) {
    this.#o = options;
  }

  find<T>({ id }: CallId<T>): Call<T> | undefined {
    return this.#entries.get(id)?.call as Call<T> | undefined;
  }

  /** Runs `work` unless the call is running. The signal aborts when the call is forgotten. */
  start<T>({ id, key }: CallId<T>, work: (signal: AbortSignal) => Promise<T>): void {
    const before = this.#entries.get(id);
    if (before?.call.state === 'running') return;
    const abort = new AbortController();
    const entry: Entry = { key, call: { state: 'running' }, abort, startedMs: this.#o.clock.now() };
    this.#entries.set(id, entry);
    void work(abort.signal)
      .then((value): Call<unknown> => ({ state: 'answered', value, endedMs: this.#o.clock.now() }))
      .catch((error: unknown) => this.#describeFailure(error, entry, before?.call))
      .then((call) => {
        if (this.#entries.get(id) !== entry) return;
        this.#entries.set(id, { ...entry, call });
        this.#o.onEnd(key);
      });
  }

  /** Ends and forgets one call. The agent may do what was asked all the same. */
  drop<T>({ id }: CallId<T>): void {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    entry?.abort.abort();
  }

  /** Ends and forgets the calls of an object. */
  forget(key: string): void {
    for (const [id, entry] of this.#entries) {
      if (entry.key !== key) continue;
      this.#entries.delete(id);
      entry.abort.abort();
    }
  }

  /** How many calls run. */
  countRunning(prefix: string): number {
    const running = [...this.#entries].filter(([id, { call }]) => id.startsWith(prefix) && call.state === 'running');
    return running.length;
  }

  close(): void {
    for (const { abort } of this.#entries.values()) abort.abort();
    this.#entries.clear();
  }

  #describeFailure(error: unknown, { key, startedMs }: Entry, before: Call<unknown> | undefined): Call<unknown> {
    const endedMs = this.#o.clock.now();
    const message = error instanceof Error ? error.message : String(error);
    this.#o.log.debug({ err: error, key }, 'a call to the agent of a node failed');
    if (error instanceof AgentRefusal) return { state: 'refused', code: error.code, message, endedMs };
    const isFirst = before?.state !== 'away' || endedMs - startedMs >= REACHED_MS;
    return { state: 'away', message, endedMs, sinceMs: isFirst ? startedMs : before.sinceMs };
  }
}

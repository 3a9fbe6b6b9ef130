import { pacing } from '@sandlot/pacing';
import { computeBackoffMs, systemClock, systemRandom, TokenBucket } from '@sandlot/std';
import type { Clock, Random, TokenRate } from '@sandlot/std';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics, QueueSample } from '../metrics.ts';
import { Delays } from './delays.ts';
import { PriorityOrder } from './order.ts';
import type { QueueOrder } from './order.ts';

export interface AddOptions {
  /** Higher first. Default: the priority of the current run if the key is in progress, else 0. */
  priority?: number | undefined;
}

export interface QueueStats {
  /** Keys waiting to be taken. Delayed keys do not count. */
  readonly depth: number;
  readonly running: number;
  /** Age of the oldest run in progress. */
  readonly longestRunningMs: number;
}

/**
 * A queue of keys. A key is in progress at most once at a time. A key that is added several times before a worker takes
 * it is taken once. A key that is added while in progress is taken once more afterwards.
 */
export interface WorkQueue {
  /** A key that is already waiting keeps its place and gets the higher of both priorities. */
  add(key: string, options?: AddOptions): void;
  /** Adds the key after a delay. Of several delays, the earliest counts. An `add` in between does not cancel it. */
  addAfter(key: string, delayMs: number, options?: AddOptions): void;
  /** Adds the key after a delay that doubles with each call since `forget`, and limits the retry rate of all keys. */
  addRateLimited(key: string, options?: AddOptions): void;
  /** Resets the backoff of the key. */
  forget(key: string): void;
  /** The number of `addRateLimited` calls for the key since `forget`. */
  countRetries(key: string): number;
  /** Waits for the next key and takes it. Undefined when the signal aborts, or after `shutdown` when no key is left. */
  get(signal: AbortSignal): Promise<string | undefined>;
  /** Call it after the work on every key from `get`. */
  done(key: string): void;
  readonly depth: number;
  getStats(): QueueStats;
  /** Drops all queued and delayed keys and all retry counts; returns those keys. Runs in progress continue. */
  clear(): readonly string[];
  /** Drops the queued and delayed keys that match, and their retry counts; returns those keys. Runs in progress continue. */
  remove(matches: (key: string) => boolean): readonly string[];
  /** Ignores adds from now on and drops delayed keys. Resolves when no key is waiting or in progress. */
  shutDown(): Promise<void>;
}

export interface WorkQueueOptions {
  /** Label in metrics. */
  readonly name: string;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  /** Default: by priority, then by arrival. */
  readonly order?: QueueOrder | undefined;
  /** Backoff of one key. Default 5 ms to 60 s. */
  readonly backoff?: { readonly baseMs: number; readonly maxMs: number } | undefined;
  /** Rate limit for the retries of all keys. Default 100 per second in bursts of 500. */
  readonly retryRate?: TokenRate | undefined;
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new PriorityWorkQueue(options);
}

/** A key that needs a run. */
interface Wanted {
  readonly priority: number;
  readonly sinceMs: number;
}

interface Run {
  readonly priority: number;
  readonly startedMs: number;
}

class PriorityWorkQueue implements WorkQueue {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: KubeMetrics;
  readonly #backoff: { readonly baseMs: number; readonly maxMs: number };
  readonly #bucket: TokenBucket;
  /** The wanted keys that are not in progress. */
  readonly #order: QueueOrder;
  readonly #wanted = new Map<string, Wanted>();
  readonly #runs = new Map<string, Run>();
  readonly #retries = new Map<string, number>();
  readonly #delays: Delays;
  readonly #takers = new Set<() => void>();
  #drained: PromiseWithResolvers<undefined> | undefined;

  constructor(options: WorkQueueOptions) {
    const { name, clock = systemClock, random = systemRandom, metrics = noMetrics } = options;
    this.#name = name;
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
    this.#backoff = options.backoff ?? { baseMs: 5, maxMs: 60_000 };
    this.#bucket = new TokenBucket(options.retryRate ?? pacing.requeues);
    this.#order = options.order ?? new PriorityOrder();
    this.#delays = new Delays(clock, (key, priority) => this.add(key, { priority }));
    metrics.watchQueue(name, () => this.#sample());
  }

  get depth(): number {
    return this.#order.size;
  }

  add(key: string, options?: AddOptions): void {
    if (this.#drained !== undefined) return;
    const priority = this.#priority(key, options);
    const wanted = this.#wanted.get(key);
    if (wanted === undefined) {
      this.#wanted.set(key, { priority, sinceMs: this.#clock.monotonic() });
      if (!this.#runs.has(key)) this.#offer(key, priority);
    } else if (priority > wanted.priority) {
      this.#wanted.set(key, { ...wanted, priority });
      if (!this.#runs.has(key)) this.#order.raise(key, priority);
    }
  }

  addAfter(key: string, delayMs: number, options?: AddOptions): void {
    if (this.#drained !== undefined) return;
    if (delayMs <= 0) this.add(key, options);
    else this.#delays.add(key, delayMs, this.#priority(key, options));
  }

  addRateLimited(key: string, options?: AddOptions): void {
    if (this.#drained !== undefined) return;
    const attempt = this.countRetries(key);
    this.#retries.set(key, attempt + 1);
    this.#metrics.countQueueRetry(this.#name);
    const ownMs = computeBackoffMs({ attempt, ...this.#backoff, random: this.#random });
    this.addAfter(key, Math.max(ownMs, this.#bucket.take(this.#clock.monotonic())), options);
  }

  forget(key: string): void {
    this.#retries.delete(key);
  }

  countRetries(key: string): number {
    return this.#retries.get(key) ?? 0;
  }

  async get(signal: AbortSignal): Promise<string | undefined> {
    for (;;) {
      if (signal.aborted) {
        // Another taker may have taken the key that this one was resumed for.
        if (this.depth > 0) this.#notifyTaker();
        return undefined;
      }
      const key = this.#take();
      if (key !== undefined || this.#drained !== undefined) return key;
      await this.#waitForOffer(signal);
    }
  }

  done(key: string): void {
    const run = this.#runs.get(key);
    if (run === undefined) return;
    this.#runs.delete(key);
    this.#metrics.observeQueueWork(this.#name, (this.#clock.monotonic() - run.startedMs) / 1_000);
    const again = this.#wanted.get(key);
    if (again !== undefined) this.#offer(key, again.priority);
    this.#resolveIfDrained();
  }

  getStats(): QueueStats {
    const nowMs = this.#clock.monotonic();
    let oldestMs = nowMs;
    for (const { startedMs } of this.#runs.values()) oldestMs = Math.min(oldestMs, startedMs);
    return {
      depth: this.depth,
      running: this.#runs.size,
      longestRunningMs: nowMs - oldestMs,
    };
  }

  clear(): readonly string[] {
    const forgotten = [...this.#wanted.keys(), ...this.#delays.clear()];
    while (this.#order.pop() !== undefined);
    this.#wanted.clear();
    this.#retries.clear();
    this.#resolveIfDrained();
    return forgotten;
  }

  remove(matches: (key: string) => boolean): readonly string[] {
    const removed = [...[...this.#wanted.keys()].filter(matches), ...this.#delays.remove(matches)];
    const kept: string[] = [];
    for (let key = this.#order.pop(); key !== undefined; key = this.#order.pop()) if (!matches(key)) kept.push(key);
    for (const key of removed) {
      this.#wanted.delete(key);
      this.#retries.delete(key);
    }
    for (const key of kept) this.#order.push(key, this.#wanted.get(key)?.priority ?? 0);
    this.#resolveIfDrained();
    return removed;
  }

  shutDown(): Promise<void> {
    if (this.#drained === undefined) {
      this.#drained = Promise.withResolvers();
      this.#delays.clear();
      for (const notify of this.#takers) notify();
      this.#resolveIfDrained();
    }
    return this.#drained.promise;
  }

  #priority(key: string, options: AddOptions | undefined): number {
    return options?.priority ?? this.#runs.get(key)?.priority ?? 0;
  }

  #offer(key: string, priority: number): void {
    this.#order.push(key, priority);
    this.#notifyTaker();
  }

  #notifyTaker(): void {
    const [notify] = this.#takers;
    notify?.();
  }

  #take(): string | undefined {
    const key = this.#order.pop();
    if (key === undefined) return undefined;
    const startedMs = this.#clock.monotonic();
    const { priority, sinceMs } = this.#wanted.get(key) ?? { priority: 0, sinceMs: startedMs };
    this.#wanted.delete(key);
    this.#runs.set(key, { priority, startedMs });
    this.#metrics.observeQueueWait(this.#name, (startedMs - sinceMs) / 1_000);
    return key;
  }

  /** Resolves when a key is available (another taker may still take it first), on shutdown, or when the signal aborts. */
  #waitForOffer(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const notify = (): void => {
        this.#takers.delete(notify);
        signal.removeEventListener('abort', notify);
        resolve();
      };
      this.#takers.add(notify);
      signal.addEventListener('abort', notify, { once: true });
    });
  }

  #resolveIfDrained(): void {
    if (this.#runs.size === 0 && this.#order.size === 0) this.#drained?.resolve(undefined);
  }

  #sample(): QueueSample {
    const nowMs = this.#clock.monotonic();
    let unfinishedMs = 0;
    for (const { startedMs } of this.#runs.values()) unfinishedMs += nowMs - startedMs;
    const { depth, running, longestRunningMs } = this.getStats();
    return {
      depth,
      running,
      unfinishedSeconds: unfinishedMs / 1_000,
      longestRunningSeconds: longestRunningMs / 1_000,
    };
  }
}

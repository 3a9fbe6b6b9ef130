import type { Clock, Logger, Random } from '@sandlot/std';
import { isConflict, KubeError } from '../errors.ts';
import type { KubeMetrics } from '../metrics.ts';
import type { WorkQueue } from '../queue/workqueue.ts';
import { parseKey } from '../objects/object.ts';
import { requeueAfter, RetryableError, TerminalError } from './result.ts';
import type { ReconcileResult } from './result.ts';
import type { KeySink, Source } from './source.ts';

export interface ReconcileContext {
  /**
   * Aborts when this run has exceeded its deadline, when the lease is lost, or when a shutdown cannot wait any longer.
   * Pass it to every call: after the abort, the run must not write anything.
   */
  readonly signal: AbortSignal;
  /** Carries controller, key and reconcileId. */
  readonly log: Logger;
  /** 0 for the first attempt. Grows with every retry after a backoff, until a run succeeds. */
  readonly attempt: number;
  readonly reconcileId: string;
}

export interface ControllerOptions {
  /** Label in logs and metrics. */
  readonly name: string;
  /** The number of keys in progress at the same time. */
  readonly concurrency: number;
  readonly sources: readonly Source[];
  /**
   * Brings the cluster in line with the object of this key. May be called at any time, but never twice at once for the
   * same key. To fail, throw `RetryableError`, `TerminalError`, or any other error, which is retried with backoff.
   */
  reconcile(key: string, context: ReconcileContext): Promise<ReconcileResult>;
  /**
   * Wraps a run and the logging of its outcome in a context such as a trace. Must call `run` once and await it. Must not
   * throw.
   */
  readonly within?: ((key: string, run: () => Promise<void>) => Promise<void>) | undefined;
  /** Default: a queue by priority, named like the controller. */
  readonly queue?: WorkQueue | undefined;
  /** Limit for one run, after which its signal aborts. Default 60,000 ms. */
  readonly deadlineMs?: number | undefined;
}

export interface ControllerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: KubeMetrics;
  readonly log: Logger;
  readonly queue: WorkQueue;
  /** Whether the caches lack objects of this namespace, because the API server forbids to list them. */
  isForbidden(namespace: string): boolean;
}

/** How long a key waits whose namespace the caches do not show. */
const FORBIDDEN_MS = 5_000;

const DEADLINE_MS = 60_000;

/** The lowest priority, because keys left over from an earlier term are not urgent. */
const LEFTOVER_PRIORITY = -200;

/** A run that ignores its signal counts as stuck this long after its deadline. */
const STUCK_MS = 60_000;

/** Reason of a reconcile that was aborted because of its deadline. */
class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** How a reconcile ended. */
type Outcome = 'done' | 'requeue' | 'retry' | 'conflict' | 'terminal' | 'aborted' | 'error';

/**
 * Takes keys from a queue, reconciles a few of them at a time, and acts on each result. It queues keys only while it
 * runs: a new leader gets all keys from the caches.
 */
export class Controller {
  readonly queue: WorkQueue;
  readonly #options: ControllerOptions;
  readonly #deps: ControllerDeps;
  readonly #deadlineMs: number;
  readonly #runs = new Set<AbortController>();
  /** Keys of the previous term. This process may still have state about them after their objects were deleted. */
  #leftoverKeys: Iterable<string> = [];

  constructor(options: ControllerOptions, deps: ControllerDeps) {
    this.queue = deps.queue;
    this.#options = options;
    this.#deps = deps;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    deps.metrics.setWorkers(options.name, 0);
  }

  /**
   * Runs one term: enqueues all existing keys, then those of changes, and works until the queue is shut down and drained
   * or the signal aborts. The abort also aborts every run in progress. Resolves when the last run has ended. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { name, concurrency } = this.#options;
    const connections = this.#connect(this.queue);
    for (const key of this.#leftoverKeys) this.queue.add(key, { priority: LEFTOVER_PRIORITY });
    this.#leftoverKeys = [];
    const onAbort = (): void => {
      disconnect(connections);
      for (const run of this.#runs) run.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    this.#deps.metrics.setWorkers(name, concurrency);
    await Promise.all(Array.from({ length: concurrency }, () => this.#work(signal)));
    this.#deps.metrics.setWorkers(name, 0);
    signal.removeEventListener('abort', onAbort);
    disconnect(connections);
    if (signal.aborted) this.#leftoverKeys = this.#drainQueue();
  }

  /** False when a run has ignored its aborted signal for a long time: its worker and its key are stuck. */
  isMoving(): boolean {
    return this.queue.getStats().longestRunningMs <= this.#deadlineMs + STUCK_MS;
  }

  #connect(sink: KeySink): readonly Disposable[] {
    return this.#options.sources.map((source) => source.connect(sink));
  }

  /** Empties the queue and returns its keys together with the keys of all existing objects. */
  #drainQueue(): Iterable<string> {
    const keys = new Set(this.queue.clear());
    const add = (key: string): void => void keys.add(key);
    disconnect(this.#connect({ add, addAfter: add }));
    return keys;
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let key = await this.queue.get(signal); key !== undefined; key = await this.queue.get(signal)) {
      await this.#reconcile(key);
    }
  }

  async #reconcile(key: string): Promise<void> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    const run = new AbortController();
    this.#runs.add(run);
    const watchdog = clock.setTimeout(() => {
      run.abort(new DeadlineExceeded(`reconcile took more than ${this.#deadlineMs} ms`));
    }, this.#deadlineMs);
    const context = new RunContext(this.#options.name, {
      key,
      signal: run.signal,
      attempt: this.queue.countRetries(key),
      ...this.#deps,
    });
    let outcome: Outcome = 'error';
    const once = async (): Promise<void> => {
      outcome = await this.#runOnce(key, context);
    };
    await (this.#options.within === undefined ? once() : this.#options.within(key, once));
    watchdog.cancel();
    this.#runs.delete(run);
    this.queue.done(key);
    const { name: controller } = this.#options;
    metrics.observeReconcile({ controller, result: outcome }, (clock.monotonic() - startedMs) / 1_000);
  }

  async #runOnce(key: string, context: ReconcileContext): Promise<Outcome> {
    // The rights to the kinds of a namespace come one after the other: a pass must not take the kinds that are still missing
    // for objects that do not exist (ADR 28).
    const { namespace } = parseKey(key);
    if (namespace !== undefined && this.#deps.isForbidden(namespace)) {
      return this.#succeed(key, requeueAfter(FORBIDDEN_MS, 'the API server forbids to list the namespace'));
    }
    try {
      return this.#succeed(key, await this.#options.reconcile(key, context));
    } catch (error) {
      return this.#fail(key, error, context);
    }
  }

  #succeed(key: string, result: ReconcileResult): Outcome {
    this.queue.forget(key);
    if (result.kind === 'done') return 'done';
    this.queue.addAfter(key, result.ms);
    return 'requeue';
  }

  #fail(key: string, error: unknown, { signal, log }: ReconcileContext): Outcome {
    if (error instanceof TerminalError) {
      this.queue.forget(key);
      log.warn({ err: error }, 'reconcile failed and will not be retried until the object changes');
      return 'terminal';
    }
    if (signal.aborted && !(signal.reason instanceof DeadlineExceeded)) {
      // The next leader finds the object in its store. The key stays queued for a later term of this process, in case
      // the object is deleted in between.
      this.queue.add(key);
      return 'aborted';
    }
    this.#retry(key, readRetryAfter(error));
    if (signal.aborted) log.error({ err: error, cause: signal.reason as unknown }, 'reconcile exceeded its deadline');
    else if (isConflict(error)) log.debug({ err: error }, 'reconcile failed with a conflict');
    else if (error instanceof RetryableError) log.info({ err: error }, 'reconcile will be retried');
    else log.warn({ err: error }, 'reconcile failed');
    if (error instanceof RetryableError) return 'retry';
    return isConflict(error) ? 'conflict' : 'error';
  }

  #retry(key: string, afterMs: number | undefined): void {
    if (afterMs === undefined) this.queue.addRateLimited(key);
    else this.queue.addAfter(key, afterMs);
  }
}

function disconnect(connections: readonly Disposable[]): void {
  for (const connection of connections) connection[Symbol.dispose]();
}

function readRetryAfter(error: unknown): number | undefined {
  return error instanceof RetryableError || error instanceof KubeError ? error.retryAfterMs : undefined;
}

interface RunOptions {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the logger on first use, because most runs log nothing. */
class RunContext implements ReconcileContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly reconcileId: string;
  readonly #controller: string;
  readonly #key: string;
  readonly #parentLog: Logger;
  #log: Logger | undefined;

  constructor(controller: string, { key, signal, attempt, random, log }: RunOptions) {
    this.signal = signal;
    this.attempt = attempt;
    this.reconcileId = Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0');
    this.#controller = controller;
    this.#key = key;
    this.#parentLog = log;
  }

  get log(): Logger {
    const { reconcileId } = this;
    return (this.#log ??= this.#parentLog.child({ controller: this.#controller, key: this.#key, reconcileId }));
  }
}

import type { Clock, Logger, Random } from '@sandlot/std';
import { isConflict, KubeError } from '../errors.ts';
import type { KubeMetrics } from '../metrics.ts';
import type { WorkQueue } from '../queue/workqueue.ts';
import { RetryableError, TerminalError } from './result.ts';
import type { ReconcileResult } from './result.ts';
import type { KeySink, Source } from './source.ts';

export interface ReconcileContext {
  /**
   * Aborts when this run has exceeded its deadline, when the lease is lost, or when a shutdown cannot wait any longer.
   * Give it to every call: after it, nothing may be written.
   */
  readonly signal: AbortSignal;
  /** Carries controller, key and reconcileId. */
  readonly log: Logger;
  /** 0 on the first try; grows with every retry that the queue's backoff delays, until a run succeeds. */
  readonly attempt: number;
  readonly reconcileId: string;
}

export interface ControllerOptions {
  /** Label in logs and metrics. */
  readonly name: string;
  /** Keys in progress at the same time. */
  readonly concurrency: number;
  readonly sources: readonly Source[];
  /**
   * Brings the cluster in line with the object of this key; may be called at any time. The same key is never reconciled
   * twice at once. To fail, throw: `RetryableError`, `TerminalError`, or anything else, which is retried with backoff.
   */
  reconcile(key: string, context: ReconcileContext): Promise<ReconcileResult>;
  /**
   * Has to call `run`, once, and to await it: a whole run, with what is logged about its outcome. For a context that the
   * run belongs to, such as a trace. Must not throw.
   */
  readonly within?: ((key: string, run: () => Promise<void>) => Promise<void>) | undefined;
  /** Default: a queue by priority, named like the controller. */
  readonly queue?: WorkQueue | undefined;
  /** How long one run may take before its signal aborts. Default 60,000 ms. */
  readonly deadlineMs?: number | undefined;
}

export interface ControllerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: KubeMetrics;
  readonly log: Logger;
  readonly queue: WorkQueue;
}

const DEADLINE_MS = 60_000;

/** The lowest priority: keys left from a term that has ended are not urgent. */
const LEFTOVER_PRIORITY = -200;

/** Beyond its deadline by this much, a run that ignores its signal is stuck for good. */
const STUCK_MS = 60_000;

/** Reason of an aborted reconcile when it is not a shutdown. */
class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** How a reconcile ended. */
type Outcome = 'done' | 'requeue' | 'retry' | 'conflict' | 'terminal' | 'aborted' | 'error';

/**
 * Takes keys from a queue, a few at a time, and acts on the result of each reconcile. It has a queue only while it runs: a
 * new leader gets all keys from the caches.
 */
export class Controller {
  readonly queue: WorkQueue;
  readonly #options: ControllerOptions;
  readonly #deps: ControllerDeps;
  readonly #deadlineMs: number;
  readonly #runs = new Set<AbortController>();
  /** Keys of the previous term: this process may hold state about them although their objects are deleted. */
  #former: Iterable<string> = [];

  constructor(options: ControllerOptions, deps: ControllerDeps) {
    this.queue = deps.queue;
    this.#options = options;
    this.#deps = deps;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    deps.metrics.workersStarted(options.name, 0);
  }

  /**
   * One term: queues what there is, then what changes, and works until the queue is shut down and drained, or until the
   * signal aborts, which aborts every run in progress. Resolves when the last run has ended; never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { name, concurrency } = this.#options;
    const connections = this.#connect(this.queue);
    for (const key of this.#former) this.queue.add(key, { priority: LEFTOVER_PRIORITY });
    this.#former = [];
    const onAbort = (): void => {
      disconnect(connections);
      for (const run of this.#runs) run.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    this.#deps.metrics.workersStarted(name, concurrency);
    await Promise.all(Array.from({ length: concurrency }, () => this.#work(signal)));
    this.#deps.metrics.workersStarted(name, 0);
    signal.removeEventListener('abort', onAbort);
    disconnect(connections);
    if (signal.aborted) this.#former = this.#leave();
  }

  /** False when a run has ignored its aborted signal for long: its worker and its key are stuck. */
  isMoving(): boolean {
    return this.queue.stats().longestRunningMs <= this.#deadlineMs + STUCK_MS;
  }

  #connect(sink: KeySink): readonly Disposable[] {
    return this.#options.sources.map((source) => source.connect(sink));
  }

  /** Empties the queue. Gives its keys and those of all there is: keys are all it remembers. */
  #leave(): Iterable<string> {
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
      attempt: this.queue.retries(key),
      ...this.#deps,
    });
    let outcome: Outcome = 'error';
    const once = async (): Promise<void> => {
      outcome = await this.#outcome(key, context);
    };
    await (this.#options.within === undefined ? once() : this.#options.within(key, once));
    watchdog.cancel();
    this.#runs.delete(run);
    this.queue.done(key);
    const { name: controller } = this.#options;
    metrics.reconciled({ controller, result: outcome }, (clock.monotonic() - startedMs) / 1_000);
  }

  async #outcome(key: string, context: ReconcileContext): Promise<Outcome> {
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
      log.warn({ err: error }, 'reconcile failed for good until the object changes');
      return 'terminal';
    }
    if (signal.aborted && !(signal.reason instanceof DeadlineExceeded)) {
      // The next leader finds the object in its store; if it is deleted, a later term of ours still has the key.
      this.queue.add(key);
      return 'aborted';
    }
    this.#retry(key, retryAfterOf(error));
    if (signal.aborted) log.error({ err: error, cause: signal.reason as unknown }, 'reconcile exceeded its deadline');
    else if (isConflict(error)) log.debug({ err: error }, 'reconcile met a conflict');
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

function retryAfterOf(error: unknown): number | undefined {
  return error instanceof RetryableError || error instanceof KubeError ? error.retryAfterMs : undefined;
}

interface RunOptions {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly random: Random;
  readonly log: Logger;
}

/** Most runs log nothing: their logger is made when it is first asked for. */
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

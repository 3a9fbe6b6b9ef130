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
  /** The text whose shard a key belongs to. Keys whose runs share state must have the same one. Default: the key. */
  readonly shardBy?: ((key: string) => string) | undefined;
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

/** The right to work on some of the keys, for a time. No two tenures of a process own one key at the same time. */
export interface Tenure {
  /** Its abort also aborts every run of these keys. */
  readonly signal: AbortSignal;
  /** Its abort ends the tenure once the runs in progress have ended. */
  readonly givenUp?: AbortSignal | undefined;
  /** Whether the shard of this text belongs to the tenure. */
  owns(text: string): boolean;
}

interface Run {
  readonly key: string;
  readonly abort: AbortController;
  readonly ended: PromiseWithResolvers<undefined>;
}

/** The workers of one time during which the process owns any key. */
interface Crew {
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
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
  readonly #runs = new Set<Run>();
  readonly #tenures = new Set<Tenure>();
  /** Keys of earlier terms. This process may still have state about them after their objects were deleted. */
  readonly #leftoverKeys = new Set<string>();
  #crew: Crew | undefined;

  constructor(options: ControllerOptions, deps: ControllerDeps) {
    this.queue = deps.queue;
    this.#options = options;
    this.#deps = deps;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    deps.metrics.setWorkers(options.name, 0);
  }

  /**
   * Runs one term: enqueues all existing keys of the tenure, then those of changes, and works until the queue is shut down and
   * drained or the tenure ends. Resolves when the last run of its keys has ended. Never rejects.
   */
  async run(tenure: Tenure): Promise<void> {
    const { signal, givenUp = NEVER } = tenure;
    const isOurs = (key: string): boolean => tenure.owns(this.#shardText(key));
    this.#tenures.add(tenure);
    const crew = (this.#crew ??= this.#startCrew());
    const connections = this.#connect(only(isOurs, this.queue));
    this.#takeLeftovers(isOurs);
    const over = Promise.withResolvers<undefined>();
    const end = (): void => {
      if (!this.#tenures.delete(tenure)) return;
      disconnect(connections);
      if (this.#tenures.size === 0) this.#dismiss(crew);
      else this.#setAside(isOurs);
      over.resolve(undefined);
    };
    const onAbort = (): void => {
      end();
      for (const run of this.#runs) if (isOurs(run.key)) run.abort.abort(signal.reason);
    };
    for (const [ended, act] of [
      [signal, onAbort],
      [givenUp, end],
    ] as const) {
      if (ended.aborted) act();
      else ended.addEventListener('abort', act, { once: true });
    }
    await Promise.race([crew.ended, over.promise]);
    await Promise.all([...this.#runs].filter(({ key }) => isOurs(key)).map(({ ended }) => ended.promise));
    signal.removeEventListener('abort', onAbort);
    givenUp.removeEventListener('abort', end);
    end();
    if (signal.aborted || givenUp.aborted) this.#setAside(isOurs);
  }

  /** False when a run has ignored its aborted signal for a long time: its worker and its key are stuck. */
  isMoving(): boolean {
    return this.queue.getStats().longestRunningMs <= this.#deadlineMs + STUCK_MS;
  }

  #connect(sink: KeySink): readonly Disposable[] {
    return this.#options.sources.map((source) => source.connect(sink));
  }

  #shardText(key: string): string {
    return this.#options.shardBy?.(key) ?? key;
  }

  #isHeld(key: string): boolean {
    const text = this.#shardText(key);
    for (const tenure of this.#tenures) if (tenure.owns(text)) return true;
    return false;
  }

  #startCrew(): Crew {
    const { name, concurrency } = this.#options;
    const stop = new AbortController();
    this.#deps.metrics.setWorkers(name, concurrency);
    return { stop, ended: Promise.all(Array.from({ length: concurrency }, () => this.#work(stop.signal))) };
  }

  #dismiss(crew: Crew): void {
    crew.stop.abort();
    this.#crew = undefined;
    this.#deps.metrics.setWorkers(this.#options.name, 0);
  }

  #takeLeftovers(isOurs: (key: string) => boolean): void {
    for (const key of this.#leftoverKeys) {
      if (!isOurs(key)) continue;
      this.#leftoverKeys.delete(key);
      this.queue.add(key, { priority: LEFTOVER_PRIORITY });
    }
  }

  /** Takes keys out of the queue, and remembers them together with the keys of all existing objects. */
  #setAside(isOurs: (key: string) => boolean): void {
    for (const key of this.queue.remove(isOurs)) this.#leftoverKeys.add(key);
    const add = (key: string): void => void this.#leftoverKeys.add(key);
    disconnect(this.#connect(only(isOurs, { add, addAfter: add })));
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let key = await this.queue.get(signal); key !== undefined; key = await this.queue.get(signal)) {
      if (this.#isHeld(key)) await this.#reconcile(key);
      else this.#drop(key);
    }
  }

  /** Another process owns the key since it was queued. */
  #drop(key: string): void {
    this.#leftoverKeys.add(key);
    this.queue.done(key);
  }

  async #reconcile(key: string): Promise<void> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    const run: Run = { key, abort: new AbortController(), ended: Promise.withResolvers() };
    this.#runs.add(run);
    const watchdog = clock.setTimeout(() => {
      run.abort.abort(new DeadlineExceeded(`reconcile took more than ${this.#deadlineMs} ms`));
    }, this.#deadlineMs);
    const context = new RunContext(this.#options.name, {
      key,
      signal: run.abort.signal,
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
    run.ended.resolve(undefined);
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

const NEVER = new AbortController().signal;

/** Passes on the keys that match. */
function only(matches: (key: string) => boolean, sink: KeySink): KeySink {
  return {
    add: (key, options) => (matches(key) ? sink.add(key, options) : undefined),
    addAfter: (key, delayMs, options) => (matches(key) ? sink.addAfter(key, delayMs, options) : undefined),
  };
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

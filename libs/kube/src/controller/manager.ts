import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random, Timer } from '@sandlot/std';
import type { KubeClient } from '../client/types.ts';
import type { Informer } from '../informer/informer.ts';
import { LeaseElector } from '../lease/elector.ts';
import type { LeaseOptions, Term } from '../lease/elector.ts';
import type { TermLimits } from '../lease/term-limits.ts';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';
import { createWorkQueue } from '../queue/workqueue.ts';
import type { WorkQueue } from '../queue/workqueue.ts';
import { ShardElectors } from '../shards/shard-electors.ts';
import { findShard } from '../shards/shard.ts';
import { Controller } from './controller.ts';
import type { ControllerOptions } from './controller.ts';

export interface ManagerOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  /** The manager reconciles only while it holds this lease. Absent: always. */
  readonly lease?: LeaseOptions | undefined;
  /** Those that the client enforces before each request. Without them, only timers end a term. */
  readonly termLimits?: TermLimits | undefined;
  /** Into how many shards the keys are divided, each with a lease and a holder of its own. Default 1. Needs a lease if more. */
  readonly shards?: number | undefined;
  /** How long a shutdown waits for the queues to drain before it aborts runs in progress. Default 10,000 ms. */
  readonly drainMs?: number | undefined;
}

export interface ControllerHandle {
  readonly queue: WorkQueue;
}

/** Runs controllers. Informers always run; workers run while the caches are synced and the lease is held. */
export interface Manager {
  /** Adds a controller and the informers of its sources. Call it before `run`. */
  add(controller: ControllerOptions): ControllerHandle;
  /** Adds an informer that is not a source of a controller. Call it before `run`. */
  addInformer(informer: Informer<unknown>): void;
  /**
   * Runs until the signal aborts. Then it ignores adds, finishes queued keys within `drainMs`, aborts and awaits the
   * remaining runs, releases the lease and stops the informers.
   */
  run(signal: AbortSignal): Promise<void>;
  /** All caches are synced. A standby is ready, too, because it could take over. */
  isReady(): boolean;
  /** The namespaces of which at least one cache lacks the objects, because the API server forbids to list them. */
  listForbidden(): readonly string[];
  /** The event loop responds and no queue is stuck. */
  isLive(): boolean;
  /** Whether this process holds the first shard, to which the work that belongs to no object belongs. */
  isLeader(): boolean;
  /** Whether this process holds the shard of the text, which is what `shardBy` of the controller gives for a key. */
  owns(text: string): boolean;
  /** Into how many shards the keys are divided. */
  readonly shards: number;
  /** Whether this process holds the shard of this number. */
  holdsShard(shard: number): boolean;
  /**
   * The signal of the term in which this process owns the text. It aborts when that term is over, by a loss or in order.
   * Undefined while this process does not own the text.
   */
  findTermSignal(text: string): AbortSignal | undefined;
  /** Whether this process holds any shard. */
  isWorking(): boolean;
  /**
   * Grows with every term of any process. Send it with side effects outside the API server, so that the receiver can
   * refuse a token smaller than the last one. Undefined without a lease and while this process does not own `text`. Tokens of
   * different numbers of shards cannot be compared.
   */
  getFencingToken(text?: string): number | undefined;
}

export function createManager(options: ManagerOptions): Manager {
  return new ControllerManager(options);
}

/**
 * The informers start after the first attempt to take the lease, or after this time. A leader's list must be newer than
 * its term, so in this order one list is enough.
 */
const FIRST_ATTEMPT_MS = 2_000;

class ControllerManager implements Manager {
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: KubeMetrics;
  readonly #drainMs: number;
  readonly #controllers: Controller[] = [];
  readonly #informers = new Set<Informer<unknown>>();
  readonly #pulse: Pulse;
  readonly shards: number;
  /** By shard. */
  readonly #terms = new Map<number, Term>();

  constructor(options: ManagerOptions) {
    const { clock = systemClock, random = systemRandom, metrics = noMetrics, drainMs = 10_000 } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
    this.#drainMs = drainMs;
    this.#pulse = new Pulse(clock);
    this.shards = options.lease === undefined ? 1 : (options.shards ?? 1);
  }

  add(options: ControllerOptions): ControllerHandle {
    const deps = { clock: this.#clock, random: this.#random, metrics: this.#metrics };
    const queue = options.queue ?? createWorkQueue({ name: options.name, ...deps });
    const isForbidden = (namespace: string): boolean =>
      [...this.#informers].some((informer) => informer.listForbidden().includes(namespace));
    const controller = new Controller(options, { ...deps, queue, isForbidden, log: this.#options.log });
    this.#controllers.push(controller);
    for (const source of options.sources) for (const informer of source.informers) this.addInformer(informer);
    return controller;
  }

  addInformer(informer: Informer<unknown>): void {
    this.#informers.add(informer);
  }

  async run(signal: AbortSignal): Promise<void> {
    const stopInformers = new AbortController();
    const always: Term = { signal: new AbortController().signal, token: 0, sinceMs: this.#clock.monotonic() };
    this.#pulse.start();
    const first = Promise.withResolvers<undefined>();
    const leading = this.#elect(signal, () => first.resolve(undefined));
    await Promise.race([
      leading === undefined ? undefined : first.promise,
      this.#clock.sleep(FIRST_ATTEMPT_MS, signal),
    ]);
    const informing = Promise.all([...this.#informers].map((informer) => informer.run(stopInformers.signal)));
    try {
      await (leading ?? this.#lead(0, always, signal));
    } finally {
      for (const { queue } of this.#controllers) void queue.shutDown();
      stopInformers.abort();
      await informing;
      this.#pulse.stop();
    }
  }

  isReady(): boolean {
    return [...this.#informers].every((informer) => informer.hasSynced());
  }

  listForbidden(): readonly string[] {
    return [...new Set([...this.#informers].flatMap((informer) => informer.listForbidden()))];
  }

  isLive(): boolean {
    return this.#pulse.isRegular() && this.#controllers.every((controller) => controller.isMoving());
  }

  isLeader(): boolean {
    return this.holdsShard(0);
  }

  owns(text: string): boolean {
    return this.holdsShard(findShard(text, this.shards));
  }

  findTermSignal(text: string): AbortSignal | undefined {
    const shard = findShard(text, this.shards);
    return this.holdsShard(shard) ? this.#terms.get(shard)?.signal : undefined;
  }

  isWorking(): boolean {
    return [...this.#terms.keys()].some((shard) => this.holdsShard(shard));
  }

  getFencingToken(text = ''): number | undefined {
    const shard = text === '' ? 0 : findShard(text, this.shards);
    return this.holdsShard(shard) && this.#options.lease !== undefined ? this.#terms.get(shard)?.token : undefined;
  }

  holdsShard(shard: number): boolean {
    this.#options.termLimits?.enforce();
    return this.#terms.get(shard)?.signal.aborted === false;
  }

  /** Undefined without a lease. `attempted` is called after the first attempt to take one. */
  #elect(signal: AbortSignal, attempted: () => void): Promise<void> | undefined {
    const { lease, client, log, termLimits } = this.#options;
    if (lease === undefined) return undefined;
    const deps = { clock: this.#clock, random: this.#random, metrics: this.#metrics };
    const options = { ...lease, ...deps, client, log, termLimits };
    if (this.shards > 1) {
      const electors = new ShardElectors({ ...options, count: this.shards });
      return electors.run(signal, (shard, term) => {
        attempted();
        return this.#lead(shard, term, signal);
      });
    }
    const elector = new LeaseElector(options);
    void elector.attempted.then(attempted);
    return elector.run(signal, (term) => this.#lead(0, term, signal));
  }

  async #lead(shard: number, term: Term, stop: AbortSignal): Promise<void> {
    if (!(await this.#waitForCaches(term, AbortSignal.any([term.signal, stop])))) return;
    const ended = new AbortController();
    this.#terms.set(shard, { ...term, signal: AbortSignal.any([term.signal, ended.signal]) });
    this.#options.log.info(this.shards === 1 ? { term: term.token } : { term: term.token, shard }, 'reconciling');
    const overdue = new AbortController();
    let drain: Timer | undefined;
    const limitDrain = (): void => {
      drain ??= this.#clock.setTimeout(() => overdue.abort(new Error('shutdown')), this.#drainMs);
    };
    const onStop = (): void => {
      for (const { queue } of this.#controllers) void queue.shutDown();
      limitDrain();
    };
    if (stop.aborted) onStop();
    else stop.addEventListener('abort', onStop, { once: true });
    term.givenUp?.addEventListener('abort', limitDrain, { once: true });
    const signal = AbortSignal.any([term.signal, overdue.signal]);
    const owns = (text: string): boolean => findShard(text, this.shards) === shard;
    const tenure = { signal, givenUp: term.givenUp, owns };
    await Promise.all(this.#controllers.map((controller) => controller.run(tenure)));
    stop.removeEventListener('abort', onStop);
    drain?.cancel();
    this.#terms.delete(shard);
    ended.abort(new Error('the term is over'));
  }

  /** False when the signal aborted first. */
  async #waitForCaches({ sinceMs }: Term, signal: AbortSignal): Promise<boolean> {
    try {
      await Promise.all(
        [...this.#informers].map((informer) =>
          informer.consistentFirstList
            ? informer.waitUntilFresh({ sinceMs, signal })
            : informer.waitUntilSynced(signal),
        ),
      );
      return !signal.aborted;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }
}

const BEAT_MS = 1_000;

/** A heartbeat that is this late shows a blocked event loop. */
const LATE_MS = 10_000;

/** A heartbeat of the event loop. */
class Pulse {
  readonly #clock: Clock;
  #lastMs: number | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#lastMs = this.#clock.monotonic();
    this.#timer = this.#clock.setTimeout(() => this.start(), BEAT_MS);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#lastMs = undefined;
  }

  isRegular(): boolean {
    return this.#lastMs === undefined || this.#clock.monotonic() - this.#lastMs < LATE_MS;
  }
}

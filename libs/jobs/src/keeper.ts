import { pacing } from '@sandlot/pacing';
import type { Clock, Logger, Timer } from '@sandlot/std';
import { DeadlineBook, NEAR_MS } from './book.ts';
import { purposes } from './deadline.ts';
import type { Deadline, Purpose } from './deadline.ts';
import type { DeadlineMetrics } from './metrics.ts';
import type { DeadlineStore } from './store.ts';

const TICK_MS = 1_000;
/** An audit may be late by this factor before the process holds it by itself: Redis has forgotten to repeat it. */
const PATIENCE = 1.25;
/** A job this much later than its deadline is as good as missing. */
const LATE_JOB_MS = 1_000;

/** What deadlines are derived from. */
export interface DeadlineSource {
  /** Of the object behind the key, as it is; none when it is gone. */
  of(key: string, nowMs: number): readonly Deadline[];
  keys(): Iterable<string>;
}

export interface DeadlineKeeperOptions {
  readonly source: DeadlineSource;
  /** Absent: no Redis; deadlines are timers alone. */
  readonly store: DeadlineStore | undefined;
  /** Has the object behind the key looked at. */
  readonly queue: (key: string) => void;
  readonly isLeader: () => boolean;
  readonly auditEveryMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DeadlineMetrics;
}

type Jobs = ReadonlyMap<string, number | undefined>;

/**
 * Keeps Redis in line with the deadlines of the objects, on the leader, and measures how late they are met. It decides
 * nothing: a job that fires queues the key. The controller's own timers stay whatever Redis says, so that without Redis
 * nothing is late.
 */
export class DeadlineKeeper {
  readonly #options: DeadlineKeeperOptions;
  readonly #book = new DeadlineBook();
  #isLeading = false;
  /** Grows when the lead is lost. */
  #term = 0;
  #auditedMs = 0;
  #audit: Promise<void> | undefined;
  #auditAgain = false;
  #flushing: Promise<void> | undefined;
  #gathering: Timer | undefined;
  #tick: Timer | undefined;
  #isClosed = false;

  constructor(options: DeadlineKeeperOptions) {
    this.#options = options;
    const { store, metrics } = options;
    metrics.connected(false);
    metrics.watchPending(() => this.#pending());
    store?.onConnect(() => {
      if (this.#isLeading) void this.audit();
    });
    if (store !== undefined) this.#scheduleTick();
  }

  /** The object has changed, or is gone. Costs nothing on a standby, and next to nothing without deadlines. */
  changed(key: string): void {
    if (!this.#isLeading) return;
    const nowMs = this.#options.clock.now();
    this.#book.set(key, this.#options.source.of(key, nowMs), { nowMs, isNews: true });
    this.#gather();
  }

  /** Runs a pass over the object behind the key, and counts the deadlines that it meets. */
  pass<T>(key: string, run: () => Promise<T>): Promise<T> {
    if (!this.#isLeading) this.#lead();
    const nowMs = this.#options.clock.now();
    const due = this.#book.meet(key, nowMs);
    if (due.length === 0) return run();
    for (const { deadline, lateFromMs } of due) {
      this.#options.metrics.met(deadline.purpose, Math.max(0, nowMs - lateFromMs) / 1_000);
    }
    // The next edge of a schedule comes without a change of the object.
    return run().finally(() => this.changed(key));
  }

  /**
   * Brings Redis and the deadlines in line: what has no job gets one, what has no deadline is removed, and both are counted.
   * Resolves when it is done, or could not be.
   */
  async audit(): Promise<void> {
    // Redis may have been lost under an audit that is under way.
    this.#auditAgain = this.#audit !== undefined;
    await (this.#audit ??= this.#holdAll());
  }

  /** Ends the timers; the store is its owner's to close. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#tick?.cancel();
    this.#gathering?.cancel();
    await Promise.all([this.#audit, this.#flushing]);
  }

  #lead(): void {
    const { source, clock } = this.#options;
    this.#isLeading = true;
    const nowMs = clock.now();
    // What passed while nobody led is late since then.
    for (const key of source.keys()) this.#book.set(key, source.of(key, nowMs), { nowMs, isNews: false });
    this.#takeUp();
  }

  #takeUp(): void {
    const { store } = this.#options;
    if (store === undefined) return;
    store.handle({ onDue: (id, purpose) => this.#fired(id, purpose), onAudit: () => void this.audit() });
    void this.audit();
  }

  async #giveUp(): Promise<void> {
    this.#isLeading = false;
    this.#term += 1;
    this.#book.clear();
    await this.#options.store?.rest();
  }

  #fired(id: string, purpose: string): void {
    const { metrics, clock, queue } = this.#options;
    const entry = this.#book.find(id);
    if (entry === undefined) {
      if (isPurpose(purpose)) metrics.fired(purpose, 'stale');
      return;
    }
    metrics.fired(entry.deadline.purpose, 'queued');
    this.#book.fired(entry, clock.now());
    this.#gather();
    queue(entry.deadline.key);
  }

  #scheduleTick(): void {
    if (this.#isClosed) return;
    this.#tick = this.#options.clock.setTimeout(() => {
      this.#look();
      this.#scheduleTick();
    }, TICK_MS);
  }

  #look(): void {
    const { isLeader, store, metrics, clock, auditEveryMs } = this.#options;
    metrics.connected(store?.connected() ?? false);
    const leads = isLeader();
    if (leads && !this.#isLeading) this.#lead();
    else if (!leads && this.#isLeading) void this.#giveUp();
    else if (leads && clock.monotonic() - this.#auditedMs > auditEveryMs * PATIENCE) void this.audit();
  }

  #gather(): void {
    if (this.#isClosed || this.#gathering !== undefined || !this.#book.hasErrands) return;
    this.#gathering = this.#options.clock.setTimeout(() => {
      this.#gathering = undefined;
      void this.#flush();
    }, pacing.redisErrands.gatherMs);
  }

  /** One at a time. What Redis does not take is found missing by the next audit. */
  async #flush(): Promise<void> {
    await this.#flushing;
    this.#flushing = this.#runErrands();
    await this.#flushing;
    this.#gather();
  }

  async #runErrands(): Promise<void> {
    const { store } = this.#options;
    const { add, move, remove } = this.#book.takeErrands();
    if (store === undefined || !store.connected()) return;
    await store.remove(remove);
    if (await store.add(add)) this.#book.stored(add);
    if (await store.move(move)) this.#book.stored(move);
  }

  async #holdAll(): Promise<void> {
    do {
      this.#auditAgain = false;
      await this.#hold();
    } while (this.#isAskedAgain());
    this.#audit = undefined;
  }

  #isAskedAgain(): boolean {
    return this.#auditAgain && !this.#isClosed;
  }

  async #hold(): Promise<void> {
    const { store, clock, auditEveryMs } = this.#options;
    this.#auditedMs = clock.monotonic();
    if (store?.connected() !== true || !this.#isLeading) return;
    await store.repeatAudit(auditEveryMs);
    await this.#flush();
    const term = this.#term;
    const before = new Map([...this.#book.entries()].map(({ id, stored }) => [id, stored]));
    const jobs = await store.jobs();
    // Another process may lead by now: its jobs are no orphans.
    if (jobs !== undefined && this.#term === term) await this.#repair(jobs, before);
  }

  /** What came or went while Redis was asked is neither missing nor orphaned. */
  async #repair(jobs: Jobs, before: ReadonlyMap<string, boolean>): Promise<void> {
    const { metrics, log, store, clock } = this.#options;
    const missing = this.#findMissing(jobs, clock.now()).filter((id) => before.get(id) === true);
    const orphans = [...jobs.keys()].filter((id) => this.#book.find(id) === undefined && !before.has(id));
    metrics.audited(missing.length, orphans.length);
    if (missing.length + orphans.length > 0) {
      log.info({ missing: missing.length, orphaned: orphans.length }, 'deadlines in Redis repaired from the objects');
    }
    await store?.remove(orphans);
    await this.#flush();
  }

  /** Ids of deadlines that were believed to have a job. Those and all others without one get it with the next errands. */
  #findMissing(jobs: Jobs, nowMs: number): string[] {
    const missing: string[] = [];
    for (const entry of this.#book.entries()) {
      const { id, deadline } = entry;
      const isListed = jobs.has(id);
      const hasJob = isListed && (jobs.get(id) ?? 0) <= deadline.dueAtMs + LATE_JOB_MS;
      if (!hasJob && deadline.dueAtMs - nowMs >= NEAR_MS) {
        missing.push(id);
        this.#book.want(entry, nowMs, isListed ? 'move' : 'add');
      }
      entry.stored = hasJob;
    }
    return missing;
  }

  #pending(): { readonly redis: number; readonly timer: number } {
    const nowMs = this.#options.clock.now();
    let redis = 0;
    let timer = 0;
    for (const { stored, deadline } of this.#book.entries()) {
      if (deadline.dueAtMs <= nowMs) continue;
      if (stored) redis += 1;
      else timer += 1;
    }
    return { redis, timer };
  }
}

function isPurpose(name: string): name is Purpose {
  return (purposes as readonly string[]).includes(name);
}

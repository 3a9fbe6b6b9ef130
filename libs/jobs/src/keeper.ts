import { pacing } from '@sandlot/pacing';
import type { Clock, Logger, Timer } from '@sandlot/std';
import { DeadlineBook, NEAR_MS } from './book.ts';
import { purposes } from './deadline.ts';
import type { Deadline, Purpose } from './deadline.ts';
import type { DeadlineMetrics } from './metrics.ts';
import type { DeadlineStore } from './store.ts';

const TICK_MS = 1_000;
/** After this many audit intervals without an audit the process starts one: Redis has lost the repeated job. */
const PATIENCE = 1.25;
/** A job that is later than its deadline by more than this counts as missing. */
const LATE_JOB_MS = 1_000;

/** The objects from which deadlines are derived. */
export interface DeadlineSource {
  /** Current deadlines of the object with that key; none when it is gone. */
  listDeadlines(key: string, nowMs: number): readonly Deadline[];
  listKeys(): Iterable<string>;
}

export interface DeadlineKeeperOptions {
  readonly source: DeadlineSource;
  /** Absent without Redis: deadlines are timers only. */
  readonly store: DeadlineStore | undefined;
  /** Enqueues the key. */
  readonly queue: (key: string) => void;
  readonly isLeader: () => boolean;
  readonly auditEveryMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DeadlineMetrics;
}

type Jobs = ReadonlyMap<string, number | undefined>;

/**
 * Keeps the jobs in Redis in line with the deadlines of the objects, on the leader, and measures how late they are met. It
 * decides nothing: a job that fires enqueues the key. The timers of the controller's queue work besides, so that nothing is
 * late without Redis.
 */
export class DeadlineKeeper {
  readonly #options: DeadlineKeeperOptions;
  readonly #book = new DeadlineBook();
  #isLeading = false;
  /** Grows with every loss of leadership. */
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
    metrics.setConnected(false);
    metrics.watchPending(() => this.#pending());
    store?.onConnect(() => {
      if (this.#isLeading) void this.audit();
    });
    if (store !== undefined) this.#scheduleTick();
  }

  /** Call it when the object has changed or is gone. It costs nothing on a standby and little without deadlines. */
  update(key: string): void {
    if (!this.#isLeading) return;
    const nowMs = this.#options.clock.now();
    this.#book.set(key, this.#options.source.listDeadlines(key, nowMs), { nowMs, isNews: true });
    this.#gather();
  }

  /** Runs a pass over the object with that key and measures the deadlines that it meets. */
  pass<T>(key: string, run: () => Promise<T>): Promise<T> {
    if (!this.#isLeading) this.#lead();
    const nowMs = this.#options.clock.now();
    const due = this.#book.takeDue(key, nowMs);
    if (due.length === 0) return run();
    for (const { deadline, lateFromMs } of due) {
      this.#options.metrics.observeLateness(deadline.purpose, Math.max(0, nowMs - lateFromMs) / 1_000);
    }
    // The next time of a schedule follows without a change of the object.
    return run().finally(() => this.update(key));
  }

  /**
   * Compares Redis with the deadlines: adds missing jobs, removes orphaned ones and counts both. Resolves when the audit has
   * ended, also when it failed.
   */
  async audit(): Promise<void> {
    // Redis may have lost its data during a running audit.
    this.#auditAgain = this.#audit !== undefined;
    await (this.#audit ??= this.#holdAll());
  }

  /** Ends the timers. The owner of the store closes it. */
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
    // Deadlines that passed without a leader are late since their due time.
    for (const key of source.listKeys())
      this.#book.set(key, source.listDeadlines(key, nowMs), { nowMs, isNews: false });
    this.#takeUp();
  }

  #takeUp(): void {
    const { store } = this.#options;
    if (store === undefined) return;
    store.handle({ onDue: (id, purpose) => this.#onFired(id, purpose), onAudit: () => void this.audit() });
    void this.audit();
  }

  async #giveUp(): Promise<void> {
    this.#isLeading = false;
    this.#term += 1;
    this.#book.clear();
    await this.#options.store?.rest();
  }

  #onFired(id: string, purpose: string): void {
    const { metrics, clock, queue } = this.#options;
    const entry = this.#book.find(id);
    if (entry === undefined) {
      if (isPurpose(purpose)) metrics.countFired(purpose, 'stale');
      return;
    }
    metrics.countFired(entry.deadline.purpose, 'queued');
    this.#book.recordFired(entry, clock.now());
    this.#gather();
    queue(entry.deadline.key);
  }

  #scheduleTick(): void {
    if (this.#isClosed) return;
    this.#tick = this.#options.clock.setTimeout(() => {
      this.#check();
      this.#scheduleTick();
    }, TICK_MS);
  }

  #check(): void {
    const { isLeader, store, metrics, clock, auditEveryMs } = this.#options;
    metrics.setConnected(store?.isConnected() ?? false);
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

  /** Runs one flush at a time. The next audit finds the jobs that Redis did not store. */
  async #flush(): Promise<void> {
    await this.#flushing;
    this.#flushing = this.#runErrands();
    await this.#flushing;
    this.#gather();
  }

  async #runErrands(): Promise<void> {
    const { store } = this.#options;
    const { add, move, remove } = this.#book.takeErrands();
    if (store === undefined || !store.isConnected()) return;
    await store.remove(remove);
    if (await store.add(add)) this.#book.recordStored(add);
    if (await store.move(move)) this.#book.recordStored(move);
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
    if (store?.isConnected() !== true || !this.#isLeading) return;
    await store.repeatAudit(auditEveryMs);
    await this.#flush();
    const term = this.#term;
    const before = new Map([...this.#book.entries()].map(({ id, stored }) => [id, stored]));
    const jobs = await store.listJobs();
    // Another process may be the leader by now, and its jobs are no orphans.
    if (jobs !== undefined && this.#term === term) await this.#repair(jobs, before);
  }

  /** Deadlines that came or went during the listing are neither missing nor orphaned. */
  async #repair(jobs: Jobs, before: ReadonlyMap<string, boolean>): Promise<void> {
    const { metrics, log, store, clock } = this.#options;
    const missing = this.#findMissing(jobs, clock.now()).filter((id) => before.get(id) === true);
    const orphans = [...jobs.keys()].filter((id) => this.#book.find(id) === undefined && !before.has(id));
    metrics.countAudit(missing.length, orphans.length);
    if (missing.length + orphans.length > 0) {
      log.info(
        { missing: missing.length, orphaned: orphans.length },
        'repaired the deadlines in Redis from the objects',
      );
    }
    await store?.remove(orphans);
    await this.#flush();
  }

  /** Ids of deadlines without a job. The next errands add the jobs. */
  #findMissing(jobs: Jobs, nowMs: number): string[] {
    const missing: string[] = [];
    for (const entry of this.#book.entries()) {
      const { id, deadline } = entry;
      const isListed = jobs.has(id);
      const hasJob = isListed && (jobs.get(id) ?? 0) <= deadline.dueAtMs + LATE_JOB_MS;
      if (!hasJob && deadline.dueAtMs - nowMs >= NEAR_MS) {
        missing.push(id);
        this.#book.request(entry, nowMs, isListed ? 'move' : 'add');
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

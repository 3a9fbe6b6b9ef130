import { context, propagation } from '@opentelemetry/api';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { DelayedError, Queue, Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Deadline, JobData } from './deadline.ts';
import { formatJobId } from './deadline.ts';
import { createRedis } from './redis.ts';
import type { RedisTarget, RedisTls } from './redis.ts';

const COMMAND_LIMIT_MS = 2_000;
/** Commands of one bulk: few enough that no command waits for long. */
const BULK = 500;
const HAND_ON_MS = 1_000;
const SCAN_LIMIT_MS = 30_000;
const AUDIT = 'audit';
/** BullMQ stores the time of a delayed job in the upper bits of its score. */
const SCORE_PER_MS = 0x1000;

export interface DeadlineStoreOptions {
  /** `redis://host:port` or `rediss://host:port`. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: RedisTls | undefined;
  /** Separates the keys of installations that share a Redis. */
  readonly prefix: string;
  /** The owner of these deadlines, such as `claim-controller`: all keys begin with `<prefix>:<name>:`. */
  readonly name: string;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

export interface StoreHandlers {
  /** A job is due. Called at least once per job, which is gone when this returns. */
  onDue(id: string, purpose: string): void;
  /** The periodic audit is due. */
  onAudit(): void;
}

/** Jobs on BullMQ. No method rejects or waits for long: without Redis each one reports that at once. */
export interface DeadlineStore {
  /** Calls `handler` on every connect, and at once when connected: Redis may have lost its data. */
  onConnect(handler: () => void): void;
  isConnected(): boolean;
  /** Adds jobs; an existing job does not change. Resolves to whether Redis has them. */
  add(deadlines: readonly Deadline[]): Promise<boolean>;
  /** Sets the time of jobs and adds missing ones. Resolves to whether Redis has them. */
  move(deadlines: readonly Deadline[]): Promise<boolean>;
  /** Removes jobs; a job that is due at this moment still fires. */
  remove(ids: readonly string[]): Promise<void>;
  /** Ids of all jobs, with the due time of waiting ones in epoch milliseconds. Undefined when Redis does not answer. */
  listJobs(): Promise<ReadonlyMap<string, number | undefined> | undefined>;
  /** Repeats the audit at this interval, also after Redis has lost its data. */
  repeatAudit(everyMs: number): Promise<void>;
  /** Starts to handle jobs, on the leader only. A store that already does so switches to the new handlers. */
  handle(handlers: StoreHandlers): void;
  /** Stops handling jobs until `handle` is called again; unfinished ones fire again in another process. */
  rest(): Promise<void>;
  /** Stops handling jobs and disconnects, within seconds. */
  close(): Promise<void>;
}

/** Creates a store of jobs in Redis. Returns at once, also without Redis, and keeps connecting until closed. */
export function connectDeadlineStore(options: DeadlineStoreOptions): DeadlineStore {
  return new BullStore(options);
}

type DeadlineJob = Job<JobData, unknown>;

interface Consumer {
  readonly worker: Worker<JobData, unknown>;
  readonly redis: Redis;
}

class BullStore implements DeadlineStore {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #prefix: string;
  readonly #name: string;
  readonly #target: RedisTarget;
  readonly #redis: Redis;
  readonly #queue: Queue<JobData, unknown>;
  #handlers: StoreHandlers | undefined;
  #consumer: Consumer | undefined;

  constructor(options: DeadlineStoreOptions) {
    const { clock = systemClock, random = systemRandom, log, prefix, name } = options;
    this.#clock = clock;
    this.#log = log;
    this.#prefix = prefix;
    this.#name = name;
    this.#target = { ...options, random };
    this.#redis = createRedis(this.#target);
    this.#queue = new Queue(name, { connection: this.#redis, prefix });
    this.#queue.on('error', (error) => log.debug({ err: error }, 'deadline queue'));
  }

  onConnect(handler: () => void): void {
    this.#redis.on('ready', handler);
    if (this.isConnected()) handler();
  }

  isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  async add(deadlines: readonly Deadline[]): Promise<boolean> {
    const jobs = deadlines.map((deadline) => this.#buildJob(deadline));
    return this.#inBulks(jobs, (bulk) => this.#queue.addBulk(bulk));
  }

  async move(deadlines: readonly Deadline[]): Promise<boolean> {
    return this.#inBulks(deadlines, (bulk) => Promise.all(bulk.map((deadline) => this.#place(deadline))));
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#inBulks(ids, (bulk) => Promise.all(bulk.map((id) => this.#queue.remove(id))));
  }

  async listJobs(): Promise<ReadonlyMap<string, number | undefined> | undefined> {
    if (!this.isConnected()) return undefined;
    const found = this.#list().catch((error: unknown) => {
      this.#log.debug({ err: error }, 'cannot list the deadlines in Redis');
      return undefined;
    });
    return this.#withinLimit(found, undefined, SCAN_LIMIT_MS);
  }

  async repeatAudit(everyMs: number): Promise<void> {
    await this.#attempt(() =>
      this.#queue.upsertJobScheduler(AUDIT, { every: everyMs }, { name: AUDIT, opts: DISPOSABLE }),
    );
  }

  handle(handlers: StoreHandlers): void {
    this.#handlers = handlers;
    if (this.#consumer !== undefined) return;
    const redis = createRedis(this.#target);
    const worker = new Worker<JobData, unknown>(this.#name, (job, token) => this.#run(job, token), {
      connection: redis,
      prefix: this.#prefix,
      concurrency: 16,
    });
    worker.on('error', (error) => this.#log.debug({ err: error }, 'deadline worker'));
    this.#consumer = { worker, redis };
  }

  async rest(): Promise<void> {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    this.#handlers = undefined;
    if (consumer !== undefined) await this.#end(consumer.redis, (force) => consumer.worker.close(force));
  }

  async close(): Promise<void> {
    await this.rest();
    await this.#end(this.#redis, () => this.#queue.close());
  }

  /** The payload of a job is not trusted: its id is looked up among the deadlines of the objects. */
  async #run(job: DeadlineJob, token: string | undefined): Promise<void> {
    const { id = '', name, data } = job;
    const handlers = this.#handlers;
    if (name === AUDIT) return handlers?.onAudit();
    if (handlers === undefined) {
      // The worker took it while it was stopping: the current leader has to handle it.
      await job.moveToDelayed(this.#clock.now() + HAND_ON_MS, token);
      throw new DelayedError();
    }
    const parent = propagation.extract(context.active(), buildCarrier(data));
    context.with(parent, () => handlers.onDue(id, name));
  }

  async #list(): Promise<ReadonlyMap<string, number | undefined>> {
    const jobs = new Map<string, number | undefined>();
    // A scan finds every member that stays in the set; a range by rank would skip members that move up.
    let cursor = '0';
    do {
      const [next, page] = await this.#redis.zscan(this.#queue.toKey('delayed'), cursor, 'COUNT', BULK);
      for (let at = 0; at + 1 < page.length; at += 2) jobs.set(page[at] ?? '', Number(page[at + 1]) / SCORE_PER_MS);
      cursor = next;
    } while (cursor !== '0');
    for (const id of await this.#queue.getRanges(['wait', 'active', 'prioritized'], 0, -1)) jobs.set(id, undefined);
    for (const id of jobs.keys()) if (id.startsWith(`repeat:${AUDIT}:`)) jobs.delete(id);
    return jobs;
  }

  /** Disconnects a client without connection first: BullMQ would wait for it before it closes. */
  async #end(redis: Redis, close: (force: boolean) => Promise<void>): Promise<void> {
    const force = redis.status !== 'ready';
    if (force) redis.disconnect();
    await this.#withinLimit(
      close(force).catch(() => undefined),
      undefined,
    );
    redis.disconnect();
  }

  async #inBulks<T>(all: readonly T[], send: (bulk: T[]) => Promise<unknown>): Promise<boolean> {
    for (let from = 0; from < all.length; from += BULK) {
      if (!(await this.#attempt(() => send(all.slice(from, from + BULK))))) return false;
    }
    return true;
  }

  /** Whether Redis did it in time. If not, it may still do it later. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    if (!this.isConnected()) return false;
    const done = work().then(
      () => true,
      (error: unknown) => {
        this.#log.debug({ err: error }, 'Redis refused a command for a deadline');
        return false;
      },
    );
    return this.#withinLimit(done, false);
  }

  async #withinLimit<T>(work: Promise<T>, late: T, limitMs = COMMAND_LIMIT_MS): Promise<T> {
    const abort = new AbortController();
    const limit = this.#clock.sleep(limitMs, abort.signal).then(() => late);
    const result = await Promise.race([work, limit]);
    abort.abort();
    return result;
  }

  async #place(deadline: Deadline): Promise<void> {
    const { name, data, opts } = this.#buildJob(deadline);
    const existing: DeadlineJob | undefined = await this.#queue.getJob(opts.jobId);
    if ((await existing?.getState()) === 'delayed') {
      await existing?.changeDelay(opts.delay);
      return;
    }
    // A running job cannot be removed and ends by itself: its deadline gets a new job after it has fired.
    await this.#queue.remove(opts.jobId);
    await this.#queue.add(name, data, opts);
  }

  #buildJob(deadline: Deadline) {
    const { purpose, key, generation, trace = '', dueAtMs } = deadline;
    const delay = Math.max(0, Math.ceil(dueAtMs - this.#clock.now()));
    return {
      name: purpose,
      data: { key, generation, trace },
      opts: { ...DISPOSABLE, jobId: formatJobId(deadline), delay },
    };
  }
}

/** Jobs leave nothing behind, because the objects are the record. */
const DISPOSABLE = { removeOnComplete: true, removeOnFail: true } as const;

/** Other clients may write anything into Redis: a value that is no carrier is ignored. */
function buildCarrier(data: unknown): Readonly<Record<string, unknown>> {
  try {
    const { trace } = Object(data) as { trace?: unknown };
    return Object(JSON.parse(String(trace))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

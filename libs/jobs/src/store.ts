import { context, propagation } from '@opentelemetry/api';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { DelayedError, Queue, Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Deadline, JobData } from './deadline.ts';
import { jobIdOf } from './deadline.ts';
import { createRedis } from './redis.ts';
import type { RedisTarget, RedisTls } from './redis.ts';

const COMMAND_LIMIT_MS = 2_000;
/** Commands of one bulk: small enough that none of them waits for long. */
const BULK = 500;
const HAND_ON_MS = 1_000;
const SCAN_LIMIT_MS = 30_000;
const AUDIT = 'audit';
/** BullMQ keeps the time of a delayed job in the upper bits of its score. */
const SCORE_PER_MS = 0x1000;

export interface DeadlineStoreOptions {
  /** `redis://host:port` or `rediss://host:port`. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: RedisTls | undefined;
  /** Keeps the keys of installations that share a Redis apart. */
  readonly prefix: string;
  /** Whose deadlines these are, such as `claim-controller`: all keys begin with `<prefix>:<name>:`. */
  readonly name: string;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

export interface StoreHandlers {
  /** A job is due, at least once; it is gone when this returns. */
  onDue(id: string, purpose: string): void;
  /** The time of the periodic audit. */
  onAudit(): void;
}

/** Jobs on BullMQ. Nothing here rejects or waits for long: with Redis away, everything says so at once. */
export interface DeadlineStore {
  /** Called on every connect, and at once when connected: Redis may have lost everything. */
  onConnect(handler: () => void): void;
  connected(): boolean;
  /** Adds jobs; one that is there already stays as it is. Resolves to whether Redis has them. */
  add(deadlines: readonly Deadline[]): Promise<boolean>;
  /** Sets the time of jobs, adding those that are not there. Resolves to whether Redis has them. */
  move(deadlines: readonly Deadline[]): Promise<boolean>;
  /** Forgets jobs; one that is due at this very moment still fires. */
  remove(ids: readonly string[]): Promise<void>;
  /** Ids of all jobs, with the time of those that wait for theirs, epoch milliseconds. Undefined: Redis did not say. */
  jobs(): Promise<ReadonlyMap<string, number | undefined> | undefined>;
  /** Has the audit repeated by this interval, also when Redis had forgotten it. */
  repeatAudit(everyMs: number): Promise<void>;
  /** Starts to handle jobs: on the leader alone. A store that handles them already goes on with the new handlers. */
  handle(handlers: StoreHandlers): void;
  /** Handles nothing more until `handle` is called again; what was not finished fires again elsewhere. */
  rest(): Promise<void>;
  /** Rests and disconnects, within seconds. */
  close(): Promise<void>;
}

/** Jobs in Redis. Returns at once even when Redis is away, and keeps connecting until closed. */
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
    if (this.connected()) handler();
  }

  connected(): boolean {
    return this.#redis.status === 'ready';
  }

  async add(deadlines: readonly Deadline[]): Promise<boolean> {
    const jobs = deadlines.map((deadline) => this.#jobOf(deadline));
    return this.#inBulks(jobs, (bulk) => this.#queue.addBulk(bulk));
  }

  async move(deadlines: readonly Deadline[]): Promise<boolean> {
    return this.#inBulks(deadlines, (bulk) => Promise.all(bulk.map((deadline) => this.#place(deadline))));
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#inBulks(ids, (bulk) => Promise.all(bulk.map((id) => this.#queue.remove(id))));
  }

  async jobs(): Promise<ReadonlyMap<string, number | undefined> | undefined> {
    if (!this.connected()) return undefined;
    const found = this.#list().catch((error: unknown) => {
      this.#log.debug({ err: error }, 'deadlines could not be listed');
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

  /** What a job says is not believed: its id is looked up among the deadlines of the objects. */
  async #run(job: DeadlineJob, token: string | undefined): Promise<void> {
    const { id = '', name, data } = job;
    const handlers = this.#handlers;
    if (name === AUDIT) return handlers?.onAudit();
    if (handlers === undefined) {
      // Taken while the worker comes to rest: whoever leads now is to have it.
      await job.moveToDelayed(this.#clock.now() + HAND_ON_MS, token);
      throw new DelayedError();
    }
    const parent = propagation.extract(context.active(), carrierOf(data));
    context.with(parent, () => handlers.onDue(id, name));
  }

  async #list(): Promise<ReadonlyMap<string, number | undefined>> {
    const jobs = new Map<string, number | undefined>();
    // What stays in a set during a scan is found by it; a range by rank would skip what moves up.
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

  /** A client that is not connected has to go first: BullMQ would wait for it to connect before it closes. */
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

  /** Whether Redis did it in time; when not, it may still do it later. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    if (!this.connected()) return false;
    const done = work().then(
      () => true,
      (error: unknown) => {
        this.#log.debug({ err: error }, 'Redis refused a deadline');
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
    const { name, data, opts } = this.#jobOf(deadline);
    const existing: DeadlineJob | undefined = await this.#queue.getJob(opts.jobId);
    if ((await existing?.getState()) === 'delayed') {
      await existing?.changeDelay(opts.delay);
      return;
    }
    // One that runs now cannot be removed and ends by itself: its deadline is wanted again when it has fired.
    await this.#queue.remove(opts.jobId);
    await this.#queue.add(name, data, opts);
  }

  #jobOf(deadline: Deadline) {
    const { purpose, key, generation, trace = '', dueAtMs } = deadline;
    const delay = Math.max(0, Math.ceil(dueAtMs - this.#clock.now()));
    return {
      name: purpose,
      data: { key, generation, trace },
      opts: { ...DISPOSABLE, jobId: jobIdOf(deadline), delay },
    };
  }
}

/** The object is the record: of a job nothing is kept. */
const DISPOSABLE = { removeOnComplete: true, removeOnFail: true } as const;

/** Whoever can write to Redis can write anything: what is no carrier is none. */
function carrierOf(data: unknown): Readonly<Record<string, unknown>> {
  try {
    const { trace } = Object(data) as { trace?: unknown };
    return Object(JSON.parse(String(trace))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

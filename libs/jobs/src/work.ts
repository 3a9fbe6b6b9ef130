import type { Clock, Logger, Random } from '@sandlot/std';
import { computeBackoffMs, systemRandom } from '@sandlot/std';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { createRedis } from './redis.ts';
import type { RedisTarget, RedisTls } from './redis.ts';

export interface WorkQueueOptions {
  /** `redis://host:port` or `rediss://host:port`. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: RedisTls | undefined;
  /** Separates the keys of installations that share a Redis. */
  readonly prefix: string;
  readonly name: string;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** Nothing failed: the job has more to do, so many milliseconds later. */
export class RunLater extends Error {
  override readonly name = 'RunLater';
  readonly code = 'RunLater';
  readonly afterMs: number;

  constructor(afterMs: number) {
    super(`runs again in ${afterMs} ms`);
    this.afterMs = Math.max(0, Math.ceil(afterMs));
  }
}

export interface WorkHandler {
  /** Jobs that run in this process at the same time. */
  readonly concurrency: number;
  /**
   * Runs one job. A rejection has it tried again, later and later; after {@link RunLater}, when that says. May be called again for a
   * job whose process died.
   */
  readonly run: (id: string) => Promise<void>;
}

const FIRST_RETRY_MS = 2_000;
const LAST_RETRY_MS = 60_000;
/** The owner of the job says when it ends: it removes it. */
const MOST_ATTEMPTS = 1_000_000;
/** A process that has not renewed its lock for so long is dead, and another one takes the job over. */
const LOCK_MS = 15_000;
/** How often a process looks for such jobs. It finds one at its second look, and one process looks for all of them. */
const LOOK_MS = 5_000;

/**
 * Work that processes share: each job, known by its id alone, runs in one of them. The queue has no more than ids, so it may be lost: its
 * owner adds what has to run again and again. A job may run twice at a time after Redis was away, so `run` has to guard its writes.
 */
export class WorkQueue {
  readonly #target: RedisTarget;
  readonly #prefix: string;
  readonly #name: string;
  readonly #log: Logger;
  readonly #redis: Redis;
  readonly #queue: Queue;
  #worker: { readonly worker: Worker; readonly redis: Redis } | undefined;

  /** Connects in the background, for ever. */
  constructor({ random = systemRandom, ...options }: WorkQueueOptions) {
    this.#target = { ...options, random };
    this.#prefix = options.prefix;
    this.#name = options.name;
    this.#log = options.log;
    this.#redis = createRedis(this.#target);
    this.#queue = new Queue(this.#name, { connection: this.#redis, prefix: this.#prefix });
    this.#queue.on('error', (error) => this.#log.debug({ err: error }, 'work queue'));
  }

  /** Adds a job unless it is there. A lower `priority` goes first. Rejects when Redis refuses, and waits while it is away. */
  async add(id: string, { priority = 0 }: { readonly priority?: number } = {}): Promise<void> {
    await this.#queue.add(
      this.#name,
      {},
      {
        jobId: id,
        priority,
        attempts: MOST_ATTEMPTS,
        backoff: { type: 'custom' },
        removeOnComplete: true,
        removeOnFail: true,
        // A job may run again and again for days, and Redis would keep every stack.
        stackTraceLimit: 1,
      },
    );
  }

  /** Runs a job now that waits for a later time. */
  async hurry(id: string): Promise<void> {
    const job = await this.#queue.getJob(id);
    // It may have begun meanwhile, or another process may have done the same.
    await job?.promote().catch((error: unknown) => this.#log.debug({ err: error, id }, 'a job does not wait'));
  }

  /** Takes a job out that does not run now. One that runs is the business of its process. */
  async remove(id: string): Promise<void> {
    await this.#queue.remove(id).catch((error: unknown) => this.#log.debug({ err: error, id }, 'a job runs'));
  }

  /** How many jobs wait, also for another attempt. */
  async countWaiting(): Promise<number> {
    const counts = await this.#queue.getJobCounts('wait', 'prioritized', 'delayed');
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  handle({ concurrency, run }: WorkHandler): void {
    const redis = createRedis(this.#target);
    const worker = new Worker(this.#name, async ({ id = '' }) => run(id), {
      connection: redis,
      prefix: this.#prefix,
      concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: LOOK_MS,
      maxStalledCount: MOST_ATTEMPTS,
      settings: {
        backoffStrategy: (attempt, _type, error) =>
          error instanceof RunLater
            ? error.afterMs
            : computeBackoffMs({ attempt, baseMs: FIRST_RETRY_MS, maxMs: LAST_RETRY_MS, random: this.#target.random }),
      },
    });
    worker.on('error', (error) => this.#log.debug({ err: error }, 'worker'));
    worker.on('failed', (job, error) => {
      if (!(error instanceof RunLater)) this.#log.warn({ err: error, id: job?.id }, 'a job failed and is tried again');
    });
    this.#worker = { worker, redis };
  }

  /** Gives up what runs here: another process takes it over once the lock has expired. */
  async close(): Promise<void> {
    const handled = this.#worker;
    await handled?.worker.close(true);
    handled?.redis.disconnect();
    await this.#queue.close();
    this.#redis.disconnect();
  }
}

/** A client for what else the owner of a queue keeps in Redis. It connects in the background, for ever. */
export function connectRedis(options: Omit<WorkQueueOptions, 'prefix' | 'name'>): Redis {
  return createRedis({ ...options, random: options.random ?? systemRandom });
}

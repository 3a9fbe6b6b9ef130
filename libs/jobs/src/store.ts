import { context, propagation } from '@opentelemetry/api';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random, Timer } from '@sandlot/std';
import { Queue, Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Deadline, DeadlineId, JobData, Purpose } from './deadline.ts';
import { jobIdOf } from './deadline.ts';
import { createRedis } from './redis.ts';
import type { RedisTarget, RedisTls } from './redis.ts';

const QUEUE = 'deadlines';
const COMMAND_LIMIT_MS = 2_000;
const ACTIVE_RETRY_MS = 1_000;
const FAILED_KEPT = 1_000;

export interface DeadlinesOptions {
  /** `redis://host:port` or `rediss://host:port`. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: RedisTls | undefined;
  /** Keeps the keys of installations that share a Redis apart. */
  readonly prefix: string;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Called on every connect: the moment to derive all deadlines from the objects again, as Redis may have lost them. */
  readonly onConnect?: (() => void) | undefined;
}

/** Called when a deadline is due, at least once; re-read the object and drop a generation that is out of date. */
export type DueHandler = (key: string, purpose: Purpose, generation: number) => void | Promise<void>;

/**
 * Timers that survive restarts. Losing Redis delays work and loses nothing: deadlines are derived from objects, and
 * whoever gets false from `schedule` keeps its own timer until `onConnect`.
 */
export interface Deadlines {
  /** Sets or moves a deadline. Resolves to whether Redis has it; never rejects. */
  schedule(deadline: Deadline): Promise<boolean>;
  /** Forgets a deadline; one that is due at this very moment still fires. Never rejects. */
  cancel(id: DeadlineId): Promise<void>;
  /** Starts handling. Call it once, and only where keys are reconciled: on the leader. */
  onDue(handler: DueHandler): void;
  connected(): boolean;
  /** Waits up to 2 s for running handlers and disconnects; what was not finished fires again elsewhere. */
  close(): Promise<void>;
}

/** Deadlines over Redis. Returns at once even when Redis is away, and keeps connecting until closed. */
export function connectDeadlines(options: DeadlinesOptions): Deadlines {
  return new BullDeadlines(options);
}

class BullDeadlines implements Deadlines {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #prefix: string;
  readonly #target: RedisTarget;
  readonly #redis: Redis;
  readonly #queue: Queue<JobData, unknown, Purpose>;
  readonly #again = new Map<string, Timer>();
  #consumer: { readonly worker: Worker<JobData, unknown, Purpose>; readonly redis: Redis } | undefined;

  constructor(options: DeadlinesOptions) {
    const { clock = systemClock, random = systemRandom, log, prefix, onConnect } = options;
    this.#clock = clock;
    this.#log = log;
    this.#prefix = prefix;
    this.#target = { ...options, random };
    this.#redis = createRedis(this.#target);
    if (onConnect !== undefined) this.#redis.on('ready', onConnect);
    this.#queue = new Queue(QUEUE, { connection: this.#redis, prefix });
    this.#queue.on('error', (error) => log.debug({ err: error }, 'deadline queue'));
  }

  async schedule(deadline: Deadline): Promise<boolean> {
    if (!this.connected()) return false;
    const placed = this.#place(deadline).then(
      () => true,
      (error: unknown) => {
        this.#log.debug({ err: error, key: deadline.key, purpose: deadline.purpose }, 'deadline could not be set');
        return false;
      },
    );
    return this.#withinLimit(placed, false);
  }

  async cancel(id: DeadlineId): Promise<void> {
    const jobId = jobIdOf(id);
    this.#cancelRetry(jobId);
    if (!this.connected()) return;
    await this.#withinLimit(
      this.#queue.remove(jobId).catch(() => 0),
      0,
    );
  }

  onDue(handler: DueHandler): void {
    if (this.#consumer !== undefined) throw new Error('onDue was called twice');
    const redis = createRedis(this.#target);
    const worker = new Worker<JobData, unknown, Purpose>(QUEUE, (job) => runHandler(handler, job), {
      connection: redis,
      prefix: this.#prefix,
      concurrency: 16,
    });
    worker.on('error', (error) => this.#log.debug({ err: error }, 'deadline worker'));
    worker.on('failed', (job, error) =>
      this.#log.warn({ err: error, job: job?.id, attempt: job?.attemptsMade }, 'deadline handler failed'),
    );
    this.#consumer = { worker, redis };
  }

  connected(): boolean {
    return this.#redis.status === 'ready';
  }

  async close(): Promise<void> {
    for (const jobId of [...this.#again.keys()]) this.#cancelRetry(jobId);
    const consumer = this.#consumer;
    if (consumer !== undefined) await this.#end(consumer.redis, (force) => consumer.worker.close(force));
    await this.#end(this.#redis, () => this.#queue.close());
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

  /** The result of `work`, or `late` when Redis takes too long; the work itself may still be done later. */
  async #withinLimit<T>(work: Promise<T>, late: T): Promise<T> {
    const abort = new AbortController();
    const limit = this.#clock.sleep(COMMAND_LIMIT_MS, abort.signal).then(() => late);
    const result = await Promise.race([work, limit]);
    abort.abort();
    return result;
  }

  async #place(deadline: Deadline): Promise<void> {
    const jobId = jobIdOf(deadline);
    this.#cancelRetry(jobId);
    const existing: Job<JobData, unknown, Purpose> | undefined = await this.#queue.getJob(jobId);
    if (existing === undefined) {
      await this.#add(jobId, deadline);
      return;
    }
    switch (await existing.getState()) {
      case 'delayed':
        await existing.changeDelay(this.#delayMs(deadline));
        return;
      case 'active':
        // Its handler runs now and the job ends with it: adding the same id would be ignored and the deadline lost.
        this.#scheduleAgain(jobId, deadline);
        return;
      case 'completed':
      case 'failed':
      case 'unknown':
        await this.#queue.remove(jobId);
        await this.#add(jobId, deadline);
        return;
      default:
        // Waiting for a worker: it fires at once, and the object decides that it is too early.
        return;
    }
  }

  async #add(jobId: string, deadline: Deadline): Promise<void> {
    const trace: Record<string, string> = {};
    propagation.inject(context.active(), trace);
    const data: JobData = { key: deadline.key, generation: deadline.generation, trace };
    await this.#queue.add(deadline.purpose, data, {
      jobId,
      delay: this.#delayMs(deadline),
      attempts: 5,
      backoff: { type: 'exponential', delay: 1_000 },
      removeOnComplete: true,
      removeOnFail: { count: FAILED_KEPT },
    });
  }

  #delayMs({ dueAtMs }: Deadline): number {
    return Math.max(0, Math.ceil(dueAtMs - this.#clock.now()));
  }

  #scheduleAgain(jobId: string, deadline: Deadline): void {
    const timer = this.#clock.setTimeout(() => {
      this.#again.delete(jobId);
      void this.schedule(deadline);
    }, ACTIVE_RETRY_MS);
    this.#again.set(jobId, timer);
  }

  #cancelRetry(jobId: string): void {
    this.#again.get(jobId)?.cancel();
    this.#again.delete(jobId);
  }
}

/** Runs the handler in the trace of whoever set the deadline. */
async function runHandler(handler: DueHandler, { data, name }: Job<JobData, unknown, Purpose>): Promise<void> {
  const parent = propagation.extract(context.active(), data.trace);
  await context.with(parent, async () => handler(data.key, name, data.generation));
}

import type { Clock, Logger } from '@sandlot/std';
import type { Redis } from 'ioredis';
import type { SandboxMetric } from '../../answer/schemas.ts';
import { decodePoint, encodePoint } from './points.ts';
import type { TimeRange } from './points.ts';

/** Whose points they are: the UID of a claim and its namespace. */
export interface Subject {
  readonly namespace: string;
  readonly uid: string;
}

export interface HistoryLimits {
  /** Sandboxes of a namespace with points; those that were sampled last keep them. */
  readonly perNamespace: number;
  readonly inAll: number;
}

export interface HistoryOptions {
  readonly redis: Redis;
  /** Begins every key. */
  readonly prefix: string;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Logger;
  readonly limits?: HistoryLimits | undefined;
}

/** Points of every 5 s for an hour, and of every 5 minutes for a day: some 60 KiB of a sandbox that is always sampled. */
const FINE = { name: 'fine', everySeconds: 5, most: 720 } as const;
const COARSE = { name: 'coarse', everySeconds: 300, most: 288 } as const;
const RINGS = [FINE, COARSE] as const;
type Ring = (typeof RINGS)[number];
/** How long points are kept. */
export const KEPT_MS = COARSE.everySeconds * COARSE.most * 1_000;
/** About 18 MiB of the memory that deadlines and builds share with them. */
const LIMITS: HistoryLimits = { perNamespace: 60, inAll: 300 };
/** How long a replica waits for Redis, which answers within a millisecond or is away. */
const PATIENCE_MS = 500;
/** Replicas that sample one sandbox take turns: less than the distance of two points, so that none is left out. */
const TURN_MS = 4_000;
/** Redis refuses a point that is not newer than the last one of its ring. */
const NOT_NEWER = /equal or smaller than/;

/**
 * The samples of sandboxes in Redis, which all replicas share. Nothing rejects: without Redis there is no history, and answers
 * have the newest sample alone.
 */
export class History {
  readonly #options: HistoryOptions;
  readonly #limits: HistoryLimits;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
  }

  /** Whether it is this replica's turn to sample: no other one did a moment ago. True while Redis is away. */
  async takeTurn({ uid }: Subject): Promise<boolean> {
    const reply = await this.#try((redis) => redis.set(this.#key('turn', uid), '1', 'PX', TURN_MS, 'NX'));
    return reply === undefined || reply === 'OK';
  }

  /** Adds a sample, and drops those of the sandboxes that are too many. */
  async add(subject: Subject, sample: SandboxMetric): Promise<void> {
    const { namespace, uid } = subject;
    const member = `${namespace}/${uid}`;
    await this.#try(async (redis) => {
      const commands = redis.multi();
      for (const ring of RINGS) {
        // The seconds of the step make the id, so that the ring takes one point of each.
        const at = Math.floor(sample.timestampUnix / ring.everySeconds) * ring.everySeconds;
        const id = ring === FINE ? sample.timestampUnix : at;
        commands.xadd(this.#key(ring.name, uid), 'MAXLEN', '=', ring.most, `${id}-0`, 'p', encodePoint(sample));
        commands.expire(this.#key(ring.name, uid), ring.everySeconds * ring.most);
      }
      const nowMs = this.#options.clock.now();
      for (const index of [this.#key('of', namespace), this.#key('all', '')]) {
        commands
          .zadd(index, nowMs, member)
          .zremrangebyscore(index, 0, nowMs - KEPT_MS)
          .expire(index, KEPT_MS / 1_000);
      }
      throwFirst(await commands.exec());
      await this.#drop(redis, this.#key('of', namespace), this.#limits.perNamespace);
      await this.#drop(redis, this.#key('all', ''), this.#limits.inAll);
    });
  }

  /** The points of a sandbox in the range, ascending; undefined while Redis is away. */
  async read({ uid }: Subject, range: TimeRange): Promise<readonly SandboxMetric[] | undefined> {
    const { start, end } = range;
    return this.#try(async (redis) => {
      const read = async ({ name }: Ring, last: number): Promise<readonly SandboxMetric[]> =>
        (await redis.xrange(this.#key(name, uid), `${start}-0`, `${last}-0`)).flatMap(
          ([id, [, text = '']]) => decodePoint(Number.parseInt(id, 10), text) ?? [],
        );
      const fine = await read(FINE, end);
      const before = (fine[0]?.timestampUnix ?? end + 1) - 1;
      return start > before ? fine : [...(await read(COARSE, before)), ...fine];
    });
  }

  /** Removes what the sandboxes that were sampled first have, down to that many. */
  async #drop(redis: Redis, index: string, most: number): Promise<void> {
    const members = await redis.zrange(index, 0, String(-1 - most));
    if (members.length === 0) return;
    const commands = redis.multi();
    for (const member of members) {
      const [namespace = '', uid = ''] = member.split('/');
      for (const { name } of RINGS) commands.del(this.#key(name, uid));
      for (const each of [this.#key('of', namespace), this.#key('all', '')]) commands.zrem(each, member);
    }
    await commands.exec();
  }

  #key(what: string, id: string): string {
    return `${this.#options.prefix}:metrics:${what}:${id}`;
  }

  /** Undefined when Redis is away, fails or does not answer in time. Commands that wait for a connection would pile up. */
  async #try<T>(use: (redis: Redis) => Promise<T>): Promise<T | undefined> {
    const { redis, clock, log } = this.#options;
    if (redis.status !== 'ready') return undefined;
    const over = new AbortController();
    try {
      return await Promise.race([use(redis), clock.sleep(PATIENCE_MS, over.signal).then(() => undefined)]);
    } catch (err) {
      log.debug({ err }, 'could not use the history of metrics');
      return undefined;
    } finally {
      over.abort();
    }
  }
}

function throwFirst(replies: [Error | null, unknown][] | null): void {
  for (const [error] of replies ?? []) if (error !== null && !NOT_NEWER.test(error.message)) throw error;
}

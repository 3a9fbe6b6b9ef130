import type { Redis } from 'ioredis';
import type { LogEntry, LogQuery } from '@sandlot/template-build';
import { logLevels, pageEntries } from '@sandlot/template-build';
import { z } from 'zod';

/** As long as E2B keeps them. */
const KEPT_SECONDS = 7 * 24 * 3_600;
/** A build that is tried again and again writes again and again. */
const MOST_ENTRIES = 50_000;
/** The logs of older builds of a namespace go: each may take a mebibyte of the memory that all tenants share. */
const MOST_BUILDS = 30;
/** Rank of the newest of those that go. */
const LAST_OLD = -1 - MOST_BUILDS;

const entrySchema: z.ZodType<LogEntry> = z.object({
  timestamp: z.string(),
  message: z.string(),
  level: z.enum(logLevels),
  step: z.string().optional(),
});

/** Logs of builds, as lists in Redis. They outlive the process, and are lost with Redis. */
export class LogStore {
  readonly #redis: Redis;
  readonly #prefix: string;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Makes room for the log of a build of this namespace. */
  async begin(namespace: string, build: string, nowMs: number): Promise<void> {
    const builds = `${this.#prefix}:builds:${namespace}`;
    await this.#redis.zadd(builds, nowMs, build);
    const old = await this.#redis.zrange(builds, 0, String(LAST_OLD));
    if (old.length > 0) await this.#redis.del(...old.map((each) => this.#keyOf(each)));
    await this.#redis.multi().zremrangebyrank(builds, 0, LAST_OLD).expire(builds, KEPT_SECONDS).exec();
  }

  /** Resolves to the number of entries. */
  async append(build: string, entries: readonly LogEntry[]): Promise<number> {
    const key = this.#keyOf(build);
    const texts = entries.map((entry) => JSON.stringify(entry));
    const [length = 0] = readReplies(
      await this.#redis
        .multi()
        .rpush(key, ...texts)
        .ltrim(key, 0, MOST_ENTRIES - 1)
        .expire(key, KEPT_SECONDS)
        .exec(),
    );
    return Math.min(length, MOST_ENTRIES);
  }

  /** One page. Entries that are not ours are left out. */
  async read(build: string, query: LogQuery): Promise<readonly LogEntry[]> {
    const isWhole = query.level === 'debug';
    // Without a filter the offset is that of the list, and a poll reads one page of it.
    const [start, end] = isWhole ? [query.offset, query.offset + query.limit - 1] : [0, -1];
    const texts = query.limit === 0 ? [] : await this.#redis.lrange(this.#keyOf(build), start, end);
    const entries = texts.flatMap((text) => entrySchema.safeParse(JSON.parse(text)).data ?? []);
    return isWhole ? entries : pageEntries(entries, query);
  }

  #keyOf(build: string): string {
    return `${this.#prefix}:build-log:${build}`;
  }
}

function readReplies(replies: [Error | null, unknown][] | null): number[] {
  return (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return Number(reply);
  });
}

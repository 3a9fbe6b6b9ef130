import { computeBackoffMs } from '@sandlot/std';
import type { Logger, Random } from '@sandlot/std';
import { Redis } from 'ioredis';

const RECONNECT_BASE_MS = 100;
const RECONNECT_MAX_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** TLS as Node takes it; an empty object means TLS with the system's authorities. */
export interface RedisTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface RedisTarget {
  /** `redis://host:port` or `rediss://host:port`. A separate `password` replaces credentials in it. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: RedisTls | undefined;
  readonly log: Logger;
  readonly random: Random;
  /** What happens while Redis is away, for the log. Default: `deadlines are timers in memory`. */
  readonly meanwhile?: string | undefined;
}

/**
 * Creates a client that connects in the background, forever and with jitter, and logs each kind of failure once per outage.
 * Commands wait for the connection, because BullMQ relies on that; callers set their own time limits.
 */
export function createRedis(target: RedisTarget): Redis {
  const { url, username, password, tls, random } = target;
  const retryStrategy = (attempt: number): number =>
    computeBackoffMs({ attempt, baseMs: RECONNECT_BASE_MS, maxMs: RECONNECT_MAX_MS, random });
  // ioredis prefers the credentials of the URL; here separate ones win.
  const redis = new Redis(password === undefined ? url : withoutCredentials(url), {
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: null,
    retryStrategy,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  });
  logFailures(redis, target);
  return redis;
}

function logFailures(redis: Redis, { log, url, meanwhile = 'deadlines are timers in memory' }: RedisTarget): void {
  const server = withoutCredentials(url);
  let lastComplaint = '';
  redis.on('ready', () => {
    lastComplaint = '';
    log.info({ server }, 'connected to Redis');
  });
  redis.on('error', (error: Error) => {
    const reason = error.message;
    if (reason === lastComplaint) return;
    lastComplaint = reason;
    if (isRefusal(reason)) log.error({ server, reason }, 'Redis refused the credentials; retrying');
    else log.warn({ server, reason }, `cannot reach Redis; ${meanwhile}`);
  });
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//');
}

/** The first word of a reply serves as the error code of Redis. */
function isRefusal(reason: string): boolean {
  return /^(?:WRONGPASS|NOAUTH|NOPERM)\b/.test(reason);
}

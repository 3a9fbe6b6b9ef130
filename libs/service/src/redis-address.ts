import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import type { redisSettings } from './settings.ts';

/** Where Redis is, and what a client shows it. */
export interface RedisAddress {
  /** `redis://host:port` or `rediss://host:port`. */
  readonly url: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: { readonly ca: string } | undefined;
}

/** Undefined if the settings name no Redis. Throws if the file with the authority cannot be read. */
export function readRedisAddress(settings: z.output<typeof redisSettings>): RedisAddress | undefined {
  const { REDIS_URL, REDIS_USER, REDIS_PASSWORD, REDIS_CA_FILE } = settings;
  if (REDIS_URL === undefined) return undefined;
  return {
    url: REDIS_URL,
    username: REDIS_USER,
    password: REDIS_PASSWORD?.reveal(),
    tls: REDIS_CA_FILE === undefined ? undefined : { ca: readFileSync(REDIS_CA_FILE, 'utf8') },
  };
}

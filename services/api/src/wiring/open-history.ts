import { readFileSync } from 'node:fs';
import type { ProcessParts } from '@sandlot/service';
import { History } from '../e2b/metrics/history/history.ts';
import type { ApiSettings } from './config.ts';

export interface OpenHistory {
  readonly history: History;
  close(): void;
}

/** Connects to Redis in the background, if the settings name one. Only then it loads the client, which takes memory. */
export async function openHistory(
  { clock, random, log }: ProcessParts,
  settings: ApiSettings,
): Promise<OpenHistory | undefined> {
  const { REDIS_URL, REDIS_USER, REDIS_PASSWORD, REDIS_CA_FILE, REDIS_PREFIX } = settings;
  if (REDIS_URL === undefined) return undefined;
  const { createRedis } = await import('@sandlot/jobs/redis');
  const redis = createRedis({
    url: REDIS_URL,
    username: REDIS_USER,
    password: REDIS_PASSWORD?.reveal(),
    tls: REDIS_CA_FILE === undefined ? undefined : { ca: readFileSync(REDIS_CA_FILE, 'utf8') },
    log,
    random,
    meanwhile: 'metrics of sandboxes have no history',
  });
  return {
    history: new History({ redis, prefix: `${REDIS_PREFIX}:api`, clock, log }),
    close: () => redis.disconnect(),
  };
}

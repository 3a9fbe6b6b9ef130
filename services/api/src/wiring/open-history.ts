import { readRedisAddress } from '@sandlot/service';
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
  const address = readRedisAddress(settings);
  if (address === undefined) return undefined;
  const { createRedis } = await import('@sandlot/jobs/redis');
  const redis = createRedis({ ...address, log, random, meanwhile: 'metrics of sandboxes have no history' });
  return {
    history: new History({ redis, prefix: `${settings.REDIS_PREFIX}:api`, clock, log }),
    close: () => redis.disconnect(),
  };
}

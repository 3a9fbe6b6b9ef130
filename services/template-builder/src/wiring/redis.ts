import { connectRedis, WorkQueue } from '@sandlot/jobs/work';
import { readRedisAddress } from '@sandlot/service';
import type { Logger } from '@sandlot/std';
import { LogStore } from '../log/log-store.ts';
import type { BuilderSettings } from './config.ts';

export interface OpenRedis {
  readonly queue: WorkQueue;
  readonly logs: LogStore;
  close(): Promise<void>;
}

/** Connects to Redis in the background. Throws if the settings name none: without it no build can run. */
export function openRedis(settings: BuilderSettings, log: Logger): OpenRedis {
  const { REDIS_PREFIX } = settings;
  const address = readRedisAddress(settings);
  if (address === undefined) throw new Error('REDIS_URL is not set: the queue of builds and their logs are in Redis');
  const target = { ...address, log };
  const queue = new WorkQueue({ ...target, prefix: REDIS_PREFIX, name: 'template-builder' });
  const redis = connectRedis(target);
  return {
    queue,
    logs: new LogStore(redis, `${REDIS_PREFIX}:template-builder`),
    close: async () => {
      await queue.close();
      redis.disconnect();
    },
  };
}

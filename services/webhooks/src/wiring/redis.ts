import { connectRedis, WorkQueue } from '@sandlot/jobs/work';
import { readRedisAddress } from '@sandlot/service';
import type { Logger } from '@sandlot/std';
import { DeliveryStore } from '../store/delivery-store.ts';
import type { WebhookSettings } from './config.ts';

export interface OpenRedis {
  readonly queue: WorkQueue;
  readonly store: DeliveryStore;
  close(): Promise<void>;
}

/** Connects to Redis in the background. Throws if the settings name none: deliveries wait there. */
export function openRedis(settings: WebhookSettings, log: Logger): OpenRedis {
  const { REDIS_PREFIX } = settings;
  const address = readRedisAddress(settings);
  if (address === undefined) throw new Error('REDIS_URL is not set: deliveries of webhooks wait in Redis');
  const target = { ...address, log };
  const queue = new WorkQueue({ ...target, prefix: REDIS_PREFIX, name: 'webhooks' });
  const redis = connectRedis(target);
  return {
    queue,
    store: new DeliveryStore(redis, { prefix: `${REDIS_PREFIX}:webhooks`, most: settings.WEBHOOK_DELIVERIES }),
    close: async () => {
      await queue.close();
      redis.disconnect();
    },
  };
}

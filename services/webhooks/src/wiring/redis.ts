import { readFileSync } from 'node:fs';
import { connectRedis, WorkQueue } from '@sandlot/jobs/work';
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
  const { REDIS_URL, REDIS_USER, REDIS_PASSWORD, REDIS_CA_FILE, REDIS_PREFIX } = settings;
  if (REDIS_URL === undefined) throw new Error('REDIS_URL is not set: deliveries of webhooks wait in Redis');
  const target = {
    url: REDIS_URL,
    username: REDIS_USER,
    password: REDIS_PASSWORD?.reveal(),
    tls: REDIS_CA_FILE === undefined ? undefined : { ca: readFileSync(REDIS_CA_FILE, 'utf8') },
    log,
  };
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

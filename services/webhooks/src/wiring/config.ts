import { integer, list, port, text } from '@sandlot/config';
import { z } from 'zod';
import { controllerSettings } from '@sandlot/service';

/** Ports with commas between them. */
function portList() {
  return list()
    .transform((texts) => texts.map(Number))
    .pipe(z.array(z.int().min(1).max(65_535)));
}

/** Settings of the webhooks process, by environment variable. */
export const webhookSettings = controllerSettings.extend({
  /** Namespace of the Secrets of webhooks. */
  HOOKS_NAMESPACE: text(),
  /** Where the API asks for deliveries. */
  PORT: port().default(8080),
  /** CIDRs that webhooks may have although they are not public. */
  WEBHOOK_PRIVATE_ADDRESSES: list().default([]),
  /** CIDRs that webhooks may not have besides those that are not public. */
  WEBHOOK_BLOCKED_ADDRESSES: list().default([]),
  /** Ports that webhooks may have. */
  WEBHOOK_PORTS: portList().default([80, 443]),
  /** How many of the webhooks that one process serves at the same time (`CONCURRENCY`) may be of one team. */
  WEBHOOK_TEAM_CONCURRENCY: integer({ min: 1, max: 1_000 }).default(2),
  /** Deliveries of one webhook that are kept, pending ones included. */
  WEBHOOK_DELIVERIES: integer({ min: 1, max: 10_000 }).default(500),
});

export type WebhookSettings = z.output<typeof webhookSettings>;

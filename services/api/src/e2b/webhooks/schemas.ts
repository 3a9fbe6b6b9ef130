// What E2B clients send and receive about webhooks (docs/reference/e2b-api.md#webhooks).
import {
  deliveryPage,
  deliveryQuery,
  deliveryStats,
  deliveryStates,
  sandboxEventTypes,
  statsQuery,
} from '@sandlot/team-events';
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';

const MAX_SECRET_LENGTH = 256;

const name = z.string().min(1).max(128);
const url = z.string().max(2_048).meta({ description: 'A public address, by https or http.' });
const events = z
  .array(z.enum(sandboxEventTypes))
  .min(1)
  .max(sandboxEventTypes.length)
  .transform((given) => [...new Set(given)])
  .meta({ description: 'The types that it gets.' });
const signatureSecret = z
  .string()
  .min(1)
  .max(MAX_SECRET_LENGTH)
  .meta({ description: 'Deliveries are signed with it. No answer ever has it.' });

export const webhookParams = z.object({ webhookID: z.string().max(64) });
export const replayParams = webhookParams.extend({ eventID: z.string().max(64) });

export const newWebhook = z
  .strictObject({ name, url, events, enabled: z.boolean().default(true), signatureSecret })
  .meta({ id: 'NewWebhook' });
export type NewWebhook = z.output<typeof newWebhook>;

export const webhookUpdate = z
  .strictObject({ name, url, events, enabled: z.boolean(), signatureSecret })
  .partial()
  .meta({ id: 'WebhookUpdate', description: 'What is absent stays as before.' });
export type WebhookUpdate = z.output<typeof webhookUpdate>;

export const webhookAnswer = z
  .object({
    id: z.uuid(),
    teamId: z.uuid(),
    name: z.string(),
    createdAt: z.iso.datetime({ offset: true }),
    url: z.string(),
    enabled: z.boolean(),
    events: z.array(z.enum(sandboxEventTypes)),
  })
  .meta({ id: 'Webhook' });
export type WebhookAnswer = z.output<typeof webhookAnswer>;

export const webhookDeliveryQuery = deliveryQuery.extend({
  orderAsc: deliveryQuery.shape.orderAsc.meta({
    override: shownAs({ type: 'boolean' }),
    description: 'The oldest first.',
  }),
  deliveryStatus: z.enum(deliveryStates).optional(),
});
export const webhookStatsQuery = statsQuery;
export const deliveriesAnswer = deliveryPage.meta({ id: 'WebhookDeliveries' });
export const statsAnswer = deliveryStats.meta({
  id: 'WebhookStats',
  description: 'Over the deliveries that are kept.',
});

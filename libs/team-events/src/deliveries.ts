// What the worker answers the API about the deliveries of a webhook.
import { z } from 'zod';
import { sandboxEventTypes } from './sandbox-event.ts';

/** `pending`: another attempt follows. `failed`: it has become a dead letter, which a replay tries again. */
export const deliveryStates = ['pending', 'succeeded', 'failed'] as const;

const attempt = z.object({
  /** RFC 3339. */
  timestamp: z.string(),
  /** Absent: no answer came. */
  statusCode: z.int().optional(),
  durationMs: z.int(),
  /** Why it counts as failed; absent: it succeeded. */
  error: z.string().optional(),
});
export type Attempt = z.output<typeof attempt>;

export const delivery = z.object({
  eventId: z.uuid(),
  deliveryId: z.uuid(),
  eventType: z.enum(sandboxEventTypes),
  sandboxId: z.string(),
  status: z.enum(deliveryStates),
  attempts: z.array(attempt),
});
export type Delivery = z.output<typeof delivery>;

export const deliveryPage = z.object({ data: z.array(delivery), nextCursor: z.string().nullable() });
export type DeliveryPage = z.output<typeof deliveryPage>;

export const deliveryQuery = z.object({
  cursor: z.string().max(64).regex(/^\d+$/u, 'expected the nextCursor of an answer').optional(),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  orderAsc: z.stringbool().default(false),
  start: z.iso.datetime({ offset: true }).optional(),
  end: z.iso.datetime({ offset: true }).optional(),
  deliveryStatus: z.enum(deliveryStates).optional(),
  eventType: z.enum(sandboxEventTypes).optional(),
});
export type DeliveryQuery = z.output<typeof deliveryQuery>;

export const statsQuery = deliveryQuery.pick({ start: true, end: true });
export type StatsQuery = z.output<typeof statsQuery>;

export const deliveryStats = z.object({
  total: z.int(),
  pending: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  attempts: z.int(),
});
export type DeliveryStats = z.output<typeof deliveryStats>;

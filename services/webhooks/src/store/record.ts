import { delivery } from '@sandlot/team-events';
import type { Delivery } from '@sandlot/team-events';
import { z } from 'zod';

const record = delivery.extend({
  /** Place of the event in the stream. The event itself stays there. */
  sequence: z.int(),
  /** Attempts since the event came, or since the last replay. */
  tries: z.int(),
  /** When the delivery was queued, epoch milliseconds. */
  queuedMs: z.int(),
});

/** A delivery as Redis keeps it. */
export type DeliveryRecord = z.output<typeof record>;

/** Undefined for text that is no record, as of a later release. */
export function parseRecord(text: string | null | undefined): DeliveryRecord | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    return record.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** What a client sees of it. */
export function toDelivery({ eventId, deliveryId, eventType, sandboxId, status, attempts }: DeliveryRecord): Delivery {
  return { eventId, deliveryId, eventType, sandboxId, status, attempts };
}

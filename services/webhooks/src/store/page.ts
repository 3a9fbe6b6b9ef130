import type { DeliveryPage, DeliveryQuery, DeliveryStats, StatsQuery } from '@sandlot/team-events';
import { toDelivery } from './record.ts';
import type { DeliveryRecord } from './record.ts';

/** A page of the records, which are in the order of the stream. The cursor is a place there, so that nothing moves it. */
export function buildPage(records: readonly DeliveryRecord[], query: DeliveryQuery): DeliveryPage {
  const { cursor, limit, orderAsc, deliveryStatus, eventType } = query;
  const ordered = orderAsc ? records : records.toReversed();
  const after = cursor === undefined ? undefined : Number(cursor);
  const wanted = ordered.filter(
    (record) =>
      isBehind(record, after, orderAsc) &&
      isWithin(record, query) &&
      (deliveryStatus === undefined || record.status === deliveryStatus) &&
      (eventType === undefined || record.eventType === eventType),
  );
  const page = wanted.slice(0, limit);
  const last = page.at(-1);
  const isMore = wanted.length > page.length && last !== undefined;
  return { data: page.map(toDelivery), nextCursor: isMore ? String(last.sequence) : null };
}

/** Counts what is kept. */
export function countDeliveries(records: readonly DeliveryRecord[], query: StatsQuery): DeliveryStats {
  const found = records.filter((record) => isWithin(record, query));
  const count = (status: DeliveryRecord['status']): number => found.filter((each) => each.status === status).length;
  return {
    total: found.length,
    pending: count('pending'),
    succeeded: count('succeeded'),
    failed: count('failed'),
    attempts: found.reduce((sum, { attempts }) => sum + attempts.length, 0),
  };
}

function isBehind({ sequence }: DeliveryRecord, after: number | undefined, orderAsc: boolean): boolean {
  if (after === undefined) return true;
  return orderAsc ? sequence > after : sequence < after;
}

function isWithin({ queuedMs }: DeliveryRecord, { start, end }: StatsQuery): boolean {
  return (start === undefined || queuedMs >= Date.parse(start)) && (end === undefined || queuedMs <= Date.parse(end));
}

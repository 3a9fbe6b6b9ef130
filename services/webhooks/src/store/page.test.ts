import { deliveryQuery } from '@sandlot/team-events';
import { describe, expect, it } from 'vitest';
import { buildPage, countDeliveries } from './page.ts';
import type { DeliveryRecord } from './record.ts';

const ID = '00000000-0000-5000-8000-00000000000';
const record = (sequence: number, more: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
  eventId: `${ID}${sequence}`,
  deliveryId: `${ID}${sequence}`,
  eventType: 'sandbox.lifecycle.paused',
  sandboxId: `s${sequence}`,
  status: 'succeeded',
  attempts: [],
  sequence,
  tries: 1,
  queuedMs: sequence * 1_000,
  ...more,
});
const records = [record(1), record(2, { status: 'failed' }), record(3, { eventType: 'sandbox.lifecycle.killed' })];

function list(query: object, of = records) {
  const { data, nextCursor } = buildPage(of, deliveryQuery.parse(query));
  return { ids: data.map(({ sandboxId }) => sandboxId), nextCursor };
}

describe('a page of deliveries', () => {
  it.each([
    [{}, ['s3', 's2', 's1']],
    [{ orderAsc: 'true' }, ['s1', 's2', 's3']],
    [{ deliveryStatus: 'failed' }, ['s2']],
    [{ eventType: 'sandbox.lifecycle.killed' }, ['s3']],
    [{ start: '1970-01-01T00:00:02Z' }, ['s3', 's2']],
    [{ end: '1970-01-01T00:00:02Z' }, ['s2', 's1']],
  ])('of %j has %j', (query, ids) => {
    expect(list(query)).toEqual({ ids, nextCursor: null });
  });

  it('goes on behind its cursor, whatever comes or goes meanwhile', () => {
    const first = list({ limit: '2' });
    expect(first).toEqual({ ids: ['s3', 's2'], nextCursor: '2' });
    const later = [record(1), record(3), record(4)];
    expect(list({ limit: '2', cursor: '2' }, later)).toEqual({ ids: ['s1'], nextCursor: null });
  });

  it('shows nothing of how deliveries are kept', () => {
    const [first] = buildPage(records, deliveryQuery.parse({})).data;
    expect(Object.keys(first ?? {})).toEqual(['eventId', 'deliveryId', 'eventType', 'sandboxId', 'status', 'attempts']);
  });
});

it('counts are of the deliveries in the time', () => {
  const start = '1970-01-01T00:00:02Z';
  expect(countDeliveries(records, {})).toMatchObject({ total: 3, succeeded: 2, failed: 1, pending: 0 });
  expect(countDeliveries(records, { start })).toMatchObject({ total: 2, succeeded: 1 });
});

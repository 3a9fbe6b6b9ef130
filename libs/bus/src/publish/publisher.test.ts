import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { noMetrics } from '../bus-metrics.ts';
import type { OutgoingEvent } from '../events/cloudevent.ts';
import { Publisher } from './publisher.ts';

const poolReady = (id: string): OutgoingEvent<'pool.ready'> => ({
  type: 'pool.ready',
  id,
  timeMs: 0,
  data: { namespace: 'a', name: 'p', uid: 'u', desired: 1, ready: 1 },
});

function publisherWithoutConnection(maxPending: number) {
  const ended: string[] = [];
  const dropped: string[] = [];
  const publisher = new Publisher({
    log: silentLogger,
    clock: new FakeClock(),
    random: () => 0,
    metrics: { ...noMetrics, countPublished: (_type, outcome) => dropped.push(outcome) },
    maxPending,
    maxInFlight: 2,
    ackTimeoutMs: 100,
    onStreamMissing: () => undefined,
  });
  const publish = (id: string): void =>
    publisher.publish(poolReady(id), { headers: {}, end: (failure) => ended.push(`${id}: ${failure ?? 'ok'}`) });
  return { publisher, publish, ended, dropped };
}

describe('Publisher', () => {
  it('keeps the newest events when the buffer is full and counts the dropped ones', () => {
    const { publisher, publish, ended, dropped } = publisherWithoutConnection(2);
    ['1', '2', '3', '4'].forEach(publish);
    expect(publisher.pending).toBe(2);
    expect(ended).toEqual(['1: buffer full', '2: buffer full']);
    expect(dropped).toEqual(['dropped', 'dropped']);
  });

  it('treats two events with one id as one', () => {
    const { publisher, publish, ended } = publisherWithoutConnection(10);
    ['1', '1', '2'].forEach(publish);
    expect(publisher.pending).toBe(2);
    expect(ended).toEqual(['1: ok']);
  });

  it('drops the remaining events when it closes, and ends waits for them', async () => {
    const { publisher, publish, ended } = publisherWithoutConnection(10);
    ['1', '2'].forEach(publish);
    const drained = publisher.waitUntilDrained();
    publisher.close();
    await drained;
    expect(publisher.pending).toBe(0);
    expect(ended).toEqual(['1: closed', '2: closed']);
  });

  it('is drained before anything was published', async () => {
    await expect(publisherWithoutConnection(1).publisher.waitUntilDrained()).resolves.toBeUndefined();
  });
});

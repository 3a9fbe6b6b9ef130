import type { SandboxEvent, Webhook } from '@sandlot/team-events';
import { describe, expect, it } from 'vitest';
import { decideDeliveries, decideStart } from './decide.ts';

const bounds = { created: 'today', first: 11, last: 100 };
const place = (sequence: number, stream = 'today') => ({ sequence, stream });

describe('the next events are read', () => {
  it.each([
    ['behind those that are queued', place(50), undefined, 50],
    ['behind what has certainly ended, if Redis has lost its data', undefined, place(40), 40],
    ['from the start, if nothing says what has ended', undefined, undefined, 10],
    ['from the start of a stream that was made anew', place(50, 'yesterday'), undefined, 10],
    ['from the first that the stream still has', place(3), undefined, 10],
    ['from the end, if the stream has lost its last', place(120), undefined, 100],
  ])('%s', (...[, inRedis, mark, start]) => {
    expect(decideStart({ bounds, place: inRedis, mark })).toBe(start);
  });
});

describe('an event goes to', () => {
  const event = { type: 'sandbox.lifecycle.paused', timestamp: '2026-01-01T00:00:10.500Z' } as SandboxEvent;
  const hook = (id: string, more: Partial<Webhook> = {}) =>
    ({ id, events: ['sandbox.lifecycle.paused'], createdAt: '2026-01-01T00:00:10Z', ...more }) as Webhook;
  const plan = (webhooks: readonly Webhook[]) =>
    decideDeliveries({
      bounds,
      place: undefined,
      events: [{ sequence: 60, event, webhooks }],
      readTo: 70,
      newcomers: [],
      nowMs: 0,
    });

  it('each webhook of the team that wants its type', () => {
    const { deliveries, after, isMore } = plan([
      hook('a'),
      hook('b', { events: ['sandbox.lifecycle.killed'] }),
      hook('c'),
    ]);
    expect(deliveries.map(({ webhook, sequence }) => [webhook, sequence])).toEqual([
      ['a', 60],
      ['c', 60],
    ]);
    expect([after, isMore]).toEqual([place(70), true]);
  });

  it('no webhook that was registered after it', () => {
    expect(plan([hook('a', { createdAt: '2026-01-01T00:00:11Z' })]).deliveries).toEqual([]);
  });
});

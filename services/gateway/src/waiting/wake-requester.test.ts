import { createNullBus } from '@sandlot/bus';
import type { OutgoingEvent } from '@sandlot/bus';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { WakeRequester } from './wake-requester.ts';

const BOX = { namespace: 'team-a', name: 'box', uid: 'uid-box', generation: 7 };

function setup() {
  const clock = new FakeClock();
  const sent: OutgoingEvent[] = [];
  const nats = { isConnected: true };
  const sendOnce = (event: OutgoingEvent): void => void sent.push(event);
  const bus = { ...createNullBus(), isConnected: () => nats.isConnected, sendOnce };
  return { clock, sent, nats, requester: new WakeRequester(bus, clock) };
}

describe('a wake', () => {
  it('is asked for at once and every two seconds, once for all who wait, until none does', async () => {
    const { clock, sent, requester } = setup();
    const [first, second] = [requester.request(BOX), requester.request(BOX)];
    await clock.advance(3_900);
    expect(sent).toHaveLength(2);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    await clock.advance(2_000);
    expect(sent).toHaveLength(3);
    second[Symbol.dispose]();
    await clock.advance(10_000);
    expect(sent).toHaveLength(3);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('names the suspension that was seen, and asks again at once when a later one is seen', async () => {
    const { clock, sent, requester } = setup();
    using _first = requester.request(BOX);
    using _second = requester.request({ ...BOX, generation: 9 });
    using _third = requester.request(BOX);
    await clock.advance(2_000);
    expect(sent.map(({ data }) => data)).toMatchObject([{ generation: 7 }, { generation: 9 }, { generation: 9 }]);
  });

  it('is delayed for those who waited while NATS was away, and not for those who came later', async () => {
    const { clock, nats, requester } = setup();
    using early = requester.request(BOX);
    expect(early.isDelayed()).toBe(false);
    nats.isConnected = false;
    await clock.advance(2_000);
    nats.isConnected = true;
    await clock.advance(2_000);
    using late = requester.request(BOX);
    expect([early.isDelayed(), late.isDelayed()]).toEqual([true, false]);
  });

  it('is delayed at once when NATS is away from the beginning', () => {
    const { nats, requester } = setup();
    nats.isConnected = false;
    using wake = requester.request(BOX);
    expect(wake.isDelayed()).toBe(true);
  });
});

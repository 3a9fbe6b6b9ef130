import type { ActivityReport } from '@sandlot/bus';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { ActivityReporter } from './reporter.ts';

/** A reporter on a bus that can disconnect. `received` returns what receivers got since its last call. */
function createReporter() {
  const clock = new FakeClock();
  const reports: string[] = [];
  const bus = {
    isUp: true,
    disconnections: 0,
    isConnected: () => bus.isUp,
    countDisconnections: () => bus.disconnections,
    reportActivity: ({ uid, atMs }: ActivityReport): void => {
      if (bus.isUp) reports.push(`${uid} ${atMs}`);
    },
  };
  const reporter = new ActivityReporter(bus, clock);
  const use = (uid: string, atMs: number): void => reporter.report({ namespace: 'team-a', name: uid, uid, atMs });
  return { clock, bus, use, reporter, received: (): string[] => reports.splice(0) };
}

describe('reports of activity', () => {
  it('are sent once while the bus is connected', async () => {
    const { clock, use, received } = createReporter();
    use('a', 1);
    await clock.advance(600_000);
    expect(received()).toEqual(['a 1']);
  });

  it('are resent after a reconnect, several times for receivers that reconnect later', async () => {
    const { clock, bus, use, received } = createReporter();
    bus.isUp = false;
    use('a', 1);
    use('b', 2);
    use('a', 3);
    await clock.advance(3_600_000);
    expect(received()).toEqual([]);
    bus.isUp = true;
    await clock.advance(1_000);
    expect(received()).toEqual(['b 2', 'a 3']);
    await clock.advance(20_000);
    expect(received()).toEqual(['b 2', 'a 3', 'b 2', 'a 3']);
    await clock.advance(600_000);
    expect(received()).toEqual([]);
  });

  it('are resent after a disconnection that no check saw', async () => {
    const { clock, bus, use, received } = createReporter();
    await clock.advance(1_100);
    bus.isUp = false;
    bus.disconnections += 1;
    use('a', 1);
    await clock.advance(800);
    bus.isUp = true;
    await clock.advance(1_000);
    expect(received()).toEqual(['a 1']);
    await clock.advance(600_000);
    expect(received()).toEqual(['a 1', 'a 1']);
  });

  it('are resent when they were sent in the minute before the disconnect, older ones are not', async () => {
    const { clock, bus, use, received } = createReporter();
    use('old', 1);
    await clock.advance(59_000);
    use('new', 2);
    await clock.advance(5_000);
    expect(received()).toEqual(['old 1', 'new 2']);
    bus.isUp = false;
    await clock.advance(5_000);
    bus.isUp = true;
    await clock.advance(1_000);
    expect(received()).toEqual(['new 2']);
  });

  it('are resent from the beginning when the bus disconnects again in between', async () => {
    const { clock, bus, use, received } = createReporter();
    bus.isUp = false;
    use('a', 1);
    await clock.advance(1_000);
    bus.isUp = true;
    await clock.advance(2_000);
    bus.isUp = false;
    await clock.advance(2_000);
    received();
    bus.isUp = true;
    await clock.advance(60_000);
    expect(received()).toEqual(['a 1', 'a 1', 'a 1']);
  });

  it('are kept for the ten thousand sandboxes that were used last', async () => {
    const { clock, bus, use, received } = createReporter();
    bus.isUp = false;
    for (let n = 0; n < 10_005; n += 1) use(`s${n}`, n);
    await clock.advance(1_000);
    bus.isUp = true;
    await clock.advance(1_000);
    const all = received();
    expect([all.length, all[0], all.at(-1)]).toEqual([10_000, 's5 5', 's10004 10004']);
  });

  it('are not resent after close', async () => {
    const { clock, bus, use, reporter, received } = createReporter();
    bus.isUp = false;
    use('a', 1);
    await clock.advance(1_000);
    reporter.close();
    bus.isUp = true;
    await clock.advance(60_000);
    expect(received()).toEqual([]);
  });
});

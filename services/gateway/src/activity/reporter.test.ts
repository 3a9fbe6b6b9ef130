import type { ActivityReport } from '@sandlot/bus';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Retelling } from './reporter.ts';

/** A bus that can go away, and what listeners heard of it since they were last asked. */
function telling() {
  const clock = new FakeClock();
  const heard: string[] = [];
  const bus = {
    isThere: true,
    connected: () => bus.isThere,
    reportActivity: ({ uid, atMs }: ActivityReport): void => {
      if (bus.isThere) heard.push(`${uid} ${atMs}`);
    },
  };
  const retelling = new Retelling(bus, clock);
  const use = (uid: string, atMs: number): void => retelling.report({ namespace: 'team-a', name: uid, uid, atMs });
  return { clock, bus, use, retelling, heard: (): string[] => heard.splice(0) };
}

describe('reports of activity', () => {
  it('are said once while the bus is there', async () => {
    const { clock, use, heard } = telling();
    use('a', 1);
    await clock.advance(600_000);
    expect(heard()).toEqual(['a 1']);
  });

  it('that the bus missed are said when it is back, and again for those who come back later', async () => {
    const { clock, bus, use, heard } = telling();
    bus.isThere = false;
    use('a', 1);
    use('b', 2);
    use('a', 3);
    await clock.advance(3_600_000);
    expect(heard()).toEqual([]);
    bus.isThere = true;
    await clock.advance(1_000);
    expect(heard()).toEqual(['b 2', 'a 3']);
    await clock.advance(20_000);
    expect(heard()).toEqual(['b 2', 'a 3', 'b 2', 'a 3']);
    await clock.advance(600_000);
    expect(heard()).toEqual([]);
  });

  it('of the minute before the bus was missed are in doubt, older ones are not', async () => {
    const { clock, bus, use, heard } = telling();
    use('old', 1);
    await clock.advance(59_000);
    use('new', 2);
    await clock.advance(5_000);
    expect(heard()).toEqual(['old 1', 'new 2']);
    bus.isThere = false;
    await clock.advance(5_000);
    bus.isThere = true;
    await clock.advance(1_000);
    expect(heard()).toEqual(['new 2']);
  });

  it('begin anew when the bus goes away again in between', async () => {
    const { clock, bus, use, heard } = telling();
    bus.isThere = false;
    use('a', 1);
    await clock.advance(1_000);
    bus.isThere = true;
    await clock.advance(2_000);
    bus.isThere = false;
    await clock.advance(2_000);
    heard();
    bus.isThere = true;
    await clock.advance(60_000);
    expect(heard()).toEqual(['a 1', 'a 1', 'a 1']);
  });

  it('are kept of ten thousand sandboxes, those used last', async () => {
    const { clock, bus, use, heard } = telling();
    bus.isThere = false;
    for (let n = 0; n < 10_005; n += 1) use(`s${n}`, n);
    await clock.advance(1_000);
    bus.isThere = true;
    await clock.advance(1_000);
    const all = heard();
    expect([all.length, all[0], all.at(-1)]).toEqual([10_000, 's5 5', 's10004 10004']);
  });

  it('are none any more once closed', async () => {
    const { clock, bus, use, retelling, heard } = telling();
    bus.isThere = false;
    use('a', 1);
    await clock.advance(1_000);
    retelling.close();
    bus.isThere = true;
    await clock.advance(60_000);
    expect(heard()).toEqual([]);
  });
});

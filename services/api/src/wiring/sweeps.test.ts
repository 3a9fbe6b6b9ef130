import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { expect, it } from 'vitest';
import { runSweeps } from './sweeps.ts';

it('repeats each sweep at its own interval, even after a failure, until the signal aborts', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const ran: string[] = [];
  const sweep = (name: string, everyMs: number, fails: boolean) => ({
    name,
    everyMs,
    run: async () => {
      ran.push(name);
      if (fails) throw new Error('the API server is down');
    },
  });
  const deps = { clock, random: () => 0.5, log: silentLogger, signal: stop.signal };
  const running = runSweeps(deps, [sweep('often', 60_000, true), sweep('rarely', 180_000, false)]);
  await clock.advance(0);
  expect(ran).toEqual(['often', 'rarely']);
  for (let minutes = 0; minutes < 3; minutes += 1) await clock.advance(60_000);
  expect(ran.filter((name) => name === 'often')).toHaveLength(4);
  expect(ran.filter((name) => name === 'rarely')).toHaveLength(2);
  stop.abort();
  await running;
});

import { startRedis } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger, systemClock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxMetric } from '../../answer/schemas.ts';
import { History } from './history.ts';
import type { HistoryLimits, HistoryOptions, Subject } from './history.ts';

const NOW = 1_767_225_600;
const DAY = 86_400;

let server: Server;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  await redis.ping();
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const subject = (uid: string, namespace = 'team-a'): Subject => ({ namespace, uid });
const sample = (timestampUnix: number): SandboxMetric => ({
  timestamp: new Date(timestampUnix * 1_000).toISOString(),
  timestampUnix,
  cpuCount: 2,
  cpuUsedPct: 99.99,
  memUsed: 137_438_953_472,
  memTotal: 137_438_953_472,
  memCache: 137_438_953_472,
  diskUsed: 137_438_953_472,
  diskTotal: 137_438_953_472,
});

function open(limits?: HistoryLimits): { readonly history: History; readonly clock: FakeClock } {
  const clock = new FakeClock(NOW * 1_000);
  // Its limit of time is that of the system: nothing moves the fake clock while Redis answers.
  const parts: HistoryOptions['clock'] = {
    now: () => clock.now(),
    sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
  };
  return { history: new History({ redis, prefix: 'test', clock: parts, log: silentLogger, limits }), clock };
}

const ALL = { start: NOW - 2 * DAY, end: NOW + 2 * DAY };
const readTimes = async (history: History, uid: string): Promise<readonly number[] | undefined> =>
  (await history.read(subject(uid), ALL))?.map(({ timestampUnix }) => timestampUnix);

describe('the history of a sandbox', () => {
  it('has each point once, whichever replica adds it, in ascending order', async () => {
    const { history } = open();
    const other = open().history;
    await history.add(subject('one'), sample(NOW));
    await other.add(subject('one'), sample(NOW));
    await other.add(subject('one'), sample(NOW + 5));
    await history.add(subject('one'), sample(NOW + 2));
    expect(await history.read(subject('one'), ALL)).toEqual([sample(NOW), sample(NOW + 5)]);
    expect(await other.read(subject('one'), { start: NOW + 1, end: NOW + 5 })).toEqual([sample(NOW + 5)]);
    expect(await other.read(subject('two'), ALL)).toEqual([]);
  });

  it('is bounded: an hour of points every five seconds, and before it points every five minutes', async () => {
    const { history } = open();
    const count = 2 * 720;
    for (let index = 0; index < count; index += 1) await history.add(subject('busy'), sample(NOW + 5 * index));
    const times = (await readTimes(history, 'busy')) ?? [];
    const fine = times.slice(-720);
    expect(fine.map((at) => at - NOW)).toEqual(Array.from({ length: 720 }, (_, index) => 5 * (720 + index)));
    expect(times.slice(0, -720).map((at) => at - NOW)).toEqual(Array.from({ length: 12 }, (_, index) => 300 * index));
    expect(await redis.memory('USAGE', 'test:metrics:fine:busy')).toBeLessThan(81_920);
    expect(await redis.ttl('test:metrics:fine:busy')).toBeLessThanOrEqual(3_600);
    expect(await redis.ttl('test:metrics:coarse:busy')).toBeLessThanOrEqual(DAY);
  });

  it('goes first of those of a team that has too many, and leaves other teams alone', async () => {
    const { history, clock } = open({ perNamespace: 2, inAll: 100 });
    await history.add(subject('foreign', 'team-b'), sample(NOW));
    for (const uid of ['one', 'two', 'three']) {
      await clock.advance(1_000);
      await history.add(subject(uid), sample(NOW));
    }
    expect(await readTimes(history, 'one')).toEqual([]);
    for (const uid of ['two', 'three', 'foreign']) expect(await readTimes(history, uid)).toEqual([NOW]);
    expect((await redis.keys('*one*')).length).toBe(0);
  });

  it('goes first of all when all teams together have too many', async () => {
    const { history, clock } = open({ perNamespace: 100, inAll: 3 });
    for (let index = 0; index < 5; index += 1) {
      await clock.advance(1_000);
      await history.add(subject(`s${index}`, `team-${index}`), sample(NOW));
    }
    const left = await Promise.all([0, 1, 2, 3, 4].map((index) => readTimes(history, `s${index}`)));
    expect(left).toEqual([[], [], [NOW], [NOW], [NOW]]);
  });

  it('is sampled by one replica at a time', async () => {
    const [one, other] = [open().history, open().history];
    expect(await one.takeTurn(subject('one'))).toBe(true);
    expect(await other.takeTurn(subject('one'))).toBe(false);
    expect(await other.takeTurn(subject('two'))).toBe(true);
  });
});

it('without Redis there is no history, every replica has its turn, and nothing waits for the connection', async () => {
  const away = new Redis({ port: 1, lazyConnect: true, maxRetriesPerRequest: null });
  const history = new History({ redis: away, prefix: 'test', clock: systemClock, log: silentLogger });
  expect(await history.takeTurn(subject('one'))).toBe(true);
  await history.add(subject('one'), sample(NOW));
  expect(await history.read(subject('one'), ALL)).toBeUndefined();
  away.disconnect();
});

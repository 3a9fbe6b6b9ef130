import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Server } from '@sandlot/local-cluster';
import { startRedis } from '@sandlot/local-cluster';
import { switchOffPacing } from '@sandlot/pacing';
import type { Logger } from '@sandlot/std';
import { silentLogger, systemClock } from '@sandlot/std';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectDeadlineStore } from './store.ts';
import { DeadlineKeeper } from './index.ts';
import type { Deadline, DeadlineMetrics, DeadlineStore, DeadlineStoreOptions } from './index.ts';
import { formatJobId } from './deadline.ts';

const PATIENCE = { timeout: 30_000, interval: 25 };
const FAR_MS = 3_600_000;

const open: DeadlineStore[] = [];

function openStore(options: Partial<DeadlineStoreOptions> & { url: string }): DeadlineStore {
  const store = connectDeadlineStore({ prefix: 'test', name: 'box', log: silentLogger, ...options });
  open.push(store);
  return store;
}

function dueIn(ms: number, change: Partial<Deadline> = {}): Deadline {
  return { key: 'team-a/box', uid: 'u-1', generation: 1, purpose: 'ttl', dueAtMs: systemClock.now() + ms, ...change };
}

const connected = (store: DeadlineStore): Promise<void> =>
  vi.waitFor(() => expect(store.isConnected()).toBe(true), PATIENCE);

/** Collects the ids of fired jobs. */
function firing(store: DeadlineStore): string[] {
  const fired: string[] = [];
  store.handle({ onDue: (id) => void fired.push(id), onAudit: () => undefined });
  return fired;
}

async function withRedis<T>(server: Server, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.url);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** A logger and the lines above debug. */
function recording(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (_fields: object, message: string) => void lines.push(`${level}: ${message}`);
  const log: Logger = {
    debug: () => undefined,
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return { log, lines };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

describe('connectDeadlineStore', () => {
  let server: Server;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(() => server.stop());

  it('fires with the id and leaves nothing behind', async () => {
    const store = openStore({ url: server.url });
    const fired = firing(store);
    await connected(store);
    expect(await store.add([dueIn(10, { generation: 4, purpose: 'idle' })])).toBe(true);
    await vi.waitFor(() => expect(fired).toEqual(['u-1-4-idle']), PATIENCE);
    await vi.waitFor(
      async () => expect(await withRedis(server, (redis) => redis.keys('test:box:u-*'))).toEqual([]),
      PATIENCE,
    );
  });

  it('stores only key, generation and trace', async () => {
    const store = openStore({ url: server.url });
    await connected(store);
    await store.add([dueIn(FAR_MS, { trace: '{"traceparent":"t"}' })]);
    const data = await withRedis(server, (redis) => redis.hget('test:box:u-1-1-ttl', 'data'));
    expect(JSON.parse(data ?? '')).toEqual({ key: 'team-a/box', generation: 1, trace: '{"traceparent":"t"}' });
  });

  it('fires in the trace of the object’s operation', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traces: unknown[] = [];
    const store = openStore({ url: server.url });
    const onDue = () => void traces.push(trace.getActiveSpan()?.spanContext().traceId);
    store.handle({ onDue, onAudit: () => undefined });
    await connected(store);
    await store.add([dueIn(1, { trace: JSON.stringify({ traceparent: `00-${traceId}-b7ad6b7169203331-01` }) })]);
    await vi.waitFor(() => expect(traces).toEqual([traceId]), PATIENCE);
    context.disable();
    propagation.disable();
  });

  it('has one job per deadline, however often it is added, and moves it', async () => {
    const store = openStore({ url: server.url });
    const fired = firing(store);
    await connected(store);
    const first = dueIn(FAR_MS);
    await store.add([first]);
    await store.add([dueIn(2 * FAR_MS)]);
    expect([...(await store.listJobs())!.keys()]).toEqual(['u-1-1-ttl']);
    await store.move([dueIn(1)]);
    await vi.waitFor(() => expect(fired).toEqual(['u-1-1-ttl']), PATIENCE);
  });

  it('adds a job that it should move and that does not exist', async () => {
    const store = openStore({ url: server.url });
    await connected(store);
    expect(await store.move([dueIn(FAR_MS)])).toBe(true);
    expect([...(await store.listJobs())!.keys()]).toEqual(['u-1-1-ttl']);
  });

  it('lists and removes thousands of jobs', async () => {
    const store = openStore({ url: server.url });
    await connected(store);
    const many = Array.from({ length: 2_500 }, (_, index) => dueIn(FAR_MS, { uid: `u-${index}` }));
    expect(await store.add(many)).toBe(true);
    expect(new Set((await store.listJobs())!.keys())).toEqual(new Set(many.map(formatJobId)));
    await store.remove(many.map(formatJobId));
    expect(await store.listJobs()).toEqual(new Map());
  });

  it('repeats the audit, which is not listed as a deadline', async () => {
    const store = openStore({ url: server.url });
    let audits = 0;
    store.handle({ onDue: () => undefined, onAudit: () => (audits += 1) });
    await connected(store);
    await store.repeatAudit(100);
    expect(await store.listJobs()).toEqual(new Map());
    await vi.waitFor(() => expect(audits).toBeGreaterThanOrEqual(3), PATIENCE);
  });

  it('fires no job while it rests, and the due ones afterwards', async () => {
    const [store, other] = [openStore({ url: server.url }), openStore({ url: server.url })];
    firing(store);
    await connected(store);
    await store.rest();
    await store.add([dueIn(1)]);
    const fired = firing(other);
    await vi.waitFor(() => expect(fired).toEqual(['u-1-1-ttl']), PATIENCE);
  });

  it('never throws while Redis is away, logs that, and reports the new connection', async () => {
    let connects = 0;
    const store = openStore({ url: server.url, random: () => 0.9 });
    store.onConnect(() => (connects += 1));
    const fired = firing(store);
    await connected(store);
    await server.kill();
    await vi.waitFor(() => expect(store.isConnected()).toBe(false), PATIENCE);
    expect(await store.add([dueIn(1)])).toBe(false);
    expect(await store.move([dueIn(1)])).toBe(false);
    await store.remove(['u-1-1-ttl']);
    expect(await store.listJobs()).toBeUndefined();
    await server.restart();
    await vi.waitFor(() => expect(connects).toBe(2), PATIENCE);
    expect(await store.add([dueIn(1)])).toBe(true);
    await vi.waitFor(() => expect(fired).toEqual(['u-1-1-ttl']), PATIENCE);
  });

  it('starts and closes while Redis is away', async () => {
    await server.kill();
    const store = openStore({ url: server.url });
    firing(store);
    expect(await store.add([dueIn(1)])).toBe(false);
    await store.close();
    expect(store.isConnected()).toBe(false);
  });

  it('ignores foreign values under its keys, without a log line', async () => {
    const { log, lines } = recording();
    await withRedis(server, async (redis) => {
      await redis.set('test:box:delayed', 'not a sorted set');
      await redis.set('test:box:wait', 'not a list');
      await redis.set('test:box:meta', 'not a hash');
      await redis.set('test:box:u-1-1-ttl', 'not a job');
    });
    const store = openStore({ url: server.url, log });
    const fired = firing(store);
    await connected(store);
    expect(await store.add([dueIn(1)])).toBe(false);
    expect(await store.listJobs()).toBeUndefined();
    await store.remove(['u-1-1-ttl']);
    await withRedis(server, (redis) => redis.flushall());
    expect(await store.add([dueIn(1)])).toBe(true);
    await store.rest();
    const later = firing(store);
    await vi.waitFor(() => expect([...fired, ...later]).toContain('u-1-1-ttl'), PATIENCE);
    expect(new Set(lines)).toEqual(new Set(['info: connected to Redis']));
    expect(lines.length).toBeLessThanOrEqual(3);
  });
});

describe('connectDeadlineStore with a password', () => {
  it('works with the right one, and logs once that a wrong one is refused', async () => {
    await using server = await startRedis({ password: 'right' });
    const { log, lines } = recording();
    const refused = openStore({ url: server.url, password: 'wrong', log, random: () => 0.9 });
    await vi.waitFor(() => expect(lines.some((line) => line.startsWith('error: Redis refused'))).toBe(true), PATIENCE);
    expect(await refused.add([dueIn(1)])).toBe(false);
    const accepted = openStore({ url: server.url, password: 'right' });
    await connected(accepted);
    expect(await accepted.add([dueIn(FAR_MS)])).toBe(true);
    expect(lines.filter((line) => line.startsWith('error: '))).toHaveLength(1);
    await Promise.all([refused.close(), accepted.close()]);
  });
});

const noMetrics: DeadlineMetrics = {
  setConnected: () => undefined,
  watchPending: () => undefined,
  countFired: () => undefined,
  observeLateness: () => undefined,
  countAudit: () => undefined,
};

/** How many scripts Redis has run; BullMQ adds and removes each job with one. */
async function countScripts(server: Server): Promise<number> {
  const text = await withRedis(server, (redis) => redis.info('commandstats'));
  const counts = [...text.matchAll(/cmdstat_(?:evalsha|del|unlink|zrem):calls=(\d+)/g)];
  return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
}

describe('deadlines of 100 objects that come and go within 200 ms', () => {
  let server: Server;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(() => server.stop());

  it.each([
    ['cost Redis nothing', '', 0, 30],
    ['cost Redis a script each without pacing.redisErrands', 'redisErrands', 100, 1_000],
  ])('%s', async (...[, off, least, most]) => {
    using _off = switchOffPacing(off);
    const store = openStore({ url: server.url });
    await connected(store);
    const live = new Map<string, Deadline>();
    const keeper = new DeadlineKeeper({
      source: {
        listDeadlines: (key) => [...live.values()].filter((one) => one.key === key),
        listKeys: () => live.keys(),
      },
      ...{ store, queue: () => undefined, isLeader: () => true, auditEveryMs: 3_600_000 },
      ...{ clock: systemClock, log: silentLogger, metrics: noMetrics },
    });
    await keeper.pass('none', () => keeper.audit());
    // The repeated audit fires once when it is new, and would store the jobs.
    await systemClock.sleep(1_000);
    const before = await countScripts(server);
    for (let n = 0; n < 100; n += 1) {
      const key = `team-a/box-${n}`;
      live.set(key, dueIn(FAR_MS, { key, uid: `u-${n}` }));
      keeper.update(key);
    }
    await systemClock.sleep(200);
    for (const key of [...live.keys()]) {
      live.delete(key);
      keeper.update(key);
    }
    await systemClock.sleep(1_000);
    const scripts = (await countScripts(server)) - before;
    await keeper.close();
    expect(scripts).toBeGreaterThanOrEqual(least);
    expect(scripts).toBeLessThanOrEqual(most);
  });
});

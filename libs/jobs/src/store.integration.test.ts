import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Server } from '@sandlot/local-cluster';
import { startRedis } from '@sandlot/local-cluster';
import type { Logger } from '@sandlot/std';
import { silentLogger, systemClock } from '@sandlot/std';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectDeadlines } from './index.ts';
import type { Deadline, Deadlines, DeadlinesOptions } from './index.ts';

const PATIENCE = { timeout: 30_000, interval: 25 };
const FAR_MS = 3_600_000;

const open: Deadlines[] = [];

function openDeadlines(options: Partial<DeadlinesOptions> & { url: string }): Deadlines {
  const deadlines = connectDeadlines({ prefix: 'test', log: silentLogger, ...options });
  open.push(deadlines);
  return deadlines;
}

function dueIn(ms: number, change: Partial<Deadline> = {}): Deadline {
  return { key: 'team-a/box', uid: 'u-1', generation: 1, purpose: 'ttl', dueAtMs: systemClock.now() + ms, ...change };
}

const connected = (deadlines: Deadlines): Promise<void> =>
  vi.waitFor(() => expect(deadlines.connected()).toBe(true), PATIENCE);

/** Payloads of all jobs, in whatever state. */
async function jobsIn(server: Server): Promise<Record<string, unknown>[]> {
  const redis = new Redis(server.url);
  try {
    const keys = await redis.keys('test:deadlines:u-*');
    return await Promise.all(
      keys.map(async (key) => JSON.parse((await redis.hget(key, 'data')) ?? '{}') as Record<string, unknown>),
    );
  } finally {
    redis.disconnect();
  }
}

async function flushAll(server: Server): Promise<void> {
  const redis = new Redis(server.url);
  await redis.flushall();
  redis.disconnect();
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

describe('connectDeadlines', () => {
  let server: Server;

  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(() => server.stop());

  it('fires with key, purpose and generation, and keeps nothing afterwards', async () => {
    const deadlines = openDeadlines({ url: server.url });
    const fired: unknown[] = [];
    deadlines.onDue((...due) => void fired.push(due));
    await connected(deadlines);
    await deadlines.schedule(dueIn(10, { generation: 4, purpose: 'idle' }));
    await vi.waitFor(() => expect(fired).toEqual([['team-a/box', 'idle', 4]]), PATIENCE);
    await vi.waitFor(async () => expect(await jobsIn(server)).toEqual([]), PATIENCE);
  });

  it('stores no more than key, generation and trace', async () => {
    const deadlines = openDeadlines({ url: server.url });
    await connected(deadlines);
    expect(await deadlines.schedule(dueIn(FAR_MS))).toBe(true);
    expect(await jobsIn(server)).toEqual([{ key: 'team-a/box', generation: 1, trace: {} }]);
  });

  it('runs the handler in the trace of whoever set the deadline', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    const operation = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
    const deadlines = openDeadlines({ url: server.url });
    const traces: unknown[] = [];
    deadlines.onDue(() => void traces.push(trace.getActiveSpan()?.spanContext().traceId));
    await connected(deadlines);
    await context.with(trace.setSpanContext(context.active(), operation), () => deadlines.schedule(dueIn(1)));
    await vi.waitFor(() => expect(traces).toEqual([operation.traceId]), PATIENCE);
    context.disable();
    propagation.disable();
  });

  it('is one job however often it is set, and moves to the latest time', async () => {
    const deadlines = openDeadlines({ url: server.url });
    const fired: string[] = [];
    deadlines.onDue((key) => void fired.push(key));
    await connected(deadlines);
    await deadlines.schedule(dueIn(FAR_MS));
    await deadlines.schedule(dueIn(FAR_MS));
    expect(await jobsIn(server)).toHaveLength(1);
    await deadlines.schedule(dueIn(1));
    await vi.waitFor(() => expect(fired).toEqual(['team-a/box']), PATIENCE);
  });

  it('can be set again while its handler runs: the deadline is not lost with the job that ends', async () => {
    const deadlines = openDeadlines({ url: server.url });
    let runs = 0;
    deadlines.onDue(async () => {
      runs += 1;
      if (runs === 1) expect(await deadlines.schedule(dueIn(1))).toBe(true);
    });
    await connected(deadlines);
    await deadlines.schedule(dueIn(1));
    await vi.waitFor(() => expect(runs).toBe(2), PATIENCE);
  });

  it('does not fire what was cancelled', async () => {
    const deadlines = openDeadlines({ url: server.url });
    const fired: string[] = [];
    await connected(deadlines);
    const cancelled = dueIn(200, { key: 'team-a/cancelled' });
    await deadlines.schedule(cancelled);
    await deadlines.cancel(cancelled);
    await deadlines.schedule(dueIn(300, { uid: 'u-2' }));
    deadlines.onDue((key) => void fired.push(key));
    await vi.waitFor(() => expect(fired).toEqual(['team-a/box']), PATIENCE);
  });

  it('calls a handler that throws again', async () => {
    const deadlines = openDeadlines({ url: server.url });
    let runs = 0;
    deadlines.onDue(() => {
      runs += 1;
      if (runs === 1) throw new Error('object not in the store yet');
    });
    await connected(deadlines);
    await deadlines.schedule(dueIn(1));
    await vi.waitFor(() => expect(runs).toBe(2), PATIENCE);
  });

  it('fires after everything in Redis is flushed, once the owner sets its deadlines again', async () => {
    const deadlines = openDeadlines({ url: server.url });
    const fired: string[] = [];
    deadlines.onDue((key) => void fired.push(key));
    await connected(deadlines);
    await deadlines.schedule(dueIn(FAR_MS));
    await flushAll(server);
    expect(await deadlines.schedule(dueIn(1))).toBe(true);
    await vi.waitFor(() => expect(fired).toEqual(['team-a/box']), PATIENCE);
  });

  it('never throws while Redis is away, says so, and asks for all deadlines when it is back', async () => {
    let connects = 0;
    const deadlines = openDeadlines({ url: server.url, onConnect: () => (connects += 1), random: () => 0.9 });
    const fired: string[] = [];
    deadlines.onDue((key) => void fired.push(key));
    await connected(deadlines);
    await server.kill();
    await vi.waitFor(() => expect(deadlines.connected()).toBe(false), PATIENCE);
    expect(await deadlines.schedule(dueIn(1))).toBe(false);
    await deadlines.cancel(dueIn(1));
    expect(connects).toBe(1);
    await server.restart();
    await vi.waitFor(() => expect(connects).toBe(2), PATIENCE);
    expect(await deadlines.schedule(dueIn(1))).toBe(true);
    await vi.waitFor(() => expect(fired).toEqual(['team-a/box']), PATIENCE);
  });

  it('starts and closes while Redis is away', async () => {
    await server.kill();
    const deadlines = openDeadlines({ url: server.url });
    deadlines.onDue(() => undefined);
    expect(await deadlines.schedule(dueIn(1))).toBe(false);
    await deadlines.close();
    expect(deadlines.connected()).toBe(false);
  });

  it('has one handler', () => {
    const deadlines = openDeadlines({ url: server.url });
    deadlines.onDue(() => undefined);
    expect(() => deadlines.onDue(() => undefined)).toThrow('onDue was called twice');
  });
});

describe('connectDeadlines with a password', () => {
  it('works with the right one, and says once that the wrong one is refused', async () => {
    await using server = await startRedis({ password: 'right' });
    const lines: string[] = [];
    const at = (level: string) => (_fields: object, message: string) => void lines.push(`${level}: ${message}`);
    const log: Logger = {
      debug: () => undefined,
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: () => log,
    };
    const refused = openDeadlines({ url: server.url, password: 'wrong', log, random: () => 0.9 });
    await vi.waitFor(() => expect(lines.some((line) => line.startsWith('error: Redis refused'))).toBe(true), PATIENCE);
    expect(await refused.schedule(dueIn(1))).toBe(false);
    const accepted = openDeadlines({ url: server.url, password: 'right' });
    await connected(accepted);
    expect(await accepted.schedule(dueIn(FAR_MS))).toBe(true);
    expect(lines.filter((line) => line.startsWith('error: '))).toHaveLength(1);
    await Promise.all([refused.close(), accepted.close()]);
  });
});

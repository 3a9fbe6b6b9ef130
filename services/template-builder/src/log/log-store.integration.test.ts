import { startRedis } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { systemClock } from '@sandlot/std';
import type { LogEntry, LogLevel, LogQuery } from '@sandlot/template-build';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoredLog } from './build-log.ts';
import { LogStore } from './log-store.ts';

let server: Server;
let redis: Redis;
let store: LogStore;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  store = new LogStore(redis, 'test');
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const WHOLE: LogQuery = { offset: 0, limit: 100_000, level: 'debug' };
const timestamp = '2030-01-01T00:00:00.000Z';
const entry = (message: string, level: LogLevel = 'info'): LogEntry => ({ timestamp, level, message });

async function readMessages(build: string, query: Partial<LogQuery> = {}): Promise<readonly string[]> {
  return (await store.read(build, { ...WHOLE, ...query })).map(({ message }) => message);
}

describe('the log of a build', () => {
  it('is read page by page until one is empty', async () => {
    await store.append(
      'pages',
      ['a', 'b', 'c'].map((each) => entry(each)),
    );
    expect(await store.append('pages', [{ ...entry('d'), step: '2' }])).toBe(4);
    expect(await readMessages('pages', { limit: 3 })).toEqual(['a', 'b', 'c']);
    expect(await store.read('pages', { ...WHOLE, offset: 3, limit: 3 })).toEqual([{ ...entry('d'), step: '2' }]);
    expect(await readMessages('pages', { offset: 4 })).toEqual([]);
    expect(await readMessages('pages', { offset: 400 })).toEqual([]);
    expect(await readMessages('pages', { limit: 0 })).toEqual([]);
    expect(await readMessages('unknown')).toEqual([]);
  });

  it('has offsets that count after the level', async () => {
    const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'debug', 'warn'];
    await store.append(
      'levels',
      levels.map((level, index) => entry(`${level}-${index}`, level)),
    );
    expect(await readMessages('levels', { level: 'warn' })).toEqual(['warn-2', 'error-3', 'warn-5']);
    expect(await readMessages('levels', { level: 'warn', offset: 1, limit: 1 })).toEqual(['error-3']);
    expect(await readMessages('levels', { level: 'warn', offset: 3 })).toEqual([]);
    expect(await readMessages('levels', { level: 'error' })).toEqual(['error-3']);
  });

  it('ends in Redis after seven days', async () => {
    await store.append('days', [entry('a')]);
    expect(await redis.ttl('test:build-log:days')).toBeGreaterThan(6 * 86_400);
  });
});

describe('the logs of a namespace', () => {
  it('are those of its 30 newest builds', async () => {
    const builds = Array.from({ length: 32 }, (_, index) => `a-${index}`);
    await store.begin('team-b', 'b-0', 0);
    await store.append('b-0', [entry('of b')]);
    for (const [index, build] of builds.entries()) {
      await store.begin('team-a', build, 1_000 + index);
      await store.append(build, [entry(build)]);
    }
    const kept = await Promise.all(builds.map(async (build) => (await readMessages(build)).length));
    expect(kept).toEqual([0, 0, ...builds.slice(2).map(() => 1)]);
    expect(await readMessages('b-0')).toEqual(['of b']);
  });

  it('stay when a build begins again', async () => {
    await store.append('again', [entry('first attempt')]);
    for (let attempt = 0; attempt < 40; attempt += 1) await store.begin('team-c', 'again', attempt);
    expect(await readMessages('again')).toEqual(['first attempt']);
  });
});

function openLog(uid: string): StoredLog {
  const metadata = { namespace: 'team-d', name: uid, uid };
  return new StoredLog(store, { metadata, spec: { templates: [{ name: 'app' }] } }, systemClock);
}

describe('what a build writes', () => {
  it('keeps its order, across writes', async () => {
    const log = openLog('order');
    const lines = Array.from({ length: 1_200 }, (_, index) => `line ${index}`);
    for (const line of lines) log.addOutput('info', line, '1');
    await log.add('info', 'the end');
    expect(await readMessages('order')).toEqual([...lines, 'the end']);
  });

  it('has at most 1 MiB of output, says so once, and takes later entries of ours', async () => {
    const log = openLog('bounded');
    for (let count = 0; count < 300; count += 1) log.addOutput('info', 'x'.repeat(8_192), '1');
    await log.add('info', 'CACHED', '2');
    log.addOutput('info', 'more', '2');
    await log.add('error', 'Build failed');
    const written = await readMessages('bounded');
    const output = written.filter((message) => message.startsWith('x'));
    expect(output.length).toBe(Math.ceil(1_048_576 / (8_192 + 100)));
    expect(written.slice(output.length)).toEqual([
      'The log has no more output of this build: at most 1 MiB of it is kept',
      'CACHED',
      'Build failed',
    ]);
  });

  it('rejects what Redis did not take, and goes on afterwards', async () => {
    await redis.set('test:build-log:broken', 'no list');
    const log = openLog('broken');
    await expect(log.add('info', 'lost')).rejects.toThrow('WRONGTYPE');
    await redis.del('test:build-log:broken');
    await log.add('info', 'kept');
    expect(await readMessages('broken')).toEqual(['kept']);
  });
});

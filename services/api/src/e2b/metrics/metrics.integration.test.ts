import { startRedis } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startGatewayStandIn } from '../../../test/gateway-stand-in.ts';
import type { GatewayStandIn } from '../../../test/gateway-stand-in.ts';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

const SAMPLE = {
  timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/) as string,
  timestampUnix: expect.any(Number) as number,
  cpuCount: 2,
  cpuUsedPct: 12.5,
  memUsed: 512,
  memTotal: 1_024,
  memCache: 64,
  diskUsed: 10,
  diskTotal: 100,
};

let stack: Stack;
let gateway: GatewayStandIn;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  gateway = await startGatewayStandIn();
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
  api = await stack.api({ GATEWAY_URL: gateway.url });
});
beforeEach(() => {
  gateway.asked.length = 0;
  gateway.open.most = 0;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function create(asked = key): Promise<string> {
  const { body } = await api.call('POST /v2/sandboxes', { key: asked, body: { templateID: 'base' } });
  return (body as { sandboxID: string }).sandboxID;
}

const readMany = (ids: readonly string[]): Promise<Reply> =>
  api.call(`GET /sandboxes/metrics?sandbox_ids=${ids.join(',')}`, { key });

describe('the metrics of several sandboxes', () => {
  it('are those of the team that run and answer; all other ids are left out', async () => {
    const [running, paused, closed, foreign] = [
      await create(),
      await create(),
      await create(),
      await create(foreignKey),
    ];
    gateway.daemons.set(closed, 'closed');
    expect((await api.call(`POST /sandboxes/${paused}/pause`, { key, body: { memory: false } })).status).toBe(204);
    gateway.asked.length = 0;
    const reply = await readMany([running, paused, closed, foreign, 'nonesuch', '../team-b']);
    expect(reply).toMatchObject({ status: 200, body: { sandboxes: { [running]: SAMPLE } } });
    expect(Object.keys((reply.body as { sandboxes: object }).sandboxes)).toEqual([running]);
    expect(gateway.asked.toSorted()).toEqual([running, closed].toSorted());
  });

  it('are what was last seen: a daemon is not asked again at once, also after a question about it alone', async () => {
    const id = await create();
    expect((await api.call(`GET /sandboxes/${id}/metrics`, { key })).body).toEqual([SAMPLE]);
    gateway.daemons.set(id, 'silent');
    expect((await readMany([id])).body).toEqual({ sandboxes: { [id]: SAMPLE } });
    expect(gateway.asked).toEqual([id]);
  });

  it('do not wait for daemons that hang, of which a few at a time are asked', async () => {
    const hanging = await Promise.all(Array.from({ length: 8 }, () => create()));
    for (const id of hanging) gateway.daemons.set(id, 'silent');
    expect((await readMany(hanging)).body).toEqual({ sandboxes: {} });
    expect(gateway.open.most).toBe(4);
  });

  it.each([
    ['', 'sandbox_ids'],
    ['?sandbox_ids=', 'expected 1 to 100 ids'],
    [
      `?sandbox_ids=${Array.from({ length: 101 }, (_, index) => `s${index}`).join(',')}`,
      'Too many sandboxes requested, maximum is 100',
    ],
  ])('need 1 to 100 ids', async (query, message) => {
    const reply = await api.call(`GET /sandboxes/metrics${query}`, { key });
    expect(reply.status).toBe(400);
    expect((reply.body as { message: string }).message).toContain(message);
  });
});

describe('the metrics of one sandbox', () => {
  let redis: Server;
  let replicas: ApiUnderTest[];
  beforeAll(async () => {
    redis = await startRedis();
    const env = { GATEWAY_URL: gateway.url, REDIS_URL: redis.url };
    replicas = [await stack.api(env), await stack.api(env)];
  });
  afterAll(async () => {
    for (const replica of replicas) await replica[Symbol.asyncDispose]();
    await redis.stop();
  });

  const readOne = async (id: string, { replica = 0, query = '', by = key } = {}): Promise<Reply> =>
    (replicas[replica] ?? api).call(`GET /sandboxes/${id}/metrics${query}`, { key: by });
  const readTimes = async (id: string, replica: number, query = ''): Promise<readonly number[]> =>
    ((await readOne(id, { replica, query })).body as { timestampUnix: number }[]).map((each) => each.timestampUnix);

  it('have a history, which all replicas share and which grows while a client asks', async () => {
    const id = await create();
    const [first = 0] = await readTimes(id, 0);
    await vi.waitFor(async () => expect((await readTimes(id, 1)).length).toBeGreaterThan(2), {
      timeout: 30_000,
      interval: 500,
    });
    const times = await readTimes(id, 1);
    expect(times[0]).toBe(first);
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
    expect((await readTimes(id, 0)).slice(0, times.length - 1)).toEqual(times.slice(0, -1));
    expect(await readTimes(id, 1, `?start=${first}&end=${first}`)).toEqual([first]);
    expect(await readTimes(id, 1, `?start=${times[1] ?? 0}`)).not.toContain(first);
    expect(await readTimes(id, 1, `?end=${first - 1}`)).toEqual([]);
    // Two replicas that are asked all the time do not ask the daemon more often than one.
    const lastedSeconds = (times.at(-1) ?? 0) - first;
    expect(gateway.asked.filter((each) => each === id).length).toBeLessThanOrEqual(lastedSeconds / 4 + 2);
  });

  it('outlive a pause, in which there are no new ones', async () => {
    const id = await create();
    const before = await readTimes(id, 0);
    expect(before).toHaveLength(1);
    expect((await api.call(`POST /sandboxes/${id}/pause`, { key, body: { memory: false } })).status).toBe(204);
    gateway.asked.length = 0;
    expect(await readTimes(id, 1)).toEqual(before);
    expect(gateway.asked).toEqual([]);
  });

  it('are no business of another team', async () => {
    const id = await create();
    await readTimes(id, 0);
    expect((await readOne(id, { by: foreignKey })).status).toBe(404);
  });

  it('are refused for a range that ends before it begins, and that begins in the future', async () => {
    const id = await create();
    for (const query of ['?start=2&end=1', '?start=99999999999', '?start=x', '?end=-1']) {
      expect((await readOne(id, { query })).status).toBe(400);
    }
  });

  it('are the newest one alone while Redis is away', async () => {
    const id = await create();
    await readTimes(id, 0);
    await redis.stop();
    expect(await readTimes(id, 0)).toHaveLength(1);
    expect(await readTimes(await create(), 1)).toHaveLength(1);
  });
});

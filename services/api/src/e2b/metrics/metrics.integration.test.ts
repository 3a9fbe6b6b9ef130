import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGatewayStandIn } from '../../../test/gateway-stand-in.ts';
import type { GatewayStandIn } from '../../../test/gateway-stand-in.ts';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

const SAMPLE = {
  timestamp: '2026-01-01T00:00:00.000Z',
  timestampUnix: 1_767_225_600,
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

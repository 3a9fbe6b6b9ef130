import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startApiProcess } from '../../test/api-process.ts';
import type { ApiProcess } from '../../test/api-process.ts';
import { Stack } from '../../test/stack.ts';

const PATIENCE = { timeout: 30_000, interval: 50 };
/** One in a thousand seconds: nothing fills up while the test runs. */
const SLOWLY = 0.001;

let stack: Stack;
let replicas: readonly ApiProcess[];
beforeAll(async () => {
  stack = await Stack.start();
  replicas = await Promise.all([startApiProcess(stack, { POD_NAME: 'a' }), startApiProcess(stack, { POD_NAME: 'b' })]);
});
afterAll(async () => {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function create({ url }: ApiProcess, key: string): Promise<Response> {
  const headers = { 'X-API-KEY': key };
  return fetch(`${url}/v2/sandboxes`, { method: 'POST', headers, body: JSON.stringify({ templateID: 'base' }) });
}

/** How many creates it was told of, its own among them. */
async function heard({ process }: ApiProcess): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${process.metricsPort}/metrics`)).text();
  return Number(/^sandlot_bus_hints_total\{[^}]*type="spending"[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0);
}

async function usableKey(createsPerSecond: number): Promise<string> {
  const key = await stack.key({ namespace: 'team-a', limits: { createsPerSecond, sandboxes: 0 } });
  for (const { url } of replicas) {
    const known = () => fetch(`${url}/sandboxes`, { headers: { 'X-API-KEY': key } });
    await vi.waitFor(async () => expect((await known()).status).toBe(200), PATIENCE);
  }
  return key;
}

it('counts the creates of a key over replicas, and says in its headers what is left of all of them', async () => {
  const [first, second] = replicas as [ApiProcess, ApiProcess];
  const key = await usableKey(5);
  const sent = await create(first, key);
  expect([sent.status, sent.headers.get('ratelimit-limit'), sent.headers.get('ratelimit-remaining')]).toEqual([
    201,
    '5',
    '4',
  ]);
  const slow = await usableKey(SLOWLY);
  expect((await create(first, slow)).status).toBe(201);
  await vi.waitFor(async () => expect(await heard(second)).toBe(2), PATIENCE);
  const refused = await create(second, slow);
  expect([refused.status, refused.headers.get('ratelimit-remaining')]).toEqual([429, '0']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(500);
});

it('counts for each replica alone while NATS is away, and refuses nothing for that', async () => {
  const key = await usableKey(SLOWLY);
  await stack.nats.kill();
  for (const replica of replicas) expect((await create(replica, key)).status).toBe(201);
  for (const replica of replicas) expect((await create(replica, key)).status).toBe(429);
  await stack.nats.restart();
});

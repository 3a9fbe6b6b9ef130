import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startApiProcess } from '../../test/api-process.ts';
import type { ApiProcess } from '../../test/api-process.ts';
import { Stack } from '../../test/stack.ts';

const PATIENCE = { timeout: 30_000, interval: 50 };
/** One create in 1,000 s: the bucket does not refill while the test runs. */
const SLOW_RATE = 0.001;

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

/** How many creates the replica received on the bus, its own included. */
async function countReports({ process }: ApiProcess): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${process.metricsPort}/metrics`)).text();
  return Number(/^sandlot_bus_hints_total\{[^}]*type="spending"[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0);
}

async function createUsableKey(createsPerSecond: number): Promise<string> {
  const key = await stack.key({ namespace: 'team-a', limits: { createsPerSecond, sandboxes: 0 } });
  for (const { url } of replicas) {
    const call = () => fetch(`${url}/sandboxes`, { headers: { 'X-API-KEY': key } });
    await vi.waitFor(async () => expect((await call()).status).toBe(200), PATIENCE);
  }
  return key;
}

it('counts the creates of a key over all replicas, also in the RateLimit headers', async () => {
  const [first, second] = replicas as [ApiProcess, ApiProcess];
  const key = await createUsableKey(5);
  const sent = await create(first, key);
  expect([sent.status, sent.headers.get('ratelimit-limit'), sent.headers.get('ratelimit-remaining')]).toEqual([
    201,
    '5',
    '4',
  ]);
  const slow = await createUsableKey(SLOW_RATE);
  expect((await create(first, slow)).status).toBe(201);
  await vi.waitFor(async () => expect(await countReports(second)).toBe(2), PATIENCE);
  const limited = await create(second, slow);
  expect([limited.status, limited.headers.get('ratelimit-remaining')]).toEqual([429, '0']);
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(500);
});

it('counts per replica while NATS is down', async () => {
  const key = await createUsableKey(SLOW_RATE);
  await stack.nats.kill();
  for (const replica of replicas) expect((await create(replica, key)).status).toBe(201);
  for (const replica of replicas) expect((await create(replica, key)).status).toBe(429);
  await stack.nats.restart();
});

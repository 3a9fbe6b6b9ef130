import { connect } from 'node:net';
import { once } from 'node:events';
import { hostileRequests, sendHostile } from '@sandlot/service-testkit';
import type { Target } from '@sandlot/service-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import { startApiProcess } from '../../test/api-process.ts';
import type { ApiProcess } from '../../test/api-process.ts';

const MEBIBYTE = 1_048_576;
/** Above the memory at rest. A leak of 100 MB would exceed it. */
const MEMORY_LIMIT = 96 * MEBIBYTE;

let stack: Stack;
let api: ApiProcess;
let key: string;
let restBytes: number;
beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0 } });
  api = await startApiProcess(stack);
  // Warm up first: compiled code and caches are not part of what requests leak.
  for (let calls = 0; calls < 200; calls += 1) await list();
  restBytes = await api.memory();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function list(): Promise<Response> {
  const response = await fetch(`${api.url}/v2/sandboxes`, { headers: { 'X-API-KEY': key } });
  await response.arrayBuffer();
  return response;
}

function target(): Target {
  return {
    port: api.port,
    host: `127.0.0.1:${api.port}`,
    headers: [`X-API-KEY: ${key}`],
    post: '/v2/sandboxes',
    item: (id) => `/sandboxes/${id}`,
  };
}

describe('a hostile request', () => {
  it.each(hostileRequests.map((request) => [request.name, request] as const))(
    'with %s gets an answer below 500, and the API keeps serving',
    async (...[, request]) => {
      const { status, text } = await sendHostile(target(), request);
      expect(status ?? 400, text.slice(0, 500)).toBeLessThan(500);
      // Errors of the HTTP parser have the same JSON body as all others.
      if (status !== undefined && status >= 400) expect(text).toContain(`{"code":${status},"message":"`);
      expect((await list()).status).toBe(200);
    },
  );

  it('leaks no memory', async () => {
    expect((await api.memory()) - restBytes).toBeLessThan(MEMORY_LIMIT);
  });
});

describe('clients that stop in the middle of the headers', () => {
  it('are disconnected after a while, and others are served meanwhile', async () => {
    const slow = Array.from({ length: 300 }, () => connect(api.port, '127.0.0.1'));
    const ended = slow.map((socket) => once(socket.on('error', () => undefined).resume(), 'close'));
    for (const socket of slow) socket.write(`POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${key}\r\nX-Half: `);
    for (let calls = 0; calls < 20; calls += 1) expect((await list()).status).toBe(200);
    await Promise.all(ended);
    expect((await list()).status).toBe(200);
  });
});

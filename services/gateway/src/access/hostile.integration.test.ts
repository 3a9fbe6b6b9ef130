import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostileRequests, sendHostile } from '@sandlot/service-testkit';
import type { Target } from '@sandlot/service-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../test/client.ts';
import { GatewayHarness } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const MEBIBYTE = 1_048_576;
/** How much the process may grow over its size at rest: a leak of a hundred megabytes fails the test. */
const MEMORY_LIMIT = 96 * MEBIBYTE;

let harness: GatewayHarness;
let sandbox: TestSandbox;
const server = createServer({ requestTimeout: 0 }, answerAnything);
const PORT = 8080;
let restBytes: number;
beforeAll(async () => {
  harness = await GatewayHarness.start();
  sandbox = await harness.createSandbox();
  await once(server.listen(PORT, sandbox.address), 'listening');
  for (let calls = 0; calls < 200; calls += 1) await expectAlive();
  restBytes = await memoryBytes();
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

/** A server in a sandbox that answers at once and reads whatever comes. */
function answerAnything(request: IncomingMessage, response: ServerResponse): void {
  request.on('error', () => undefined).resume();
  response.end('ok');
}

async function expectAlive(): Promise<void> {
  const headers = { Host: harness.buildHost(sandbox, PORT) };
  expect(await ask(harness.port, { headers })).toMatchObject({ status: 200 });
}

async function memoryBytes(): Promise<number> {
  const status = await readFile(`/proc/${harness.process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

type Destination = readonly [name: string, target: () => Target];
const paths = { post: '/v2/sandboxes', item: (id: string) => `/sandboxes/${id}` };

/** Every way into the gateway: a sandbox by host and by headers, an unknown id, agent-sandbox headers, and the API. */
const DESTINATIONS: readonly Destination[] = [
  ['a host', () => ({ ...paths, port: harness.port, headers: [], host: harness.buildHost(sandbox, PORT) })],
  ['E2B headers', () => parseHeaders('E2b-Sandbox-Id', sandbox.id, `E2b-Sandbox-Port: ${PORT}`)],
  ['an unknown id', () => parseHeaders('E2b-Sandbox-Id', 'nobody', 'E2b-Sandbox-Port: 49983')],
  ['agent-sandbox headers', () => parseHeaders('X-Sandbox-ID', sandbox.name, 'X-Sandbox-Namespace: team-a')],
  ['no sandbox', () => ({ ...paths, port: harness.port, headers: [], host: 'api.sandbox.test' })],
];

function parseHeaders(name: string, value: string, ...more: readonly string[]): Target {
  return { ...paths, port: harness.port, host: 'localhost', headers: [`${name}: ${value}`, ...more] };
}

/** What a 502 says: there is no sandbox, or nothing listens. */
const EXPECTED_502 = /was not found|port is not open|unreachable/;

describe.each(DESTINATIONS)('to %s', (_name, target) => {
  it.each(hostileRequests.map((request) => [request.name, request] as const))(
    'a request with %s is refused or forwarded, and the gateway keeps serving',
    async (...[, request]) => {
      const { status = 400, text } = await sendHostile(target(), request, 200);
      if (status === 502) expect(text).toMatch(EXPECTED_502);
      else expect(status, text.slice(0, 500)).toBeLessThan(500);
      await expectAlive();
    },
  );
});

describe('after all hostile requests', () => {
  it('the gateway holds no request and no extra memory', async () => {
    expect((await memoryBytes()) - restBytes).toBeLessThan(MEMORY_LIMIT);
    expect(await harness.metrics()).toMatch(/^sandlot_gateway_held_requests 0$/m);
  });
});

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
/** Beyond what it has at rest; a hundred megabytes kept would show. */
const MEMORY_LIMIT = 96 * MEBIBYTE;

let harness: GatewayHarness;
let sandbox: TestSandbox;
const tenant = createServer({ requestTimeout: 0 }, patient);
const PORT = 8080;
let restBytes: number;
beforeAll(async () => {
  harness = await GatewayHarness.start();
  sandbox = await harness.createSandbox();
  await once(tenant.listen(PORT, sandbox.address), 'listening');
  for (let calls = 0; calls < 200; calls += 1) await alive();
  restBytes = await memory();
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  tenant.closeAllConnections();
  tenant.close();
});

/** A server in a sandbox that answers at once and reads on, whatever comes. */
function patient(request: IncomingMessage, response: ServerResponse): void {
  request.on('error', () => undefined).resume();
  response.end('ok');
}

async function alive(): Promise<void> {
  const headers = { Host: harness.hostOf(sandbox, PORT) };
  expect(await ask(harness.port, { headers })).toMatchObject({ status: 200 });
}

async function memory(): Promise<number> {
  const status = await readFile(`/proc/${harness.process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

type ListenerPolicy = readonly [name: string, target: () => Target];
const paths = { post: '/v2/sandboxes', item: (id: string) => `/sandboxes/${id}` };

/** Every way in: a sandbox by its host and by headers, one that nobody has, agent-sandbox headers, and the control plane. */
const DOORS: readonly ListenerPolicy[] = [
  ['a host', () => ({ ...paths, port: harness.port, headers: [], host: harness.hostOf(sandbox, PORT) })],
  ['E2B headers', () => byHeaders('E2b-Sandbox-Id', sandbox.id, `E2b-Sandbox-Port: ${PORT}`)],
  ['the id of nobody', () => byHeaders('E2b-Sandbox-Id', 'nobody', 'E2b-Sandbox-Port: 49983')],
  ['agent-sandbox headers', () => byHeaders('X-Sandbox-ID', sandbox.name, 'X-Sandbox-Namespace: team-a')],
  ['no sandbox', () => ({ ...paths, port: harness.port, headers: [], host: 'api.sandbox.test' })],
];

function byHeaders(name: string, value: string, ...more: readonly string[]): Target {
  return { ...paths, port: harness.port, host: 'localhost', headers: [`${name}: ${value}`, ...more] };
}

/** What a door says of sandboxes that are not there. */
const EXPECTED_502 = /was not found|port is not open|unreachable/;

describe.each(DOORS)('by %s', (_name, target) => {
  it.each(hostileRequests.map((request) => [request.name, request] as const))(
    'a request with %s is refused or passed on, and harms nobody',
    async (...[, request]) => {
      const { status = 400, text } = await sendHostile(target(), request, 200);
      if (status === 502) expect(text).toMatch(EXPECTED_502);
      else expect(status, text.slice(0, 500)).toBeLessThan(500);
      await alive();
    },
  );
});

describe('after all of them', () => {
  it('nothing is left behind in memory, and no hostile id or host reached a sandbox of others', async () => {
    expect((await memory()) - restBytes).toBeLessThan(MEMORY_LIMIT);
    expect(await harness.metrics()).toMatch(/^sandlot_gateway_held_requests 0$/m);
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGatewayStandIn } from '../../../test/gateway-stand-in.ts';
import type { GatewayStandIn } from '../../../test/gateway-stand-in.ts';
import { startKubeletStandIn } from '../../../test/kubelet-stand-in.ts';
import type { KubeletStandIn } from '../../../test/kubelet-stand-in.ts';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest } from '../../../test/stack.ts';
import { startCli } from '../../../test/stock-cli.ts';

const PATIENCE = { timeout: 60_000, interval: 50 };

let stack: Stack;
let kubelet: KubeletStandIn;
let gateway: GatewayStandIn;
let api: ApiUnderTest;
let apiKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  await stack.bus.ensureStreams();
  [kubelet, gateway] = [await startKubeletStandIn(stack.client), await startGatewayStandIn()];
  apiKey = await stack.key({ namespace: 'team-a' });
  api = await stack.api({ GATEWAY_URL: gateway.url });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  await kubelet[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

/** A sandbox whose container has printed a line, and whose daemon has recorded one. */
async function create(): Promise<string> {
  const { body } = await api.call('POST /v2/sandboxes', { key: apiKey, body: { templateID: 'base' } });
  const { sandboxID: id } = body as { sandboxID: string };
  const now = Date.now();
  await kubelet.addPod('team-a', `pod-${id}`);
  kubelet.logs.set(`pod-${id}`, [{ at: new Date(now - 20).toISOString(), text: '{"level":7} of the container' }]);
  const record = { ms: now - 10, level: 'error', event: 'stderr', message: 'of a process', pid: 7 };
  gateway.records.set(id, { now: now + 1_000, records: [record] });
  return id;
}

it('`e2b sandbox logs -f` in a terminal ends with success and without a stack trace when the sandbox is killed meanwhile', async () => {
  const id = await create();
  await using command = await startCli(['sandbox', 'logs', '-f', id], { apiUrl: api.url, apiKey });
  await expect.poll(command.shown, PATIENCE).toContain('of a process');
  expect(command.shown()).toContain('of the container');
  expect((await api.call(`DELETE /sandboxes/${id}`, { key: apiKey })).status).toBe(204);
  expect(await command.ended).toBe(0);
  expect(command.shown()).toContain('Stopped printing logs');
  expect(command.shown()).not.toMatch(/\n\s+at /);
});

it('`e2b sandbox logs` chooses by logger and level', async () => {
  const id = await create();
  await using command = await startCli(['sandbox', 'logs', id, '--loggers', 'process'], { apiUrl: api.url, apiKey });
  expect(await command.ended).toBe(0);
  expect(command.shown()).toContain('of a process');
  expect(command.shown()).not.toContain('of the container');
});

import { annotations } from '@sandlot/api-types';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from '../../test/client.ts';
import { eventually, GatewayHarness } from '../../test/harness.ts';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start({ HOLD_TIMEOUT: '4s' });
});
afterAll(() => harness[Symbol.asyncDispose]());

it('a request to a sleeping sandbox gets 503 with Retry-After when NATS was away while it waited', async () => {
  const sandbox = await harness.createSandbox({ claimAnnotations: { [annotations.autoResume]: 'true' } });
  await harness.suspend(sandbox, 'API');
  await harness.nats.stop();
  await eventually(async () => (await harness.metrics()).includes('sandlot_bus_connected 0'));
  const reply = await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 8080) } });
  expect(reply).toMatchObject({ status: 503, json: { sandboxId: sandbox.id, code: 503 } });
  expect(reply.headers['retry-after']).toBe('1');
  expect(reply.text).toContain('no connection to NATS');
  expect(await harness.metrics()).toMatch(/^sandlot_gateway_wake_seconds_count\{outcome="delayed"\} 1$/m);
});

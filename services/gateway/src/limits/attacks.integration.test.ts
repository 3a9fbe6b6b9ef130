import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { annotations } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import { GatewayHarness, eventually, nextAddress } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start({ HOLD_MAX: '40', HOLD_MAX_PER_SANDBOX: '10' });
});
afterAll(() => harness[Symbol.asyncDispose]());

const wakeable = { [annotations.autoResume]: 'true' };
const to = (sandbox: TestSandbox) => ({ headers: { Host: harness.buildHost(sandbox, 8080) } });

/** The value of a metric of the gateway; `name` has its labels. */
async function readMetric(name: string): Promise<number> {
  const line = (await harness.metrics()).split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? Number.NaN);
}

/** A sandbox that sleeps until `wake`. */
async function createSleeping() {
  const sandbox = await harness.createSandbox({ claimAnnotations: wakeable });
  await harness.suspend(sandbox, 'API');
  const wake = async (): Promise<void> => {
    const address = nextAddress();
    await startSandboxServer(address, echo);
    await harness.resume(sandbox, address);
  };
  return { sandbox, wake };
}

describe('100 requests to one sleeping sandbox', () => {
  it('leave places to requests that wait for others, and those beyond the share get 429', async () => {
    const [attacked, honest] = [await createSleeping(), await createSleeping()];
    const waiting: ClientRequest[] = [];
    const statuses: number[] = [];
    for (let n = 0; n < 100; n += 1) {
      const one = request({ agent: false, host: '127.0.0.1', port: harness.port, ...to(attacked.sandbox) }).end();
      one.on('error', () => undefined).on('response', ({ statusCode = 0 }) => statuses.push(statusCode));
      waiting.push(one);
    }
    await eventually(() => statuses.length === 90);
    expect(new Set(statuses)).toEqual(new Set([429]));
    expect(await readMetric('sandlot_gateway_held_requests')).toBe(10);
    const refused = await ask(harness.port, to(attacked.sandbox));
    expect(refused).toMatchObject({ status: 429, json: { code: 429, limit: 'held-by-sandbox' } });
    expect([refused.headers['retry-after'], refused.text]).toEqual(['1', expect.stringContaining('may have 10')]);
    const reply = ask(harness.port, to(honest.sandbox));
    await eventually(async () => (await readMetric('sandlot_gateway_held_requests')) === 11);
    await honest.wake();
    expect((await reply).status).toBe(200);
    expect(await readMetric('sandlot_gateway_limits_total{limit="held-by-sandbox"}')).toBe(91);
    for (const one of waiting) one.destroy();
  });
});

/** Requests to the API server that the gateway has made, by verb. */
const countApiRequests = async (verb: string): Promise<number> =>
  (await harness.metrics())
    .split('\n')
    .filter((line) => line.startsWith('sandlot_kube_request_seconds_count{') && line.includes(`verb="${verb}"`))
    .reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);

describe('200 requests to ids that no sandbox has', () => {
  it('cost the API server no request, and a running sandbox answers meanwhile', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo);
    const before = [await countApiRequests('list'), await countApiRequests('get')];
    const made = Array.from({ length: 200 }, (_, n) => ask(harness.port, to({ ...sandbox, id: `madeup${n}` })));
    for (let n = 0; n < 20; n += 1) expect((await ask(harness.port, to(sandbox))).status).toBe(200);
    const replies = await Promise.all(made);
    const countOf = (wanted: number): number => replies.filter(({ status }) => status === wanted).length;
    expect(countOf(502)).toBeGreaterThanOrEqual(20);
    expect(countOf(502) + countOf(429)).toBe(200);
    expect(replies.find(({ status }) => status === 429)?.json).toMatchObject({ limit: 'lookups-by-source' });
    expect([await countApiRequests('list'), await countApiRequests('get')]).toEqual(before);
  });
});

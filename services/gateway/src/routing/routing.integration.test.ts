import { sandboxClaims } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import type { Echo } from '../../test/client.ts';
import { GatewayHarness } from '../../test/harness.ts';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start();
});
afterAll(() => harness[Symbol.asyncDispose]());

describe('a running sandbox', () => {
  it('is reached by its host and by headers right after its creation', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startSandboxServer(sandbox.address, echo);
    const byHost = await ask(harness.port, {
      path: '/a%2Fb/../c?d=%20',
      headers: { Host: harness.buildHost(sandbox, server.port) },
    });
    expect(byHost).toMatchObject({ status: 200, json: { method: 'GET', url: '/a%2Fb/../c?d=%20' } });
    const headers = {
      'E2b-Sandbox-Id': sandbox.id,
      'E2b-Sandbox-Port': '8080',
      'X-Access-Token': 't',
      'X-API-KEY': 'k',
    };
    const byHeaders = await ask(harness.port, { headers });
    const { headers: seen } = byHeaders.json as Echo;
    expect(seen).toMatchObject({ 'x-access-token': 't', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' });
    expect(Object.keys(seen).filter((name) => /api-key|e2b/.test(name))).toEqual([]);
  });

  it('is not found after it was killed', async () => {
    const sandbox = await harness.createSandbox();
    await harness.kill(sandbox);
    const reply = await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 8080) } });
    expect(reply.status).toBe(502);
    expect(reply.json).toMatchObject({ sandboxId: sandbox.id, code: 502 });
    expect(reply.text).toContain('was not found');
    await expect(harness.client.get(sandboxClaims, { namespace: 'team-a', name: sandbox.id })).rejects.toThrow();
  });
});

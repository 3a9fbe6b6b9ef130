import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let key: string;
beforeAll(async () => {
  stack = await Stack.start();
  api = await stack.api();
  key = await stack.key({ namespace: 'team-a', team: 'analysts' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

describe('the teams of a key', () => {
  it('are its own, with the key itself and no other one', async () => {
    const team = { teamID: 'team-a', name: 'analysts', apiKey: key, isDefault: true };
    const reply = await api.call('GET /teams', { key });
    expect(reply).toMatchObject({ status: 200, body: [team] });
    expect(reply.headers.get('cache-control')).toBe('no-store');
  });

  it.each(['a JWT', 'an API key'])('are refused to %s as a bearer token, with what to do instead', async (kind) => {
    const token = kind === 'an API key' ? key : 'eyJhbGciOiJIUzI1NiJ9.e30.x';
    expect(await api.call('GET /teams', { headers: { Authorization: `Bearer ${token}` } })).toMatchObject({
      status: 401,
      body: { message: 'log in with an API key: set E2B_API_KEY' },
    });
  });

  it('need a key that exists', async () => {
    expect((await api.call('GET /teams')).status).toBe(401);
    expect((await api.call('GET /teams', { key: `e2b_${'0'.repeat(40)}` })).status).toBe(401);
  });
});

describe('a refusal', () => {
  const create = (fields: object) => api.call('POST /v2/sandboxes', { key, body: { templateID: 'base', ...fields } });

  it.each([
    [{ iam: { tokens: { a: {} } } }, 'iam is not available in this installation'],
    [{ network: { dnsServers: ['1.1.1.1'] } }, 'network.dnsServers is not available in this installation'],
    [{ network: { egressProxy: { address: 'a:1' } } }, 'network.egressProxy is not available in this installation'],
    [{ metadata: { 'e2b.agents.kruise.io/nonesuch': '1' } }, 'metadata key "e2b.agents.kruise.io/nonesuch" is not'],
  ])('of the field in %j says which it is, and that no repetition helps', async (fields, message) => {
    const reply = await create(fields);
    expect(reply).toMatchObject({ status: 400, body: { error_code: 'not_supported' } });
    expect((reply.body as { message: string }).message).toContain(message);
    expect(reply.headers.get('should-retry')).toBe('false');
  });

  it('by the state of the sandbox is not repeated by a client either', async () => {
    const { sandboxID } = (await create({})).body as { sandboxID: string };
    const reply = await api.call(`POST /sandboxes/${sandboxID}/resume`, { key, body: {} });
    expect(reply.status).toBe(409);
    expect(reply.headers.get('should-retry')).toBe('false');
  });

  it('of a wrong request has no code', async () => {
    const reply = await create({ autoResume: { enabled: true } });
    expect(reply).toMatchObject({ status: 400, body: { message: 'autoResume needs autoPause' } });
    expect(reply.body).not.toHaveProperty('error_code');
  });
});

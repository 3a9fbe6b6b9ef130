import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import type { Echo, Reply } from '../../test/client.ts';
import { GatewayHarness, findFreePort } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

let harness: GatewayHarness;
let apiPort: number;
let sandbox: TestSandbox;
beforeAll(async () => {
  apiPort = await findFreePort();
  harness = await GatewayHarness.start({ AGENT_SANDBOX_AUTH: 'any', API_URL: `http://127.0.0.1:${apiPort}` });
  sandbox = await harness.createSandbox({ namespace: 'team-a' });
});
afterAll(() => harness[Symbol.asyncDispose]());
beforeEach(async () => {
  await startSandboxServer(sandbox.address, echo, 8888);
});

/** How often the API was asked about each key. */
const questions = new Map<string, number>();

/** An API that knows keys of team-a, team-b and the admin by their prefix, and no others. */
async function startApi(): Promise<void> {
  await startSandboxServer(
    '127.0.0.1',
    (incoming, response) => {
      const key = String(incoming.headers['x-api-key']);
      questions.set(key, (questions.get(key) ?? 0) + 1);
      const [, who = ''] = /^e2b_(team-a|team-b|admin)/.exec(key) ?? [];
      if (incoming.url !== '/api/v1/key' || who === '') {
        response.writeHead(401).end('{"code":401}');
        return;
      }
      const role = who === 'admin' ? 'admin' : 'server';
      response.end(JSON.stringify({ id: '1', namespace: who, role, team: who }));
    },
    apiPort,
  );
}

function execute(headers: Readonly<Record<string, string>>): Promise<Reply> {
  const named = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a' };
  return ask(harness.port, { method: 'POST', path: '/execute', headers: { ...named, ...headers } });
}

describe('agent-sandbox headers with an API key', () => {
  it('reach the sandboxes of its namespace, with X-API-Key or Authorization, and the sandbox sees neither header', async () => {
    await startApi();
    for (const headers of [{ 'X-API-Key': 'e2b_team-a' }, { Authorization: 'Bearer e2b_admin' }] as const) {
      const reply = await execute(headers);
      expect(reply).toMatchObject({ status: 200, json: { url: '/execute' } });
      const seen = Object.keys((reply.json as Echo).headers);
      expect(seen.filter((name) => /key|authorization|x-sandbox/.test(name))).toEqual([]);
    }
  });

  it.each([
    ['a key of another namespace', { 'X-API-Key': 'e2b_team-b' }, 403],
    ['an unknown key', { 'X-API-Key': 'e2b_0' }, 401],
    ['an unknown key as a bearer', { Authorization: 'Bearer e2b_0' }, 401],
    ['a key that is too long', { 'X-API-Key': 'e2b_team-a'.padEnd(600, '0') }, 401],
    ['an invalid token', { Authorization: 'Bearer made-up' }, 401],
    ['nothing', {}, 401],
  ])('are refused with %s', async (_, headers: Record<string, string>, status) => {
    await startApi();
    expect(await execute(headers)).toMatchObject({ status, json: { detail: expect.any(String) as string } });
  });

  it('cost one question to the API for many requests', async () => {
    await startApi();
    const headers = { 'X-API-Key': 'e2b_team-a-busy' };
    const replies = await Promise.all(Array.from({ length: 20 }, () => execute(headers)));
    replies.push(await execute(headers));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(questions.get('e2b_team-a-busy')).toBe(1);
  });

  it('get 503 while the API is unreachable, and are checked again later', async () => {
    const headers = { 'X-API-Key': 'e2b_team-a-later' };
    const away = await execute(headers);
    expect([away.status, away.headers['retry-after']]).toEqual([503, '1']);
    await startApi();
    expect((await execute(headers)).status).toBe(200);
  });
});

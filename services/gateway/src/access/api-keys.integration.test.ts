import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, echo, startTenant } from '../../test/client.ts';
import type { Echo, Reply } from '../../test/client.ts';
import { GatewayHarness, freePort } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

let harness: GatewayHarness;
let apiPort: number;
let sandbox: TestSandbox;
beforeAll(async () => {
  apiPort = await freePort();
  harness = await GatewayHarness.start({ AGENT_SANDBOX_AUTH: 'any', API_URL: `http://127.0.0.1:${apiPort}` });
  sandbox = await harness.createSandbox({ namespace: 'team-a' });
});
afterAll(() => harness[Symbol.asyncDispose]());
beforeEach(async () => {
  await startTenant(sandbox.address, echo, 8888);
});

/** How often the API was asked about each key, by its text. */
const asked = new Map<string, number>();

/** What the API says of keys: those of a team are its own, that of the admin is his, and no other is known. */
async function startApi(): Promise<void> {
  await startTenant(
    '127.0.0.1',
    (incoming, response) => {
      const key = String(incoming.headers['x-api-key']);
      asked.set(key, (asked.get(key) ?? 0) + 1);
      const [, who = ''] = /^e2b_(team-a|team-b|admin)/.exec(key) ?? [];
      if (incoming.url !== '/api/v1/key' || who === '') {
        response.writeHead(401).end('{"code":401}');
        return;
      }
      const role = who === 'admin' ? 'admin' : 'tenant';
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
  it('reach the sandboxes of its namespace, as a header of its own or as a bearer, and the sandbox sees neither', async () => {
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
    ['a key that nobody has', { 'X-API-Key': 'e2b_0' }, 401],
    ['a key that nobody has, as a bearer', { Authorization: 'Bearer e2b_0' }, 401],
    ['a key longer than any', { 'X-API-Key': 'e2b_team-a'.padEnd(600, '0') }, 401],
    ['a token that is none', { Authorization: 'Bearer made-up' }, 401],
    ['nothing', {}, 401],
  ])('do not with %s', async (_, headers: Record<string, string>, status) => {
    await startApi();
    expect(await execute(headers)).toMatchObject({ status, json: { detail: expect.any(String) as string } });
  });

  it('cost one question for many requests at a time and after one another', async () => {
    await startApi();
    const headers = { 'X-API-Key': 'e2b_team-a-busy' };
    const replies = await Promise.all(Array.from({ length: 20 }, () => execute(headers)));
    replies.push(await execute(headers));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked.get('e2b_team-a-busy')).toBe(1);
  });

  it('are answered by 503 while the API cannot be asked, and are asked about again', async () => {
    const headers = { 'X-API-Key': 'e2b_team-a-later' };
    const away = await execute(headers);
    expect([away.status, away.headers['retry-after']]).toEqual([503, '1']);
    await startApi();
    expect((await execute(headers)).status).toBe(200);
  });
});

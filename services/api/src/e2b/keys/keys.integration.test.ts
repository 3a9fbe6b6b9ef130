import { listKeys } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KEYS_NAMESPACE, Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let admin: string;
let tenant: string;
beforeAll(async () => {
  stack = await Stack.start();
  admin = await stack.key({ namespace: 'team-a', role: 'admin', description: 'first' });
  tenant = await stack.key({ namespace: 'team-a' });
  await stack.key({ namespace: 'team-b', description: 'theirs' });
  api = await stack.api();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly key?: string;
}

const call = (
  request: string,
  body?: object,
  headers: Record<string, string> = { 'X-Admin-Token': admin },
): Promise<Reply> => api.call(request, { url: api.adminUrl, headers, ...(body === undefined ? {} : { body }) });

async function list(headers?: Record<string, string>): Promise<readonly Shown[]> {
  const { status, body } = await call('GET /api-keys', undefined, headers);
  expect(status).toBe(200);
  return body as readonly Shown[];
}

const listNames = async (headers?: Record<string, string>): Promise<readonly string[]> =>
  (await list(headers)).map(({ name }) => name);

describe('API keys in the dialect of E2B', () => {
  it('are those of the admin’s team, or of the team that he names, and a new one works at once', async () => {
    const { status, body, headers } = await call('POST /api-keys', { name: 'CI' });
    expect(status).toBe(201);
    expect(headers.get('cache-control')).toBe('no-store');
    const { id, key = '' } = body as Shown;
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect((await api.call('GET /teams', { key })).body).toMatchObject([{ teamID: 'team-a', apiKey: key }]);
    const mine = await list();
    expect(mine.map(({ name }) => name)).toContain('CI');
    expect(mine.map(({ name }) => name)).not.toContain('theirs');
    expect(JSON.stringify(mine)).not.toContain(key.slice(4));
    expect(await listNames({ 'X-API-Key': admin, 'X-Team-ID': 'team-b' })).toEqual(['theirs']);
  });

  it('get another name, and are taken back', async () => {
    const { body } = await call('POST /api-keys', { name: 'old' });
    const { id, key = '' } = body as Shown;
    const renamed = await call(`PATCH /api-keys/${id}`, { name: 'new' });
    expect([renamed.status, renamed.body]).toEqual([200, '']);
    expect(await listNames()).toContain('new');
    expect((await call(`DELETE /api-keys/${id}`)).status).toBe(204);
    expect((await api.call('GET /teams', { key })).status).toBe(401);
    for (const request of [`PATCH /api-keys/${id}`, `DELETE /api-keys/${id}`, 'DELETE /api-keys/..%2Fteam-b'])
      expect([request, (await call(request, request.startsWith('PATCH') ? { name: 'x' } : undefined)).status]).toEqual([
        request,
        404,
      ]);
  });

  it('of another team are not found by an admin who does not name it', async () => {
    const [theirs] = await list({ 'X-Admin-Token': admin, 'X-Team-ID': 'team-b' });
    const id = theirs?.id ?? '';
    expect((await call(`DELETE /api-keys/${id}`)).status).toBe(404);
    expect((await call(`DELETE /admin/teams/team-a/api-keys/${id}`)).status).toBe(404);
    expect((await call(`DELETE /admin/teams/team-b/api-keys/${id}`)).status).toBe(204);
    const made = await call('POST /admin/teams/team-b/api-keys', { name: 'again' });
    expect(made.status).toBe(201);
    expect((await api.call('GET /teams', { key: (made.body as Shown).key ?? '' })).body).toMatchObject([
      { teamID: 'team-b' },
    ]);
  });

  it.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ name: 'x', role: 'admin' }, 'role'],
  ])('are not made from %j', async (body, field) => {
    const reply = await call('POST /api-keys', body);
    expect(reply.status).toBe(400);
    expect((reply.body as { message: string }).message).toContain(field);
  });

  it('are for admins alone: a tenant gets 403, a stranger 401, and the public port has none of it', async () => {
    for (const request of ['GET /api-keys', 'POST /admin/teams/team-a/api-keys']) {
      const body = request.startsWith('POST') ? { name: 'x' } : undefined;
      expect((await call(request, body, { 'X-API-Key': tenant })).status).toBe(403);
      expect((await call(request, body, { 'X-Admin-Token': tenant })).status).toBe(403);
      expect((await call(request, body, {})).status).toBe(401);
      const open = await api.call(request, { key: admin, body });
      expect(open).toMatchObject({
        status: 403,
        body: { error_code: 'not_enabled', message: expect.stringContaining('admin port') as string },
      });
    }
  });

  it('of the role admin are taken back but for the last one, also when two requests take back the last two at a time', async () => {
    const second = await stack.key({ namespace: 'team-a', role: 'admin', description: 'second' });
    await expect
      .poll(async () => (await call('GET /api-keys', undefined, { 'X-Admin-Token': second })).status)
      .toBe(200);
    const countAdmins = async (): Promise<number> =>
      (await listKeys({ client: stack.client, namespace: KEYS_NAMESPACE })).filter(({ role }) => role === 'admin')
        .length;
    const admins = (await list()).filter(({ name }) => ['first', 'second'].includes(name));
    const ends = await Promise.all(
      admins.map(async ({ id, name }) => ({ name, ...(await call(`DELETE /api-keys/${id}`)) })),
    );
    expect(ends).toHaveLength(2);
    expect(await countAdmins()).toBeGreaterThan(0);
    const message = 'the last administrator key cannot be deleted';
    for (const { status, body } of ends.filter(({ status: given }) => given !== 204))
      expect({ status, body }).toMatchObject({ status: 409, body: { message } });
    const isFirstGone = ends.some(({ name, status }) => name === 'first' && status === 204);
    const left = { 'X-Admin-Token': isFirstGone ? second : admin };
    for (const { id } of await list(left)) await call(`DELETE /api-keys/${id}`, undefined, left);
    expect(await countAdmins()).toBe(1);
  });
});

describe('nodes', () => {
  it.each(['GET /nodes', 'GET /nodes/a', 'POST /nodes/a'])('are refused on both ports: %s', async (request) => {
    for (const url of [api.url, api.adminUrl]) {
      const key = await stack.key({ namespace: 'team-a' });
      await expect.poll(async () => (await api.call(request, { url, key })).status).toBe(403);
      const body = { code: 403, error_code: 'not_enabled', message: 'nodes are not enabled in this installation' };
      expect(await api.call(request, { url, key })).toMatchObject({ status: 403, body });
    }
  });
});

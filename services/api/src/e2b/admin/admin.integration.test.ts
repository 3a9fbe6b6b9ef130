import { sandboxClaims, sandboxTemplateBuilds } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let admin: string;
let [ours, theirs] = ['', ''];
beforeAll(async () => {
  stack = await Stack.start();
  // The namespace of an admin need not be one that the release serves.
  admin = await stack.key({ namespace: 'operators', role: 'admin' });
  [ours, theirs] = [await stack.key({ namespace: 'team-a' }), await stack.key({ namespace: 'team-b' })];
  api = await stack.api({ WATCH_NAMESPACES: 'team-a,team-b', BUILDER_URL: 'http://127.0.0.1:9' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const call = (request: string): Promise<Reply> =>
  api.call(request, { url: api.adminUrl, headers: { 'X-Admin-Token': admin } });

async function create(key: string): Promise<string> {
  const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
  return (body as { sandboxID: string }).sandboxID;
}

const countClaims = async (namespace: string): Promise<number> =>
  (await stack.client.listAll(sandboxClaims, { namespace })).items.length;

describe('administration in the dialect of E2B', () => {
  it('counts the running sandboxes of each team, and kills all of one team, paused ones too', async () => {
    const mine = [await create(ours), await create(ours), await create(ours)];
    await create(theirs);
    expect(
      (await api.call(`POST /sandboxes/${mine[0] ?? ''}/pause`, { key: ours, body: { memory: false } })).status,
    ).toBe(204);
    const counts = '/admin/sandboxes/running-counts';
    await expect.poll(async () => (await call(`GET ${counts}`)).body).toEqual({ 'team-a': 2, 'team-b': 1 });
    expect(await call('POST /admin/teams/team-a/sandboxes/kill')).toMatchObject({
      status: 200,
      body: { killedCount: 3, failedCount: 0 },
    });
    expect([await countClaims('team-a'), await countClaims('team-b')]).toEqual([0, 1]);
    expect((await call('POST /admin/teams/team-a/sandboxes/kill')).body).toEqual({ killedCount: 0, failedCount: 0 });
    await expect.poll(async () => (await call(`GET ${counts}`)).body).toEqual({ 'team-b': 1 });
  });

  it('leaves claims that clients of E2B did not make', async () => {
    const metadata = { namespace: 'team-a', name: 'of-kubectl' };
    await stack.client.create(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'silent' } } });
    expect((await call('POST /admin/teams/team-a/sandboxes/kill')).body).toEqual({ killedCount: 0, failedCount: 0 });
    expect(await countClaims('team-a')).toBe(1);
  });

  it('ends the template builds of a team', async () => {
    const build = (namespace: string) =>
      stack.client.create(sandboxTemplateBuilds, {
        metadata: { namespace, name: 'one' },
        spec: { templates: [{ name: 'app' }], image: 'debian' },
      });
    await Promise.all([build('team-a'), build('team-b')]);
    await expect
      .poll(async () => (await call('POST /admin/teams/team-a/builds/cancel')).body)
      .toEqual({ cancelledCount: 1, failedCount: 0 });
    const { items } = await stack.client.listAll(sandboxTemplateBuilds);
    expect(items.map(({ metadata }) => metadata.namespace)).toEqual(['team-b']);
  });

  it.each(['POST /admin/teams/kube-system/sandboxes/kill', 'POST /admin/teams/kube-system/builds/cancel'])(
    'touches no namespace that the release does not serve: %s',
    async (request) => {
      expect(await call(request)).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('is not served') as string },
      });
    },
  );

  it.each([
    'POST /admin/teams/team-a/sandboxes/kill',
    'GET /admin/sandboxes/running-counts',
    'POST /admin/teams/team-a/builds/cancel',
  ])('is for admins, on the admin port alone: %s', async (request) => {
    expect((await api.call(request, { url: api.adminUrl, key: ours })).status).toBe(403);
    expect((await api.call(request, { url: api.adminUrl })).status).toBe(401);
    const headers = { 'X-Admin-Token': admin };
    expect((await api.call(request, { key: admin, headers })).status).toBe(403);
  });
});

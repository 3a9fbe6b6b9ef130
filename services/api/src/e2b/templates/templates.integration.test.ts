import { setTimeout as sleep } from 'node:timers/promises';
import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

interface Shown {
  readonly templateID: string;
  readonly buildID: string;
  readonly createdAt: string;
}

const ALL = [
  'base',
  'broken',
  'empty',
  'filer',
  'memory',
  'memory-and-disk',
  'refusing',
  'silent',
  'sleeper',
  'unpooled',
];

let stack: Stack;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  api = await stack.api();
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const call = (request: string, asked = key): Promise<Reply> => api.call(request, { key: asked });

const ask = async (path: string): Promise<unknown> => {
  const reply = await call(`GET ${path}`);
  expect(reply.status, path).toBe(200);
  return reply.body;
};

/** The UID of the pool, which is the id of the one build that it has. */
async function readUid(name: string): Promise<string | undefined> {
  return (await stack.client.get(sandboxWarmPools, { namespace: 'team-a', name })).metadata.uid;
}

describe('the lists of templates', () => {
  it('have the same templates, newest first, in one answer and page by page', async () => {
    await sleep(1_000);
    const metadata = { namespace: 'team-a', name: 'a-later-one' };
    const { spec } = await stack.client.get(sandboxTemplates, { namespace: 'team-a', name: 'unpooled' });
    await stack.client.create(sandboxTemplates, { metadata, spec });
    while ((await call('GET /templates/a-later-one')).status !== 200) continue;
    const names = ((await ask('/templates')) as Shown[]).map(({ templateID }) => templateID);
    expect(names[0]).toBe('a-later-one');
    expect(names.toSorted()).toEqual(['a-later-one', ...ALL]);
    const pages: string[][] = [];
    let token: string | null = '';
    while (token !== null) {
      const reply: Reply = await call(`GET /v2/templates?limit=4&nextToken=${token}`);
      pages.push((reply.body as Shown[]).map(({ templateID }) => templateID));
      token = reply.headers.get('x-next-token');
    }
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 3]);
    expect(pages.flat()).toEqual(names);
    await stack.client.delete(sandboxTemplates, metadata);
  });

  it('refuse another team, a limit out of bounds and a token that is none', async () => {
    expect((await call('GET /templates?teamID=team-a')).status).toBe(200);
    expect(await call('GET /templates?teamID=team-b')).toMatchObject({
      status: 400,
      body: { message: 'Team ID param mismatch with the API key' },
    });
    for (const query of ['limit=0', 'limit=101', 'limit=x'])
      expect((await call(`GET /v2/templates?${query}`)).status).toBe(400);
    expect(await call('GET /v2/templates?nextToken=x')).toMatchObject({
      status: 400,
      body: { message: 'Invalid next token' },
    });
  });

  it('of all teams is empty: each template is of one team', async () => {
    expect(await ask('/default-templates')).toEqual([]);
  });
});

describe('the detail of a template', () => {
  it('has the fields of the list and the one build that it has, which was ready when the template was made', async () => {
    const listed = ((await ask('/templates')) as Shown[]).find(({ templateID }) => templateID === 'base');
    const buildID = await readUid('base');
    const createdAt = listed?.createdAt;
    const build = { buildID, status: 'ready', createdAt, updatedAt: createdAt, finishedAt: createdAt };
    const size = { cpuCount: 1, memoryMB: 256, diskSizeMB: 0, envdVersion: '0.6.4' };
    expect(await ask('/templates/base')).toEqual({ ...listed, builds: [{ ...build, ...size }] });
    expect(listed).toMatchObject({
      buildID,
      buildCount: 1,
      buildStatus: 'ready',
      createdBy: null,
      lastSpawnedAt: null,
    });
    expect((await call('GET /templates/base?limit=1')).headers.get('x-next-token')).toBeNull();
    expect((await call('GET /templates/base?nextToken=x')).status).toBe(400);
    expect((await call('GET /templates/nonesuch')).status).toBe(404);
  });
});

describe('the tags of a template that no build made', () => {
  it('are `default` alone, for the stock client as well', async () => {
    const buildID = await readUid('base');
    const { createdAt } = (await ask('/templates/base')) as Shown;
    const assigned = { buildID, assignedAt: createdAt, buildCreatedAt: createdAt, buildFinishedAt: createdAt };
    const assignments = [
      { ...assigned, assignmentID: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8/) as string },
    ];
    expect(await ask('/templates/base/tags')).toEqual([{ tag: 'default', buildID, createdAt }]);
    expect(await ask('/templates/base/tags/count')).toEqual({ total: 1 });
    expect(await ask('/templates/base/tags/groups')).toEqual({
      tags: [{ tag: 'default', assignments, hasMore: false }],
      nextCursor: null,
    });
    expect(await ask('/templates/base/tags/groups?search=v1')).toEqual({ tags: [], nextCursor: null });
    expect(await ask('/templates/base/tags/default/assignments')).toEqual({ data: assignments, nextCursor: null });
    const tags = await Template.getTags('base', { apiKey: key, apiUrl: api.url });
    expect(tags).toEqual([{ tag: 'default', buildId: buildID, createdAt: new Date(createdAt) }]);
  });

  it('are looked up in the form in which templates have them', async () => {
    expect(await ask('/templates/standard/tags/exists?tag=%20Default')).toEqual({
      exists: true,
      normalizedTag: 'default',
    });
    expect(await ask('/templates/team-a%2Fbase/tags/exists?tag=v2')).toEqual({ exists: false, normalizedTag: 'v2' });
    for (const tag of ['', '?tag=', '?tag=a%20b', '?tag=00000000-0000-4000-8000-000000000000'])
      expect((await call(`GET /templates/base/tags/exists${tag}`)).status, tag).toBe(400);
    expect(await call('GET /templates/base/tags/v2/assignments')).toMatchObject({
      status: 404,
      body: { message: "tag 'v2' does not exist for template 'base'" },
    });
  });

  it('are of its own team alone', async () => {
    await stack.client.create(sandboxTemplates, {
      metadata: { namespace: 'team-a', name: 'own' },
      spec: (await stack.client.get(sandboxTemplates, { namespace: 'team-a', name: 'unpooled' })).spec,
    });
    while ((await call('GET /templates/own/tags')).status !== 200) continue;
    for (const path of ['own', 'own/tags', 'own/tags/count', 'own/tags/exists?tag=default', 'own/tags/groups'])
      expect((await call(`GET /templates/${path}`, foreignKey)).status, path).toBe(404);
    expect((await call('GET /templates/team-a%2Fbase/tags', foreignKey)).status).toBe(404);
  });
});

import { labels, sandboxClaims, sandboxTemplateBuilds, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { Sandbox, Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuilderStandIn } from '../../../../test/builder-stand-in.ts';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../../test/stack.ts';
import { formatObjectOf } from './built-name.ts';

interface Requested {
  readonly templateID: string;
  readonly buildID: string;
}

interface Shown {
  readonly templateID: string;
  readonly buildID: string;
  readonly buildStatus: string;
  readonly names: readonly string[];
  readonly builds: readonly { readonly buildID: string; readonly status: string }[];
}

let stack: Stack;
let builder: BuilderStandIn;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  builder = await BuilderStandIn.start(stack.client);
  api = await stack.api({ BUILDER_URL: builder.url, SNAPSHOTS_ENABLED: 'true' });
  key = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0 } });
  foreignKey = await stack.key({ namespace: 'team-b' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const call = (request: string, body?: unknown, asked = key): Promise<Reply> => api.call(request, { key: asked, body });
const connection = () => ({ apiKey: key, apiUrl: api.url });
const messageOf = ({ body }: Reply): string => (body as { message: string }).message;

async function request(name: string, tags: readonly string[] = []): Promise<Requested> {
  const reply = await call('POST /v3/templates', { name, tags });
  expect(reply.status, JSON.stringify(reply.body)).toBe(202);
  return reply.body as Requested;
}

/** Builds a template, and waits until the replica has what came out. */
async function build(name: string, tags: readonly string[] = []): Promise<Requested> {
  const asked = await request(name, tags);
  const { status } = await call(`POST /v2/templates/${asked.templateID}/builds/${asked.buildID}`, { fromImage: 'x' });
  expect(status).toBe(202);
  await builder.finish('team-a', asked.buildID);
  while ((await readTags(name.replace(/:.*/, ''))).every(({ buildID }) => buildID !== asked.buildID)) continue;
  return asked;
}

async function readTags(name: string): Promise<readonly { readonly tag: string; readonly buildID: string }[]> {
  const { status, body } = await call(`GET /templates/${name}/tags`);
  return status === 200 ? (body as { tag: string; buildID: string }[]) : [];
}

async function list(): Promise<readonly Shown[]> {
  return (await call('GET /templates')).body as readonly Shown[];
}

describe('a template that was built', () => {
  it('is one template in lists, whatever its tags, with its builds in its detail', async () => {
    const first = await build('my_app', ['default', 'v1']);
    const second = await build('my_app');
    const third = await request('my_app');
    const listed = (await list()).filter(({ names }) => names.includes('team-a/my_app'));
    expect(listed).toMatchObject([
      {
        templateID: first.templateID,
        buildID: second.buildID,
        buildStatus: 'ready',
        buildCount: 3,
        public: false,
        aliases: ['my_app'],
        cpuCount: 2,
        memoryMB: 512,
        createdBy: null,
      },
    ]);
    const page = (await call('GET /v2/templates?limit=100')).body as readonly Shown[];
    expect(page.filter(({ templateID }) => templateID.startsWith(first.templateID))).toHaveLength(1);
    for (const name of [first.templateID, 'my_app', 'team-a%2Fmy_app', 'my_app%3Av1']) {
      const detail = (await call(`GET /templates/${name}`)).body as Shown;
      expect(detail.templateID, name).toBe(first.templateID);
      expect(new Map(detail.builds.map(({ buildID, status }) => [buildID, status]))).toEqual(
        new Map([
          [first.buildID, 'ready'],
          [second.buildID, 'ready'],
          [third.buildID, 'waiting'],
        ]),
      );
    }
    expect((await call(`GET /templates/${first.templateID}`, undefined, foreignKey)).status).toBe(404);
  });

  it('is listed before its first build has ended, and cannot be started', async () => {
    const { templateID, buildID } = await request('early');
    const shown = (await list()).find((template) => template.templateID === templateID);
    expect(shown).toMatchObject({
      buildID,
      buildStatus: 'waiting',
      names: ['team-a/early'],
      cpuCount: 2,
      memoryMB: 1024,
    });
    for (const name of ['early', templateID]) {
      expect(await call('POST /v2/sandboxes', { templateID: name })).toMatchObject({ status: 404 });
      expect((await call(`GET /templates/aliases/${name}`)).status).toBe(404);
    }
    expect((await call(`DELETE /templates/early`)).status).toBe(204);
    expect(await stack.client.find(sandboxTemplateBuilds, { namespace: 'team-a', name: buildID })).toBeUndefined();
  });

  it('starts sandboxes by name, tag, team and id, and by no other team', async () => {
    const { templateID } = await build('starter', ['default', 'v1']);
    const tagged = formatObjectOf(templateID, 'v1');
    const rows = [
      ['starter', templateID],
      ['Starter', templateID],
      ['team-a/starter:default', templateID],
      [templateID, templateID],
      ['starter:v1', tagged],
      [`${templateID}:v1`, tagged],
    ] as const;
    for (const [name, object] of rows) {
      const sandbox = await Sandbox.create(name, connection());
      const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: sandbox.sandboxId });
      expect([name, claim.spec.sandboxTemplateRef?.name]).toEqual([name, object]);
      expect(await sandbox.getInfo()).toMatchObject({ templateId: templateID, name: 'starter' });
      await sandbox.kill();
    }
    const missing = await call('POST /v2/sandboxes', { templateID: 'starter:v2' });
    expect([missing.status, messageOf(missing)]).toEqual([404, "tag 'v2' does not exist for template 'starter'"]);
    for (const name of ['starter', 'team-a/starter', templateID, tagged])
      expect((await call('POST /v2/sandboxes', { templateID: name }, foreignKey)).status, name).toBe(404);
    expect((await call('POST /v2/sandboxes', { templateID: tagged })).status).toBe(404);
    expect(await Template.exists('starter', connection())).toBe(true);
    expect((await call('GET /templates/aliases/starter')).body).toEqual({ templateID, public: false });
  });

  it('starts from its pool where it has one, which is no template of its own', async () => {
    const { templateID } = await build('pooled');
    const metadata = { namespace: 'team-a', name: templateID };
    const spec = { replicas: 0, sandboxTemplateRef: { name: templateID } };
    await stack.client.create(sandboxWarmPools, { metadata, spec });
    while ((await call(`GET /api/v1/pools/${templateID}`)).status !== 200) continue;
    await expect
      .poll(async () => {
        const sandbox = await Sandbox.create('pooled', connection());
        const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: sandbox.sandboxId });
        await sandbox.kill();
        return claim.spec.warmPoolRef?.name;
      })
      .toBe(templateID);
    expect((await list()).filter((each) => each.templateID === templateID)).toHaveLength(1);
    expect((await call(`DELETE /templates/pooled`)).status).toBe(204);
    expect(await stack.client.find(sandboxWarmPools, metadata)).toBeUndefined();
  });

  it('takes its name from snapshots, and the name of a snapshot is none for it', async () => {
    await build('taken');
    const sandbox = await Sandbox.create('memory', connection());
    await expect(sandbox.createSnapshot({ name: 'taken' })).rejects.toThrow('is the name of a template');
    const { snapshotId } = await sandbox.createSnapshot({ name: 'saved' });
    expect((await call('POST /v3/templates', { name: 'saved' })).status).toBe(403);
    await Sandbox.deleteSnapshot(snapshotId, connection());
    await sandbox.kill();
  });
});

describe('tags', () => {
  it('lead to the build that the target has, move, and go, with the stock client', async () => {
    const first = await build('tagged', ['default', 'old']);
    const assigned = await Template.assignTags('tagged', ['v1', 'stable'], connection());
    expect(assigned).toEqual({ buildId: first.buildID, tags: ['v1', 'stable'] });
    await Template.assignTags('tagged:v1', 'v1', connection());
    const second = await build('tagged');
    await Template.assignTags('team-a/tagged:default', ['stable'], connection());
    await expect
      .poll(
        async () => new Map((await Template.getTags('tagged', connection())).map(({ tag, buildId }) => [tag, buildId])),
      )
      .toEqual(
        new Map([
          ['default', second.buildID],
          ['stable', second.buildID],
          ['v1', first.buildID],
          ['old', first.buildID],
        ]),
      );
    expect((await call('GET /templates/tagged/tags/count')).body).toEqual({ total: 4 });
    const read = async (tag: string) =>
      await stack.client.get(sandboxTemplates, { namespace: 'team-a', name: formatObjectOf(first.templateID, tag) });
    expect((await read('stable')).spec).toEqual((await read('default')).spec);
    expect((await read('v1')).metadata.labels?.[labels.builtBy]).toBe('template-build');
    await Template.removeTags('tagged', ['v1', 'nonesuch'], connection());
    await Template.removeTags('tagged', ['v1'], connection());
    await expect.poll(async () => (await readTags('tagged')).map(({ tag }) => tag)).not.toContain('v1');
    expect((await call('POST /v2/sandboxes', { templateID: 'tagged:v1' })).status).toBe(404);
  });

  it.each([
    ['POST', { target: 'nonesuch', tags: ['v1'] }, 404, "template 'nonesuch' not found"],
    ['POST', { target: 'refused:v9', tags: ['v1'] }, 404, "tag 'v9' does not exist for template 'refused'"],
    ['POST', { target: 'team-b/refused', tags: ['v1'] }, 404, "template 'team-b/refused' not found"],
    ['POST', { target: 'base', tags: ['v1'] }, 400, "template 'base' was not built over this API"],
    ['POST', { target: 'refused', tags: ['a b'] }, 400, "invalid tag 'a b'"],
    ['POST', { target: 'refused', tags: [] }, 400, 'tags: '],
    ['DELETE', { name: 'refused:v1', tags: ['v1'] }, 400, 'name: the template without a tag is expected'],
    ['DELETE', { name: 'refused', tags: ['default'] }, 400, "Cannot delete the 'default' tag"],
    ['DELETE', { name: 'nonesuch', tags: ['v1'] }, 404, "template 'nonesuch' not found"],
    ['DELETE', { name: 'base', tags: ['v1'] }, 400, "template 'base' was not built over this API"],
  ])('%s %j is refused with %i', async (...[method, body, status, message]) => {
    if ((await readTags('refused')).length === 0) await build('refused');
    const reply = await call(`${method} /templates/tags`, body);
    expect([reply.status, messageOf(reply)]).toEqual([status, expect.stringContaining(message)]);
  });

  it('of another team can neither be given nor taken', async () => {
    const { templateID } = await build('guarded');
    for (const target of ['guarded', 'team-a/guarded', templateID]) {
      expect((await call('POST /templates/tags', { target, tags: ['v1'] }, foreignKey)).status).toBe(404);
      expect((await call('DELETE /templates/tags', { name: target, tags: ['v1'] }, foreignKey)).status).toBe(404);
    }
    expect(await readTags('guarded')).toHaveLength(1);
  });
});

describe('a deletion of a template that was built', () => {
  it('takes all its tags and builds, once no sandbox uses it', async () => {
    const { templateID } = await build('doomed', ['default', 'v1']);
    const waiting = await request('doomed');
    const sandbox = await Sandbox.create('doomed:v1', connection());
    const inUse = await call('DELETE /templates/doomed');
    const message = "cannot delete template 'doomed' because there are running sandboxes using it";
    expect([inUse.status, messageOf(inUse)]).toEqual([400, message]);
    await sandbox.pause();
    expect(messageOf(await call(`DELETE /templates/${templateID}`))).toContain('there are paused sandboxes using it');
    await sandbox.kill();
    expect((await call('DELETE /templates/doomed', undefined, foreignKey)).status).toBe(404);
    await expect.poll(async () => (await call('DELETE /templates/team-a%2Fdoomed%3Av1')).status).toBe(204);
    for (const tag of ['default', 'v1']) {
      const name = formatObjectOf(templateID, tag);
      expect(await stack.client.find(sandboxTemplates, { namespace: 'team-a', name })).toBeUndefined();
    }
    const labelSelector = `${labels.templateId}=${templateID}`;
    const left = await stack.client.list(sandboxTemplateBuilds, { namespace: 'team-a', labelSelector });
    expect(left.items).toEqual([]);
    expect((await call(`GET /templates/${templateID}/builds/${waiting.buildID}/status`)).status).toBe(400);
    await expect.poll(async () => (await call('DELETE /templates/doomed')).status).toBe(404);
    expect((await call('DELETE /templates/base')).status).toBe(403);
  });

  it('takes a tag that another replica gave a moment ago', async () => {
    const { templateID } = await build('shared');
    await using other = await stack.api({ BUILDER_URL: builder.url });
    const given = await other.call('POST /templates/tags', { key, body: { target: 'shared', tags: ['late'] } });
    expect(given.status).toBe(201);
    expect((await call('DELETE /templates/shared')).status).toBe(204);
    const name = formatObjectOf(templateID, 'late');
    expect(await stack.client.find(sandboxTemplates, { namespace: 'team-a', name })).toBeUndefined();
  });
});

it('the sandbox in which a build runs is in no list, and no request reaches it', async () => {
  const { buildID } = await request('hidden');
  const { metadata } = await stack.client.get(sandboxTemplateBuilds, { namespace: 'team-a', name: buildID });
  const name = 'build-0123456789abcdef0123-1';
  const owner = {
    apiVersion: 'sandlot.dev/v1alpha1',
    kind: 'SandboxTemplateBuild',
    name: buildID,
    uid: metadata.uid ?? '',
  };
  const ofBuild = {
    namespace: 'team-a',
    name,
    labels: { [labels.templateBuild]: metadata.uid ?? '' },
    ownerReferences: [owner],
  };
  const { spec } = await stack.client.get(sandboxTemplates, { namespace: 'team-a', name: 'unpooled' });
  await stack.client.create(sandboxTemplates, { metadata: ofBuild, spec });
  const claimMetadata = { ...ofBuild, labels: { ...ofBuild.labels, [labels.sandboxId]: name } };
  await stack.client.create(sandboxClaims, { metadata: claimMetadata, spec: { sandboxTemplateRef: { name } } });
  while ((await stack.client.get(sandboxClaims, { namespace: 'team-a', name })).status?.phase !== 'Completed') continue;
  const lists = ['/sandboxes', '/v2/sandboxes', '/templates', '/v2/templates', '/api/v1/claims', '/api/v1/templates'];
  for (const path of lists) {
    const { status, body } = await call(`GET ${path}`);
    expect([path, status, JSON.stringify(body).includes(name)]).toEqual([path, 200, false]);
  }
  const requests = [
    `GET /sandboxes/${name}`,
    `GET /sandboxes/${name}/logs`,
    `GET /sandboxes/${name}/metrics`,
    `DELETE /sandboxes/${name}`,
    `POST /sandboxes/${name}/pause`,
    `POST /sandboxes/${name}/snapshots`,
    `GET /templates/${name}`,
    `GET /templates/${name}/tags`,
    `GET /templates/aliases/${name}`,
    `DELETE /templates/${name}`,
    `GET /api/v1/claims/${name}`,
    `DELETE /api/v1/claims/${name}`,
    `GET /api/v1/templates/${name}`,
  ];
  for (const each of requests) {
    const sent = each.startsWith('POST') ? {} : undefined;
    expect([each, (await call(each, sent)).status]).toEqual([each, 404]);
  }
  expect((await call(`POST /v2/sandboxes/${name}/connect`, { timeout: 60 })).status).toBe(404);
  expect((await call('POST /v2/sandboxes', { templateID: name })).status).toBe(404);
  expect(
    (await stack.client.get(sandboxClaims, { namespace: 'team-a', name })).metadata.deletionTimestamp,
  ).toBeUndefined();
});

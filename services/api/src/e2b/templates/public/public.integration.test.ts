import { annotations, labels, sandboxClaims, sandboxTemplateBuilds, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { computeTemplateId } from '@sandlot/template-build';
import { Sandbox, Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BuilderStandIn } from '../../../../test/builder-stand-in.ts';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../../test/stack.ts';
import { formatObjectOf } from '../built/built-name.ts';

let stack: Stack;
let builder: BuilderStandIn;
let api: ApiUnderTest;
/** Keys of team-a, which publishes, and of team-b. */
let owner: string;
let user: string;
beforeAll(async () => {
  stack = await Stack.start();
  builder = await BuilderStandIn.start(stack.client);
  api = await stack.api({ BUILDER_URL: builder.url, SNAPSHOTS_ENABLED: 'true' });
  owner = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0 } });
  user = await stack.key({ namespace: 'team-b', limits: { createsPerSecond: 0 } });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const call = (key: string, request: string, body?: unknown): Promise<Reply> => api.call(request, { key, body });
const connect = (apiKey: string) => ({ apiKey, apiUrl: api.url });
const messageOf = ({ body }: Reply): string => (body as { message: string }).message;
const find = (namespace: string, name: string) => stack.client.find(sandboxTemplates, { namespace, name });
const imageOf = (template: SandboxTemplate | undefined) => template?.spec.podTemplate.spec.containers[0]?.image;
const digest = (digit: string): string => `registry/app@sha256:${digit.repeat(64)}`;

interface Made {
  readonly templateID: string;
  readonly buildID: string;
}

/** Builds a template, and waits until the replica has it. */
async function build(key: string, name: string, { tags = ['default'], image = digest('0') } = {}): Promise<Made> {
  const { body } = await call(key, 'POST /v3/templates', { name, tags });
  const made = body as Made;
  const namespace = key === owner ? 'team-a' : 'team-b';
  await call(key, `POST /v2/templates/${made.templateID}/builds/${made.buildID}`, { fromImage: 'x' });
  await builder.finish(namespace, made.buildID, image);
  const has = async (): Promise<boolean> =>
    JSON.stringify((await call(key, `GET /templates/${name}/tags`)).body).includes(made.buildID);
  await expect.poll(has).toBe(true);
  return made;
}

const readAlias = (key: string, name: string): Promise<Reply> =>
  call(key, `GET /templates/aliases/${encodeURIComponent(name)}`);

/** Changes a template, and waits until the replica has seen it. */
async function change(name: string, isPublic: boolean, key = owner): Promise<void> {
  expect(await call(key, `PATCH /v2/templates/${name}`, { public: isPublic })).toMatchObject({ status: 200 });
  await expect.poll(async () => (await readAlias(key, name)).body).toMatchObject({ public: isPublic });
}

/** Starts a sandbox of team-b, and returns what it was made of. */
async function start(name: string): Promise<string | undefined> {
  const sandbox = await Sandbox.create(name, connect(user));
  const claim = await stack.client.get(sandboxClaims, { namespace: 'team-b', name: sandbox.sandboxId });
  await sandbox.kill();
  return claim.spec.sandboxTemplateRef?.name;
}

describe('a template that was published', () => {
  it('starts sandboxes of another team by name, team, tag and id, from a copy that has no more than the Pod', async () => {
    const { templateID, buildID } = await build(owner, 'shared', { tags: ['default', 'v1'] });
    const tagged = formatObjectOf(templateID, 'v1');
    const names = ['shared', 'team-a/shared', templateID, 'shared:v1', `team-a/shared:v1`, `${templateID}:v1`];
    for (const name of names) expect((await call(user, 'POST /v2/sandboxes', { templateID: name })).status).toBe(404);
    expect((await call(owner, 'PATCH /v2/templates/shared', { public: true })).body).toEqual({
      names: ['team-a/shared'],
    });
    await expect.poll(async () => (await readAlias(user, 'shared')).body).toEqual({ templateID, public: true });
    for (const name of names)
      expect([name, await start(name)]).toEqual([name, name.endsWith('v1') ? tagged : templateID]);
    const copy = await find('team-b', templateID);
    expect(copy?.metadata.labels).toMatchObject({ [labels.templateId]: templateID });
    expect(copy?.metadata.labels?.[labels.public]).toBeUndefined();
    expect(copy?.metadata.annotations).toMatchObject({
      [annotations.copiedFrom]: 'team-a',
      [annotations.buildName]: buildID,
      [annotations.templateName]: 'shared',
    });
    expect(imageOf(copy)).toBe(digest('0'));
    expect(copy?.spec.podTemplate.spec.automountServiceAccountToken).toBe(false);
    expect(await Template.exists('team-a/shared', connect(user))).toBe(true);
    const missing = await call(user, 'POST /v2/sandboxes', { templateID: 'team-a/shared:v9' });
    expect([missing.status, messageOf(missing)]).toEqual([404, "tag 'v9' does not exist for template 'team-a/shared'"]);
  });

  it('is in no list of another team, which can neither read, change, tag, publish nor delete it, nor its copy', async () => {
    const { templateID } = await build(owner, 'listed');
    await change('listed', true);
    await start('listed');
    for (const path of ['/templates', '/v2/templates', '/default-templates', '/api/v1/templates']) {
      const { status, body } = await call(user, `GET ${path}`);
      expect([path, status, JSON.stringify(body).includes(templateID)]).toEqual([path, 200, false]);
    }
    expect((await call(user, `GET /api/v1/templates/${templateID}`)).status).toBe(404);
    for (const name of ['listed', 'team-a%2Flisted', templateID]) {
      const replies = [
        await call(user, `GET /templates/${name}`),
        await call(user, `GET /templates/${name}/tags`),
        await call(user, `PATCH /v2/templates/${name}`, { public: false }),
        await call(user, `PATCH /templates/${name}`, { public: true }),
        await call(user, 'POST /templates/tags', { target: decodeURIComponent(name), tags: ['v1'] }),
        await call(user, 'DELETE /templates/tags', { name: decodeURIComponent(name), tags: ['v1'] }),
        await call(user, `DELETE /templates/${name}`),
      ];
      expect([name, replies.map(({ status }) => status)]).toEqual([name, replies.map(() => 404)]);
    }
    expect((await find('team-a', templateID))?.metadata.labels?.[labels.public]).toBe('true');
    expect(await find('team-b', templateID)).toBeDefined();
    expect(JSON.stringify((await call(owner, 'GET /templates')).body)).toContain('"public":true');
  });

  it('gives its users the next build, stays public with it and with its new tags', async () => {
    const { templateID } = await build(owner, 'renewed');
    await change('renewed', true);
    await start('renewed');
    const asked = await call(owner, 'POST /v3/templates', { name: 'renewed' });
    expect(asked.body).toMatchObject({ public: true });
    const next = await build(owner, 'renewed', { tags: ['default', 'new'], image: digest('1') });
    await start('team-a/renewed');
    const copy = await find('team-b', templateID);
    expect(imageOf(copy)).toBe(digest('1'));
    expect(copy?.metadata.annotations?.[annotations.buildName]).toBe(next.buildID);
    expect(await start('renewed:new')).toBe(formatObjectOf(templateID, 'new'));
  });

  it('is no template of others once it was taken back or deleted, and what they have stays', async () => {
    const { templateID } = await build(owner, 'brief');
    await change('brief', true);
    const sandbox = await Sandbox.create('brief', connect(user));
    await change('brief', false);
    const refuses = async (): Promise<void> => {
      for (const name of ['brief', 'team-a/brief', templateID]) {
        await expect.poll(async () => (await call(user, 'POST /v2/sandboxes', { templateID: name })).status).toBe(404);
        expect((await readAlias(user, name)).status).toBe(404);
      }
    };
    await refuses();
    expect((await sandbox.getInfo()).state).toBe('running');
    expect(await find('team-b', templateID)).toBeDefined();
    await change('brief', true);
    expect(await start('brief')).toBe(templateID);
    await sandbox.kill();
    expect((await call(owner, 'DELETE /templates/brief')).status).toBe(204);
    await refuses();
  });

  it('is the base of a build of another team', async () => {
    const { templateID } = await build(owner, 'ground');
    await change('ground', true);
    for (const fromTemplate of ['ground', 'team-a/ground']) {
      const { templateID: id, buildID } = (await call(user, 'POST /v3/templates', { name: 'upper' })).body as Made;
      expect((await call(user, `POST /v2/templates/${id}/builds/${buildID}`, { fromTemplate })).status).toBe(202);
      const { spec } = await stack.client.get(sandboxTemplateBuilds, { namespace: 'team-b', name: buildID });
      expect(spec.fromTemplateName).toBe(templateID);
    }
    expect(await find('team-b', templateID)).toBeDefined();
  });
});

describe('a public name', () => {
  it('is behind the names of the team itself, from the request for a build on', async () => {
    await build(owner, 'twofold');
    await change('twofold', true);
    const foreign = await start('twofold');
    expect((await call(user, 'POST /v3/templates', { name: 'twofold' })).status).toBe(202);
    expect((await call(user, 'POST /v2/sandboxes', { templateID: 'twofold' })).status).toBe(404);
    const own = await build(user, 'twofold');
    expect(own.templateID).toBe(computeTemplateId('team-b', 'twofold'));
    expect(await start('twofold')).toBe(own.templateID);
    expect(await start('team-a/twofold')).toBe(foreign);
    const sandbox = await Sandbox.create('memory', connect(user));
    await build(owner, 'kept');
    await sandbox.createSnapshot({ name: 'kept' });
    await sandbox.kill();
    await change('kept', true);
    expect(await start('kept')).not.toBe(computeTemplateId('team-a', 'kept'));
    expect(await start('base')).not.toBe(computeTemplateId('team-a', 'base'));
  });

  it('is of the team that published it first, and no other can take its name or id', async () => {
    const { templateID } = await build(owner, 'first');
    await change('first', true);
    await build(user, 'first');
    const taken = await call(user, 'PATCH /v2/templates/first', { public: true });
    expect([taken.status, messageOf(taken)]).toEqual([409, expect.stringContaining('another team has published')]);
    await build(user, templateID);
    await change(templateID, true, user);
    const third = await stack.key({ namespace: 'team-a' });
    // The API learns of a new key by its watch.
    await vi.waitFor(async () =>
      expect((await readAlias(third, templateID)).body).toEqual({ templateID, public: true }),
    );
  });
});

describe('publishing', () => {
  it('is refused for a template that names Secrets, and copies none that names them later', async () => {
    const { templateID } = await build(owner, 'secretive');
    const key = { namespace: 'team-a', name: templateID };
    const { spec } = await stack.client.get(sandboxTemplates, key);
    const [container] = spec.podTemplate.spec.containers;
    const envFrom = [{ secretRef: { name: 'passwords' } }];
    const patch = (containers: object[]) =>
      stack.client.mergePatch(sandboxTemplates, key, { spec: { podTemplate: { spec: { containers } } } } as never);
    await patch([{ ...container, envFrom }]);
    const refused = await call(owner, 'PATCH /v2/templates/secretive', { public: true });
    expect([refused.status, messageOf(refused)]).toEqual([400, expect.stringContaining('envFrom')]);
    await patch([{ ...container, envFrom: null }]);
    await change('secretive', true);
    await patch([{ ...container, envFrom }]);
    expect((await call(user, 'POST /v2/sandboxes', { templateID: 'team-a/secretive' })).status).toBe(404);
    expect(await find('team-b', templateID)).toBeUndefined();
  });

  it('is for templates that were built: neither before their first build, nor for those of the installation', async () => {
    expect((await call(owner, 'PATCH /v2/templates/base', { public: true })).status).toBe(400);
    expect((await call(owner, 'PATCH /v2/templates/base', { public: false })).status).toBe(200);
    await call(owner, 'POST /v3/templates', { name: 'unbuilt' });
    expect((await call(owner, 'PATCH /v2/templates/unbuilt', { public: true })).status).toBe(400);
    await using plain = await stack.api();
    const reply = await plain.call('PATCH /v2/templates/base', { key: owner, body: { public: true } });
    expect(reply).toMatchObject({ status: 403, body: { error_code: 'not_enabled' } });
  });
});

it('takes no object of the namespace for its copy, and brings a copy up to date that another replica wrote', async () => {
  const { templateID } = await build(owner, 'crowded');
  await change('crowded', true);
  const { spec } = await stack.client.get(sandboxTemplates, { namespace: 'team-a', name: templateID });
  await stack.client.create(sandboxTemplates, { metadata: { namespace: 'team-b', name: templateID }, spec });
  expect((await call(user, 'POST /v2/sandboxes', { templateID: 'team-a/crowded' })).status).toBe(409);
  await stack.client.delete(sandboxTemplates, { namespace: 'team-b', name: templateID });
  await using other = await stack.api({ BUILDER_URL: builder.url });
  const body = { templateID: 'team-a/crowded' };
  const replies = await Promise.all(
    [api, other, api, other].map((each) => each.call('POST /v2/sandboxes', { key: user, body })),
  );
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
});

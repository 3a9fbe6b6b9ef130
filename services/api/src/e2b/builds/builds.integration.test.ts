import {
  annotations,
  formatStoredCredentialsName,
  labels,
  sandboxTemplateBuilds,
  STORED_CREDENTIALS,
} from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { computeTemplateId } from '@sandlot/template-build';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuilderStandIn } from '../../../test/builder-stand-in.ts';
import { ENVS_NAMESPACE, Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

interface Requested {
  readonly templateID: string;
  readonly buildID: string;
}

let stack: Stack;
let builder: BuilderStandIn;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  builder = await BuilderStandIn.start(stack.client);
  api = await stack.api({ BUILDER_URL: builder.url, BUILDS_UNFINISHED_PER_NAMESPACE: '1000' });
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const post = (path: string, body: unknown): Promise<Reply> => api.call(`POST ${path}`, { key, body });
const request = (body: unknown): Promise<Reply> => post('/v3/templates', body);
const get = (path: string): Promise<Reply> => api.call(`GET ${path}`, { key });

async function ask(name: string): Promise<Requested> {
  const reply = await request({ name });
  expect(reply.status, JSON.stringify(reply.body)).toBe(202);
  return reply.body as Requested;
}

const start = ({ templateID, buildID }: Requested, body: unknown): Promise<Reply> =>
  post(`/v2/templates/${templateID}/builds/${buildID}`, body);

const readStatus = ({ templateID, buildID }: Requested): Promise<Reply> =>
  get(`/templates/${templateID}/builds/${buildID}/status`);

const readBuild = ({ buildID }: Requested): Promise<SandboxTemplateBuild> =>
  stack.client.get(sandboxTemplateBuilds, { namespace: 'team-a', name: buildID });

async function countBuilds(): Promise<number> {
  return (await stack.client.listAll(sandboxTemplateBuilds)).items.length;
}

/** Until the replica has seen it. */
async function waitForStatus(of: Requested, wanted: string): Promise<unknown> {
  for (;;) {
    const { body } = await readStatus(of);
    if ((body as { status: string }).status === wanted) return body;
  }
}

describe('a request for a template', () => {
  it('makes a build that waits, with an object for each tag', async () => {
    const body = { name: 'Team-A/My_App:v1.2', tags: ['latest'], cpuCount: 4, memoryMB: 2048, minFreeDiskMb: 512 };
    const reply = await request(body);
    const templateID = computeTemplateId('team-a', 'my_app');
    expect(reply).toMatchObject({
      status: 202,
      body: { templateID, public: false, names: ['team-a/my_app'], tags: ['v1.2', 'latest'], aliases: ['my_app'] },
    });
    const build = await readBuild(reply.body as Requested);
    expect(build.spec).toMatchObject({ paused: true, cpu: 4, memoryMiB: 2048, minFreeDiskMiB: 512 });
    expect(build.metadata.labels?.[labels.templateId]).toBe(templateID);
    expect(build.spec.templates).toEqual([
      {
        name: expect.stringMatching(new RegExp(`^${templateID}-[0-9a-f]{10}$`)) as string,
        labels: { 'sandlot.dev/template-id': templateID },
        annotations: { 'sandlot.dev/template-name': 'my_app', 'sandlot.dev/template-tag': 'v1.2' },
      },
      expect.objectContaining({
        annotations: expect.objectContaining({ 'sandlot.dev/template-tag': 'latest' }) as object,
      }),
    ]);
    expect(await readStatus(reply.body as Requested)).toMatchObject({
      status: 200,
      body: { status: 'waiting', logEntries: [] },
    });
  });

  it('has the default tag without another one, and one id for each name', async () => {
    const [one, two] = [await ask('same'), await ask('same')];
    expect(one.templateID).toBe(two.templateID);
    expect(one.buildID).not.toBe(two.buildID);
    expect((await readBuild(one)).spec.templates.map(({ name }) => name)).toEqual([one.templateID]);
  });

  it('of an older client gets what that one reads', async () => {
    const reply = await post('/v2/templates', { alias: 'older', cpuCount: 2, memoryMB: 512 });
    expect(reply).toMatchObject({
      status: 202,
      body: {
        templateID: computeTemplateId('team-a', 'older'),
        aliases: ['older'],
        cpuCount: 2,
        memoryMB: 512,
        spawnCount: 0,
      },
    });
    expect((await post('/v2/templates', { alias: 'older', name: 'x' })).status).toBe(400);
  });

  it.each([
    [{}, 400, 'Name is required'],
    [{ name: ' ' }, 400, 'Name is required'],
    [{ name: 'a b' }, 400, "invalid template name 'a b'"],
    [{ name: 'tags' }, 400, "'tags' cannot be the name of a template"],
    [{ name: 'team-b/app' }, 400, "namespace 'team-b' must match your team 'team-a'"],
    [{ name: 'app', tags: ['x y'] }, 400, "invalid tag 'x y'"],
    [{ name: 'app', tags: ['3b1f8a52-9d24-4b55-a1ff-0d6b0c9d4c11'] }, 400, 'a tag cannot be a UUID'],
    [{ name: 'app', cpuCount: 3 }, 400, 'CPU count must be 1 or an even number'],
    [{ name: 'app', cpuCount: 64 }, 400, 'cpuCount: '],
    [{ name: 'app', memoryMB: 129 }, 400, 'Memory must be divisible by 2'],
    [{ name: 'app', memoryMB: 64 }, 400, 'memoryMB: '],
    [{ name: 'app', teamID: 'team-b' }, 400, 'Team ID param mismatch with the API key'],
    [{ name: 'app', public: true }, 400, 'public'],
    [{ name: 'base' }, 403, "'base' is the name of a template that was not built over this API"],
    [{ name: 'standard' }, 403, "'standard' is the name of a template that was not built over this API"],
    [{ name: 'unpooled:v2' }, 403, "'unpooled' is the name of a template that was not built over this API"],
  ])('%j is refused with %i, and leaves nothing', async (body, code, message) => {
    const before = await countBuilds();
    const reply = await request(body);
    expect(reply).toMatchObject({ status: code, body: { code, message: expect.stringContaining(message) as string } });
    expect(await countBuilds()).toBe(before);
  });

  it('is refused while as many builds of the namespace have not ended as it may have', async () => {
    await using strict = await stack.api({ BUILDER_URL: builder.url, BUILDS_UNFINISHED_PER_NAMESPACE: '2' });
    const ask = (name: string): Promise<Reply> =>
      strict.call('POST /v3/templates', { key: foreignKey, body: { name } });
    const first = await ask('one');
    expect([first.status, (await ask('two')).status]).toEqual([202, 202]);
    const refused = await ask('three');
    const message = 'you have reached the maximum number of concurrent template builds (2)';
    expect(refused).toMatchObject({ status: 429, body: { message } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(5);
    const { buildID } = first.body as Requested;
    await builder.end('team-b', buildID, { phase: 'Failed', reason: 'Superseded', message: 'm' });
    while ((await ask('three')).status !== 202) continue;
  });
});

const STEPS = [
  { type: 'RUN', args: ['apt-get update', 'root'], force: false },
  {
    type: 'COPY',
    args: ['app', '/app', '', ''],
    filesHash: 'a'.repeat(64),
    force: true,
    forceUpload: true,
    gzip: false,
  },
  { type: 'WORKDIR', args: ['/app'], resolveSymlinks: null },
];

describe('a start of a build', () => {
  it('gives it its steps once: the same again changes nothing, and another is refused', async () => {
    const asked = await ask('started');
    const body = { fromImage: 'python:3', steps: STEPS, startCmd: 'sleep 1', readyCmd: '', force: true };
    expect(await start(asked, body)).toMatchObject({ status: 202, body: '' });
    const build = await readBuild(asked);
    expect(build.spec).toMatchObject({
      paused: false,
      image: 'python:3',
      force: true,
      startCommand: 'sleep 1',
      steps: [
        { type: 'RUN', args: ['apt-get update', 'root'], force: false },
        { type: 'COPY', args: ['app', '/app', '', ''], filesHash: 'a'.repeat(64), force: true },
        { type: 'WORKDIR', args: ['/app'], force: false },
      ],
    });
    expect(build.spec.readyCommand).toBeUndefined();
    expect((await start(asked, body)).status).toBe(202);
    expect(await start(asked, { ...body, force: false })).toMatchObject({
      status: 400,
      body: { message: 'build is not in waiting state' },
    });
    expect((await readBuild(asked)).metadata.resourceVersion).toBe(build.metadata.resourceVersion);
    expect(await readStatus(asked)).toMatchObject({ body: { status: 'building' } });
  });

  it('and another at the same time: one of them counts', async () => {
    const asked = await ask('raced');
    await using other = await stack.api({ BUILDER_URL: builder.url });
    const path = `POST /v2/templates/${asked.templateID}/builds/${asked.buildID}`;
    const replies = await Promise.all([
      api.call(path, { key, body: { fromImage: 'a' } }),
      other.call(path, { key, body: { fromImage: 'b' } }),
    ]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([202, 400]);
  });

  it('is refused for a build that has ended', async () => {
    const asked = await ask('superseded');
    await builder.end('team-a', asked.buildID, { phase: 'Failed', reason: 'Superseded', message: 'superseded' });
    await waitForStatus(asked, 'error');
    expect((await start(asked, { fromImage: 'a' })).status).toBe(400);
  });

  it('starts although the builder wrote a status that this replica has not seen', async () => {
    const asked = await ask('waiting');
    const patch = { status: { phase: 'Waiting' } };
    const at = { namespace: 'team-a', name: asked.buildID };
    await stack.client.mergePatch(sandboxTemplateBuilds, at, patch, { subresource: 'status' });
    expect((await start(asked, { fromImage: 'a' })).status).toBe(202);
  });

  it('stores credentials where tenants cannot read them, and nowhere else', async () => {
    const asked = await ask('private');
    const fromImageRegistry = { type: 'registry', username: 'ana', password: 'hunter2-hunter2' };
    const body = { fromImage: 'registry.example.com/app', fromImageRegistry };
    expect((await start(asked, body)).status).toBe(202);
    expect((await start(asked, body)).status).toBe(202);
    const build = await readBuild(asked);
    expect(build.spec.registrySecretName).toBe(STORED_CREDENTIALS);
    const name = formatStoredCredentialsName(
      build.metadata,
      build.metadata.annotations?.[annotations.requestDigest] ?? '',
    );
    const secret = await stack.client.get(secrets, { namespace: ENVS_NAMESPACE, name });
    expect(secret.metadata.annotations?.[annotations.storedFor]).toBe(`team-a/${asked.buildID}`);
    const read = (entry: string): string => Buffer.from(secret.data?.[entry] ?? '', 'base64').toString();
    expect(['type', 'username', 'password'].map(read)).toEqual(['registry', 'ana', 'hunter2-hunter2']);
    expect(JSON.stringify(build)).not.toContain('hunter2');
    const others = { ...body, fromImageRegistry: { ...fromImageRegistry, password: 'other' } };
    expect((await start(asked, others)).status).toBe(400);
  });

  it.each([
    ['aws', { awsAccessKeyId: 'a', awsSecretAccessKey: 'b', awsRegion: 'c' }],
    ['gcp', { serviceAccountJson: '{}' }],
  ])('takes credentials of %s, and names one that is missing', async (type, fields) => {
    const asked = await ask(`private-${type}`);
    const body = { fromImage: 'x', fromImageRegistry: { type, ...fields } };
    const [first = ''] = Object.keys(fields);
    const without = { ...body, fromImageRegistry: { ...body.fromImageRegistry, [first]: undefined } };
    expect(await start(asked, without)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(first) as string },
    });
    expect((await start(asked, body)).status).toBe(202);
  });

  it('names the template it starts from: a built one with its tag, another one, or none', async () => {
    const parent = await ask('parent:v1');
    await start(parent, { fromImage: 'x' });
    await builder.finish('team-a', parent.buildID);
    const rows = [
      ['parent:v1', (await readBuild(parent)).spec.templates[0]?.name],
      ['Team-A/parent:v1', (await readBuild(parent)).spec.templates[0]?.name],
      ['base', 'base'],
      ['nonesuch', computeTemplateId('team-a', 'nonesuch')],
      ['team-b/x', computeTemplateId('team-a', 'team-b/x')],
      ['../x y', computeTemplateId('team-a', '../x y')],
    ] as const;
    for (const [fromTemplate, expected] of rows) {
      const asked = await ask('child');
      expect((await start(asked, { fromTemplate })).status).toBe(202);
      const { spec, metadata } = await readBuild(asked);
      expect([fromTemplate, spec.fromTemplateName]).toEqual([fromTemplate, expected]);
      expect(metadata.annotations?.['sandlot.dev/from-template']).toBe(fromTemplate);
    }
  });

  it.each([
    [{}, 'must specify either fromImage or fromTemplate'],
    [{ fromImage: '', fromTemplate: '' }, 'must specify either fromImage or fromTemplate'],
    [{ fromImage: 'a', fromTemplate: 'b' }, 'cannot specify both fromImage and fromTemplate'],
    [{ fromTemplate: 'a', fromImageRegistry: { type: 'gcp', serviceAccountJson: '{}' } }, 'fromImageRegistry: '],
    [{ fromImage: 'a', steps: [{ type: 'RUN', args: ['x'], cache: true }] }, 'cache'],
    [{ fromImage: 'a', steps: [{ type: 'COPY', filesHash: 'x' }] }, 'steps.0.filesHash: expected 64 hex digits'],
    [{ fromImage: 'a', steps: [{ args: [] }] }, 'steps.0.type: '],
    [{ fromImage: 'a', skipCache: true }, 'skipCache'],
  ])('%j is refused, and the build still waits', async (body, message) => {
    const asked = await ask('refused');
    expect(await start(asked, body)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) as string },
    });
    expect((await readBuild(asked)).spec.paused).toBe(true);
  });

  it('is larger than other bodies may be, up to what Kubernetes can keep', async () => {
    const asked = await ask('large');
    const of = (count: number) => ({
      fromImage: 'a',
      steps: Array.from({ length: count }, () => ({ type: 'RUN', args: ['x'.repeat(60_000)] })),
    });
    expect(await start(asked, of(50))).toMatchObject({ status: 413 });
    expect(await start(asked, of(25))).toMatchObject({
      status: 413,
      body: { message: expect.stringContaining('the build is larger than 1400000 bytes') as string },
    });
    expect((await start(asked, of(20))).status).toBe(202);
    expect((await request({ name: 'x'.repeat(1_200_000) })).status).toBe(413);
  });
});

it('nothing is built where the operator has not configured it', async () => {
  await using plain = await stack.api();
  const id = 'x'.repeat(20);
  const at = `${id}/builds/3b1f8a52-9d24-4b55-a1ff-0d6b0c9d4c11`;
  const requests = [
    ['POST /v3/templates', { name: 'app' }],
    ['POST /v2/templates', { alias: 'app' }],
    [`POST /v2/templates/${at}`, { fromImage: 'a' }],
    [`GET /templates/${at}/status`, undefined],
    [`GET /templates/${at}/logs`, undefined],
    [`GET /templates/${id}/files/${'a'.repeat(64)}`, undefined],
  ] as const;
  for (const [request, body] of requests) {
    const reply = await plain.call(request, { key, body });
    const message = 'template builds are not enabled in this installation';
    expect(reply, request).toMatchObject({ status: 403, body: { message, error_code: 'not_enabled' } });
  }
});

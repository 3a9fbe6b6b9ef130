import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { BuildError, Template, waitForPort } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BuilderStandIn } from '../../../test/builder-stand-in.ts';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest } from '../../../test/stack.ts';

let stack: Stack;
let builder: BuilderStandIn;
let api: ApiUnderTest;
let key: string;
let folder: string;
beforeAll(async () => {
  stack = await Stack.start();
  builder = await BuilderStandIn.start(stack.client);
  api = await stack.api({ BUILDER_URL: builder.url });
  key = await stack.key({ namespace: 'team-a' });
  folder = await mkdtemp(join(tmpdir(), 'sandlot-build-'));
  await writeFile(join(folder, 'a file.txt'), 'content');
  await symlink('a file.txt', join(folder, 'link'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const connection = () => ({ apiKey: key, apiUrl: api.url });

const template = () =>
  Template({ fileContextPath: folder })
    .fromPythonImage('3.13')
    .copy('.', '/app', { user: 'root', mode: 0o755, resolveSymlinks: false })
    .copy('a file.txt', '/app/b.txt', { forceUpload: true, gzip: false })
    .setEnvs({ A: '1', B: '$A' })
    .setWorkdir('/app')
    .setUser('user')
    .aptInstall(['git'])
    .pipInstall(['pandas'])
    .skipCache()
    .runCmd(['ls', 'pwd'], { user: 'root' })
    .setStartCmd('python -m http.server 8000', waitForPort(8000));

/** What each build was asked for, by the name of the build. */
function actOn(seen: SandboxTemplateBuild[], end: (build: SandboxTemplateBuild) => Promise<void>): AsyncDisposable {
  return builder.follow(async (build) => {
    seen.push(build);
    const { uid = '' } = build.metadata;
    const entries = Array.from({ length: 150 }, (_none, at) => ({
      timestamp: new Date(at).toISOString(),
      message: `line ${at}`,
      level: 'info' as const,
    }));
    builder.logs.set(uid, entries);
    await end(build);
  });
}

it('a template is built by the stock client: steps, files, log and start command', async () => {
  const seen: SandboxTemplateBuild[] = [];
  await using following = actOn(seen, ({ metadata }) => builder.finish('team-a', metadata.name ?? ''));
  const lines: string[] = [];
  const built = await Template.build(template(), 'stock:v1', {
    ...connection(),
    tags: ['latest'],
    cpuCount: 2,
    memoryMB: 1024,
    minFreeDiskMb: 100,
    onBuildLogs: ({ message }) => lines.push(message),
  });
  expect(following).toBeDefined();
  const [{ spec } = { spec: undefined }] = seen;
  expect(built).toMatchObject({ name: 'stock:v1', tags: ['v1', 'latest'], templateId: expect.any(String) as string });
  expect(spec).toMatchObject({ image: 'python:3.13', cpu: 2, memoryMiB: 1024, minFreeDiskMiB: 100 });
  expect(spec?.steps?.map(({ type, args, force }) => [type, args?.slice(0, 2), force])).toEqual([
    ['COPY', ['.', '/app'], false],
    ['COPY', ['a file.txt', '/app/b.txt'], true],
    ['ENV', ['A', '1'], false],
    ['WORKDIR', ['/app'], false],
    ['USER', ['user'], false],
    ['RUN', [expect.stringContaining('apt-get install'), 'root'], false],
    ['RUN', ['pip install pandas', 'root'], false],
    ['RUN', ['ls && pwd', 'root'], true],
  ]);
  expect(spec).toMatchObject({
    startCommand: 'python -m http.server 8000',
    readyCommand: expect.stringContaining('8000') as string,
  });
  for (const { filesHash } of (spec?.steps ?? []).slice(0, 2))
    expect(builder.files.get(`team-a/${filesHash ?? ''}`)?.length).toBeGreaterThan(0);
  for (const line of ['line 0', 'line 99', 'line 149']) expect(lines.filter((each) => each === line)).toHaveLength(1);
  expect(await Template.exists('stock:v1', connection())).toBe(true);
  expect((await Template.getTags('stock', connection())).map(({ tag }) => tag).toSorted()).toEqual(['latest', 'v1']);
});

it('a step that fails is an error of the stock client, at the line of that step', async () => {
  const message = "failed to run command 'ls && pwd': exit status 1";
  await using following = actOn([], ({ metadata }) =>
    builder.end('team-a', metadata.name ?? '', { phase: 'Failed', reason: 'StepFailed', message, failedStep: '8' }),
  );
  expect(following).toBeDefined();
  const failure = await Template.build(template(), 'failing', connection()).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(BuildError);
  expect((failure as Error).message).toContain(message);
  expect((failure as Error).stack).toMatch(/stock-build\.integration\.test\.ts:4\d/);
});

it('a build in the background goes on without its client, which asks for its state', async () => {
  const started = await Template.buildInBackground(template(), 'background', connection());
  const read = () => Template.getBuildStatus(started, connection());
  expect(await read()).toMatchObject({ status: 'building', buildID: started.buildId, logEntries: [] });
  await builder.finish('team-a', started.buildId);
  await expect.poll(async () => (await read()).status).toBe('ready');
});

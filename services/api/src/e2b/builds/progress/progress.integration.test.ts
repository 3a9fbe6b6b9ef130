import { sandboxTemplateBuilds } from '@sandlot/api-types';
import type { LogEntry } from '@sandlot/template-build';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BuilderStandIn } from '../../../../test/builder-stand-in.ts';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../../test/stack.ts';

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
  api = await stack.api({ BUILDER_URL: builder.url });
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
});
afterEach(() => {
  builder.isDown = false;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const get = (path: string, asked = key): Promise<Reply> => api.call(`GET ${path}`, { key: asked });

async function ask(name: string): Promise<Requested> {
  const reply = await api.call('POST /v3/templates', { key, body: { name } });
  expect(reply.status, JSON.stringify(reply.body)).toBe(202);
  return reply.body as Requested;
}

const start = ({ templateID, buildID }: Requested, body: unknown, asked = key): Promise<Reply> =>
  api.call(`POST /v2/templates/${templateID}/builds/${buildID}`, { key: asked, body });

const readStatus = ({ templateID, buildID }: Requested, query = '', asked = key): Promise<Reply> =>
  get(`/templates/${templateID}/builds/${buildID}/status${query}`, asked);

/** By which the builder knows the build. */
const readUid = async ({ buildID }: Requested): Promise<string> =>
  (await stack.client.get(sandboxTemplateBuilds, { namespace: 'team-a', name: buildID })).metadata.uid ?? '';

/** Until the replica has seen it. */
async function waitForStatus(of: Requested, wanted: string): Promise<unknown> {
  for (;;) {
    const { body } = await readStatus(of);
    if ((body as { status: string }).status === wanted) return body;
  }
}

const entry = (message: string, level: LogEntry['level'] = 'info'): LogEntry => ({
  timestamp: `2026-01-01T00:00:0${message.length}.000Z`,
  message,
  level,
});

describe('the status of a build', () => {
  it('has the log page by page, and an empty page at its end', async () => {
    const asked = await ask('logged');
    await start(asked, { fromImage: 'a' });
    builder.logs.set(await readUid(asked), [entry('a'), entry('bb', 'debug'), entry('ccc', 'error')]);
    const read = async (query: string): Promise<string> => {
      const { body } = await readStatus(asked, query);
      return (body as { logEntries: LogEntry[] }).logEntries.map(({ message }) => message).join(' ');
    };
    expect([await read(''), await read('?logsOffset=1'), await read('?logsOffset=3')]).toEqual([
      'a bb ccc',
      'bb ccc',
      '',
    ]);
    expect([await read('?level=info'), await read('?level=info&logsOffset=1&limit=1')]).toEqual(['a ccc', 'ccc']);
    for (const query of ['?logsOffset=-1', '?limit=0', '?limit=101', '?level=loud'])
      expect((await readStatus(asked, query)).status, query).toBe(400);
    await builder.finish('team-a', asked.buildID);
    expect(await waitForStatus(asked, 'ready')).toMatchObject({
      logs: [],
      buildID: asked.buildID,
      templateID: asked.templateID,
    });
    expect(await waitForStatus(asked, 'ready')).not.toHaveProperty('reason');
    expect([await read('?logsOffset=3'), await read('?logsOffset=99')]).toEqual(['', '']);
    expect(new Set(builder.seen)).toEqual(new Set([expect.stringMatching(/^Bearer [0-9a-f]{64}$/)]));
  });

  it('says why it failed, and at which step', async () => {
    const asked = await ask('failing');
    await start(asked, { fromImage: 'a' });
    const message = "failed to run command 'false': exit status 1";
    await builder.end('team-a', asked.buildID, { phase: 'Failed', reason: 'StepFailed', message, failedStep: '3' });
    expect(await waitForStatus(asked, 'error')).toMatchObject({ reason: { message, step: '3', logEntries: [] } });
  });

  it('has no log while the builder is away, and while it builds does not wait for it', async () => {
    const asked = await ask('lonely');
    await start(asked, { fromImage: 'a' });
    builder.isDown = true;
    expect(await readStatus(asked)).toMatchObject({ status: 200, body: { status: 'building', logEntries: [] } });
  });

  it('of a build that has ended waits for a builder that comes back', async () => {
    const asked = await ask('patient');
    await start(asked, { fromImage: 'a' });
    await builder.finish('team-a', asked.buildID);
    await waitForStatus(asked, 'ready');
    builder.logs.set(await readUid(asked), [entry('last')]);
    builder.isDown = true;
    const before = builder.seen.length;
    const reply = readStatus(asked);
    while (builder.seen.length < before + 2) await new Promise((resolve) => setImmediate(resolve));
    builder.isDown = false;
    expect((await reply).body).toMatchObject({ status: 'ready', logEntries: [{ message: 'last' }] });
  });

  it('is found by a replica that has not seen the build, and by no other team, template or id', async () => {
    const asked = await ask('found');
    await using other = await stack.api({ BUILDER_URL: builder.url });
    const path = `/templates/${asked.templateID}/builds/${asked.buildID}/status`;
    expect((await other.call(`GET ${path}`, { key })).status).toBe(200);
    const missing = { status: 400, body: { message: `Build '${asked.buildID}' not found` } };
    expect(await readStatus(asked, '', foreignKey)).toMatchObject(missing);
    expect(await readStatus({ ...asked, templateID: 'base' })).toMatchObject(missing);
    expect(await start(asked, { fromImage: 'a' }, foreignKey)).toMatchObject(missing);
    for (const buildID of ['x', '..%2f..%2fsecrets', '3b1f8a52-9d24-4b55-a1ff-0d6b0c9d4c11'])
      expect((await readStatus({ ...asked, buildID })).status, buildID).toBe(400);
  });
});

it('the log of a build can be read from both ends, and from a time', async () => {
  const asked = await ask('read');
  await start(asked, { fromImage: 'a' });
  const path = `/templates/${asked.templateID}/builds/${asked.buildID}/logs`;
  builder.logs.set(
    await readUid(asked),
    ['a', 'bb', 'ccc', 'dddd'].map((text) => entry(text)),
  );
  const read = async (query: string): Promise<string> => {
    const { body } = await get(`${path}${query}`);
    return (body as { logs: LogEntry[] }).logs.map(({ message }) => message).join(' ');
  };
  expect(await read('')).toBe('a bb ccc dddd');
  expect(await read('?direction=backward&limit=2')).toBe('dddd ccc');
  const at = Date.parse(entry('ccc').timestamp);
  expect(await read(`?cursor=${at}`)).toBe('ccc dddd');
  expect(await read(`?cursor=${at}&direction=backward&limit=2`)).toBe('ccc bb');
  builder.isDown = true;
  expect((await get(path)).status).toBe(503);
});

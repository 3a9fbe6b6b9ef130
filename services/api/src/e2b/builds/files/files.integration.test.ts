import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BuilderStandIn } from '../../../../test/builder-stand-in.ts';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../../test/stack.ts';

const MOST_BYTES = 4_194_304;
const HASH = 'a'.repeat(64);

let stack: Stack;
let builder: BuilderStandIn;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
let templateID: string;
beforeAll(async () => {
  stack = await Stack.start();
  builder = await BuilderStandIn.start(stack.client);
  api = await stack.api({ BUILDER_URL: builder.url, BUILD_FILES_MAX_BYTES: String(MOST_BYTES) });
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
  const { body } = await api.call('POST /v3/templates', { key, body: { name: 'app' } });
  ({ templateID } = body as { templateID: string });
});
afterEach(() => {
  builder.isDown = false;
  builder.uploads = 'store';
  builder.files.clear();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const askFor = (hash = HASH, headers: Record<string, string> = {}, asked = key): Promise<Reply> =>
  api.call(`GET /templates/${templateID}/files/${hash}`, { key: asked, headers });

async function askUrl(hash = HASH): Promise<string> {
  const { body } = await askFor(hash);
  return (body as { url: string }).url;
}

const put = (url: string, body: Buffer): Promise<Response> => fetch(url, { method: 'PUT', body: new Uint8Array(body) });

/** An upload that writes as the test says; `length` undefined: in chunks. */
function open(url: string, length?: number): ClientRequest {
  const headers = length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length };
  const request = sendRequest(url, { method: 'PUT', headers });
  request.on('error', () => undefined);
  return request;
}

async function readAnswer(
  request: ClientRequest,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, text };
}

/** Until the upload has reached the builder, and it has seen it end. */
async function waitForBroken(count: number): Promise<void> {
  while (builder.broken < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('files of a build', () => {
  it('go to the builder as they are, with no API key but a signed URL on the origin of the client', async () => {
    const reply = await askFor(HASH, { 'X-Forwarded-Proto': 'https' });
    expect(reply).toMatchObject({ status: 201, body: { present: false } });
    const { url } = reply.body as { url: string };
    expect(url).toMatch(`https://${new URL(api.url).host}/templates/${templateID}/files/${HASH}?`);
    const content = Buffer.alloc(3_000_000, 'archive');
    const response = await put(url.replace('https:', 'http:'), content);
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(builder.files.get(`team-a/${HASH}`)?.equals(content)).toBe(true);
    expect(await askFor()).toMatchObject({ status: 201, body: { present: true, url: expect.any(String) as string } });
    expect((await put(await askUrl(), Buffer.from('again'))).status).toBe(204);
    expect(builder.files.get(`team-a/${HASH}`)?.toString()).toBe('again');
  });

  it('may come in chunks without a length', async () => {
    const request = open(await askUrl());
    for (const text of ['one', 'two']) request.write(text);
    request.end();
    expect((await readAnswer(request)).status).toBe(204);
    expect(builder.files.get(`team-a/${HASH}`)?.toString()).toBe('onetwo');
  });

  it('are asked for by their own team, for a template that it builds, with a hash', async () => {
    expect((await askFor(HASH, {}, foreignKey)).status).toBe(404);
    expect(await api.call(`GET /templates/nonesuch/files/${HASH}`, { key })).toMatchObject({ status: 404 });
    for (const hash of ['x', 'A'.repeat(64), '..%2f..%2flogs'])
      expect(await askFor(hash)).toMatchObject({ status: 400, body: { message: 'Invalid files hash' } });
    builder.isDown = true;
    expect(await askFor()).toMatchObject({ status: 503, body: { message: 'no builder is available' } });
  });

  it('are found by a replica that has not seen the request for the template', async () => {
    await using other = await stack.api({ BUILDER_URL: builder.url });
    expect((await other.call(`GET /templates/${templateID}/files/${HASH}`, { key })).status).toBe(201);
  });
});

describe('an upload', () => {
  it.each([
    ['of another namespace', (url: string) => url.replace('namespace=team-a', 'namespace=team-b')],
    ['of another archive', (url: string) => url.replace(HASH, 'b'.repeat(64))],
    ['of another template', (url: string) => url.replace(templateID, 'other')],
    [
      'with a later end',
      (url: string) => url.replace(/expires=(\d+)/, (_all, ms: string) => `expires=${Number(ms) + 1}`),
    ],
    ['that has expired', (url: string) => url.replace(/expires=\d+/, 'expires=1')],
    ['with another signature', (url: string) => url.replace(/signature=\w{4}/, 'signature=0000')],
  ])('%s is refused before anything of it is read', async (_what, change) => {
    const request = open(change(await askUrl()), 1_000_000);
    request.flushHeaders();
    expect((await readAnswer(request)).status).toBe(403);
    expect(builder.files.size).toBe(0);
    request.destroy();
  });

  it('without a signature is refused', async () => {
    const url = (await askUrl()).replace(/signature=\w+/, '');
    expect((await put(url, Buffer.from('x'))).status).toBe(400);
    expect((await put(`${api.url}/templates/${templateID}/files/${HASH}`, Buffer.from('x'))).status).toBe(400);
  });

  it('that says it is too large is refused before anything of it is read', async () => {
    const request = open(await askUrl(), MOST_BYTES + 1);
    request.flushHeaders();
    const { status, text } = await readAnswer(request);
    expect([status, JSON.parse(text)]).toEqual([
      413,
      { code: 413, message: `the files are larger than ${MOST_BYTES} bytes` },
    ]);
    request.destroy();
  });

  it('that becomes too large is ended at both sides', async () => {
    const before = builder.broken;
    const request = open(await askUrl());
    const answer = readAnswer(request);
    for (let sent = 0; sent <= MOST_BYTES; sent += 65_536) request.write(Buffer.alloc(65_536));
    expect((await answer).status).toBe(413);
    await waitForBroken(before + 1);
    expect(builder.files.size).toBe(0);
    request.destroy();
  });

  it('whose client goes away ends at the builder, which stores nothing', async () => {
    const before = builder.broken;
    const request = open(await askUrl(), 1_000_000);
    request.write(Buffer.alloc(500_000));
    const seen = builder.seen.length;
    while (builder.seen.length === seen) await new Promise((resolve) => setImmediate(resolve));
    request.destroy();
    await waitForBroken(before + 1);
    expect(builder.files.size).toBe(0);
  });

  it('that the builder refuses gets its words, also in the middle', async () => {
    builder.uploads = 'refuse';
    const request = open(await askUrl(), 1_000_000);
    request.write(Buffer.alloc(500_000));
    expect(await readAnswer(request)).toMatchObject({
      status: 400,
      text: expect.stringContaining('the files are no tar') as string,
    });
    request.destroy();
  });

  it('gets 503 while the builder is away or cannot store it', async () => {
    const url = await askUrl();
    builder.isDown = true;
    const refused = await put(url, Buffer.from('x'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(((await refused.json()) as { message: string }).message).toBe('Redis is away');
    await using alone = await stack.api({ BUILDER_URL: 'http://127.0.0.1:9' });
    const response = await put(url.replace(api.url, alone.url), Buffer.from('x'));
    expect([response.status, await response.json()]).toEqual([503, { code: 503, message: 'no builder is available' }]);
  });

  it('beyond those that a team may have at a time is refused, and others go on', async () => {
    builder.uploads = 'hang';
    const url = await askUrl();
    const seen = builder.seen.length;
    const requests = Array.from({ length: 200 }, () => open(url, 1_000_000));
    for (const request of requests) request.write(Buffer.alloc(1_000));
    while (builder.seen.length < seen + 200) await new Promise((resolve) => setImmediate(resolve));
    const refused = await put(url, Buffer.from('x'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    for (const request of requests) request.destroy();
    builder.uploads = 'store';
    await expect.poll(async () => (await put(url, Buffer.from('x'))).status).toBe(204);
  });

  it('does not stop other requests to the API, however many stand still', async () => {
    builder.uploads = 'hang';
    const url = await askUrl();
    const requests = Array.from({ length: 50 }, () => open(url, 1_000_000));
    for (const request of requests) request.write(Buffer.alloc(1_000));
    for (let calls = 0; calls < 5; calls += 1) expect((await api.call('GET /templates', { key })).status).toBe(200);
    for (const request of requests) request.destroy();
  });
});

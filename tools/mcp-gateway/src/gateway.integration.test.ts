import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Place, readText, TOKEN } from '../test/gateway.ts';
import { MOST_BODY_BYTES, MOST_REQUESTS } from './http.ts';

const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const PATIENT = { timeout: 30_000, interval: 100 };

describe('a gateway with several servers', () => {
  let place: Place;
  beforeAll(async () => {
    place = await Place.make();
    const config = { filesystem: { paths: [place.root] }, memory: {}, sequentialthinking: {}, fragile: {}, twin: {} };
    expect(await place.start(config)).toEqual({ code: 0, stderr: '' });
  });
  afterAll(() => place[Symbol.asyncDispose]());

  it('listens when the command returns, and offers the tools of all servers', async () => {
    const client = await place.connect();
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['write_file', 'create_entities', 'sequentialthinking', 'fragile_pid', 'twin_pid']),
    );
    expect(new Set(names).size).toBe(names.length);
    await client.close();
  });

  it('calls tools of each server', async () => {
    const client = await place.connect();
    const path = join(place.root, 'note');
    await client.callTool({ name: 'write_file', arguments: { path, content: 'hello' } });
    expect(await readFile(path, 'utf8')).toBe('hello');
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    await client.callTool({ name: 'create_entities', arguments: { entities } });
    expect(readText(await client.callTool({ name: 'search_nodes', arguments: { query: 'Ada' } }))).toContain('writes');
    await client.close();
  });

  it('hands on the refusal of a server, and that of a tool that no server has', async () => {
    const client = await place.connect();
    const refused = await client.callTool({ name: 'read_text_file', arguments: { path: '/etc/passwd' } });
    expect(refused.isError).toBe(true);
    expect(readText(refused)).toMatch(/outside allowed directories/);
    await expect(client.callTool({ name: 'pid' })).rejects.toThrow("there is no tool 'pid'");
    await client.close();
  });

  it('hands on the progress of a call', async () => {
    const client = await place.connect();
    const seen: number[] = [];
    const releases: Promise<unknown>[] = [];
    const onprogress = ({ progress }: { readonly progress: number }): void => {
      seen.push(progress);
      releases.push(client.callTool({ name: 'fragile_release' }));
    };
    expect(readText(await client.callTool({ name: 'fragile_hold' }, undefined, { onprogress }))).toBe('released');
    expect(seen).toEqual([1]);
    await Promise.all(releases);
    await client.close();
  });

  it.each(['die', 'flood'])('says that a server ended during %s, and starts it again', async (tool) => {
    const client = await place.connect();
    const before = readText(await client.callTool({ name: 'fragile_pid' }));
    const failed = await client.callTool({ name: `fragile_${tool}` });
    expect(failed.isError).toBe(true);
    expect(readText(failed)).toContain(`server 'fragile' ended during '${tool}', and the next call starts it again`);
    const twin = readText(await client.callTool({ name: 'twin_pid' }));
    expect(Number(twin)).toBeGreaterThan(0);
    expect(readText(await client.callTool({ name: 'fragile_pid' }))).not.toBe(before);
    await client.close();
  });

  it('gives servers neither the token nor the configuration', async () => {
    const client = await place.connect();
    const environment = readText(await client.callTool({ name: 'fragile_environment' }));
    expect(environment).toContain('PATH');
    expect(environment).not.toMatch(/GATEWAY|filesystem/);
    expect(environment).not.toContain(TOKEN);
    await client.close();
  });

  it('refuses another token, and none', async () => {
    await expect(place.connect('another-token-of-some-length')).rejects.toThrow(
      /401|Unauthorized|token of this gateway/,
    );
    const answer = await place.post(list, { Authorization: '' });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it.each<[string, number, string, Readonly<Record<string, string>>]>([
    ['a page of another origin', 403, list, { Origin: 'https://evil.example.com' }],
    ['a batch', 400, `[${list},${list}]`, {}],
    ['what is not JSON', 400, '{', {}],
    ['what is not a message', 400, '{"id":1}', {}],
    ['a message that is too large', 413, `"${'x'.repeat(MOST_BODY_BYTES)}"`, {}],
  ])('refuses %s', async (...[, status, body, headers]) => {
    const answer = await place.post(body, headers);
    expect(answer.status).toBe(status);
    await answer.text();
  });

  it('refuses a name that a page points at the sandbox', async () => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const headers = { Host: 'rebound.example.com', Authorization: `Bearer ${TOKEN}` };
    httpRequest(place.url, { method: 'POST', headers }, (answer) => resolve(answer.resume().statusCode))
      .once('error', reject)
      .end(list);
    expect(await promise).toBe(403);
  });

  it('answers 503 while too many requests run, and 200 afterwards', async () => {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Length': 2 };
    const unfinished = Array.from({ length: MOST_REQUESTS }, () => {
      const request = httpRequest(place.url, { agent: false, method: 'POST', headers });
      request.on('error', () => undefined).flushHeaders();
      return request;
    });
    await vi.waitFor(async () => expect((await place.post(list)).status).toBe(503), PATIENT);
    for (const request of unfinished) request.destroy();
    await vi.waitFor(async () => expect((await place.post(list)).status).toBe(200), PATIENT);
  });

  it('survives arguments of any depth', async () => {
    const depth = 100_000;
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const params = `{"name":"fragile_pid","arguments":{"x":${deep}}}`;
    const answer = await place.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    await answer.text();
    expect((await place.post(list)).status).toBe(200);
  });

  it('keeps the token for root alone', async () => {
    const file = join(place.root, 'state/.token');
    expect(await readFile(file, 'utf8')).toBe(TOKEN);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(place.root, 'state'))).mode & 0o777).toBe(0o700);
  });

  it('refuses a second gateway, and goes on', async () => {
    const second = await place.start({ memory: {} });
    expect(second.code).toBe(1);
    expect(second.stderr).toBe(
      `cannot listen on port ${place.port}: it is in use; a gateway may run in this sandbox already`,
    );
    expect((await place.post(list)).status).toBe(200);
  });

  it('is there again after it was killed, for the clients of before', async () => {
    const client = await place.connect();
    const [pid = 0] = await place.processes('gateway');
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(async () => expect((await client.listTools()).tools.length).toBeGreaterThan(20), PATIENT);
    expect(await place.processes('gateway')).not.toContain(pid);
    expect(readText(await client.callTool({ name: 'twin_release' }))).toBe('done');
    await client.close();
  });
});

describe('a gateway after a boot', () => {
  it('starts with the configuration of before, without servers that no longer start', async () => {
    await using place = await Place.make();
    const folder = join(place.root, 'work');
    await mkdir(folder);
    expect((await place.start({ filesystem: { paths: [folder] }, fragile: {} })).code).toBe(0);
    for (const kind of ['loop', 'gateway'] as const) {
      for (const pid of await place.processes(kind)) process.kill(pid, 'SIGKILL');
    }
    await rm(folder, { recursive: true });
    expect(await place.run(['restore'], {})).toEqual({ code: 0, stderr: '' });
    const client = await vi.waitFor(() => place.connect(), PATIENT);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('pid');
    await mkdir(folder);
    await writeFile(join(folder, 'x'), '');
    const tools = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);
    await vi.waitFor(async () => expect(await tools()).toContain('list_directory'), PATIENT);
    await client.close();
  });

  it('does nothing where no gateway ran', async () => {
    await using place = await Place.make();
    expect(await place.run(['restore'], {})).toEqual({ code: 0, stderr: '' });
    expect(await place.processes('loop')).toEqual([]);
  });
});

describe('a start that fails', () => {
  it.each([
    ['an unknown server', { fragile: {}, postgres: {} }, "server 'postgres' is not available in this installation"],
    ['a server that ends', { fragile: {}, broken: {} }, "server 'broken' did not start: fragile: no such folder"],
  ])('says which: %s', async (_, config, stderr) => {
    await using place = await Place.make();
    expect(await place.start(config)).toEqual({ code: 1, stderr });
    await vi.waitFor(async () => expect(await place.processes('loop')).toEqual([]), PATIENT);
    expect(await place.processes('gateway')).toEqual([]);
    await expect(stat(join(place.root, 'state'))).rejects.toThrow('ENOENT');
  });

  it('says that the port is taken', async () => {
    await using place = await Place.make();
    const other = createServer().listen(place.port);
    const { code, stderr } = await place.start({ fragile: {} });
    other.close();
    expect([code, stderr]).toEqual([1, expect.stringContaining(`cannot listen on port ${place.port}: it is in use`)]);
  });

  it('needs a token', async () => {
    await using place = await Place.make();
    const { code, stderr } = await place.run(['--config', '{"memory":{}}'], {});
    expect([code, stderr]).toEqual([1, 'GATEWAY_ACCESS_TOKEN has to have 16 to 512 printable characters']);
  });

  it.each([
    ['memory', 0, ''],
    ['postgres', 1, "server 'postgres' is not available in this installation"],
  ])('pulls %s, if the image has it', async (name, code, stderr) => {
    await using place = await Place.make();
    expect(await place.run(['pull', 'memory', name], {})).toEqual({ code, stderr });
  });
});

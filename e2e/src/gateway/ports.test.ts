import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/team.ts';
import { ask, json } from '../support/sdk/http.ts';
import { PORTS, startServers } from '../support/sdk/servers.ts';
import { readAccess, openSandbox } from '../support/sdk/client.ts';

let sandbox: Sandbox & AsyncDisposable;
let gateway: URL;
beforeAll(async () => {
  gateway = new URL((await readAccess()).apiUrl);
  sandbox = await openSandbox();
  await startServers(sandbox);
});
afterAll(() => sandbox[Symbol.asyncDispose]());

describe('a port of a sandbox, by the host of getHost', () => {
  it('has its own host below the domain', async () => {
    expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.${(await readAccess()).domain}`);
  });

  it.each([
    ['on every address', PORTS.echo],
    ['on loopback only', PORTS.loopback],
  ])('answers HTTP requests when its server listens %s', async (_, port) => {
    const host = sandbox.getHost(port);
    const headers = { 'X-API-Key': 'none of yours', 'X-Own': 'mine', 'Content-Length': '4' };
    const answer = await ask(host, { method: 'PUT', path: '/a%2Fb//../c?d=%20e', body: 'body', headers });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['x-own']).toBe('kept');
    const seen = await json(answer);
    expect(seen).toMatchObject({ method: 'PUT', path: '/a%2Fb//../c?d=%20e', body: 'body', host });
    expect(seen['names']).toContain('x-own');
    expect(seen['names']).not.toContain('x-api-key');
  });

  it('streams server-sent events as they are sent', async () => {
    const answer = await ask(sandbox.getHost(PORTS.events));
    expect(answer.headers['content-type']).toBe('text/event-stream');
    answer.setEncoding('utf8');
    const [first] = (await once(answer, 'data')) as [string];
    expect(first).toBe('data: first\n\n');
    // Read from here on: without a reader the answer would flow on, and drop an event that comes before the write returns.
    const rest = text(answer);
    await sandbox.files.write('/tmp/go-on', '');
    expect(await rest).toBe('data: second\n\n');
  });

  it('accepts WebSockets', async () => {
    const key = randomBytes(16).toString('base64');
    const headers = {
      Host: sandbox.getHost(PORTS.sockets),
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': key,
    };
    const sent = request({ agent: false, hostname: gateway.hostname, port: gateway.port, headers }).end();
    const [answer, socket] = (await once(sent, 'upgrade')) as [IncomingMessage, Socket];
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    expect(answer.headers['sec-websocket-accept']).toBe(accept);
    const mask = randomBytes(4);
    const masked = Buffer.from('hello').map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    socket.write(Buffer.concat([Buffer.from([0x81, 0x85]), mask, masked]));
    const [frame] = (await once(socket, 'data')) as [Buffer];
    expect(frame).toEqual(Buffer.concat([Buffer.from([0x81, 5]), Buffer.from('hello')]));
    socket.destroy();
  });

  it('answers 502 with the port when nothing listens', async () => {
    const answer = await ask(sandbox.getHost(8099));
    expect(answer.statusCode).toBe(502);
    expect(await json(answer)).toMatchObject({ sandboxId: sandbox.sandboxId, port: 8099, code: 502 });
  });

  it('answers 502 for a sandbox that does not exist', async () => {
    const answer = await ask(`8000-${'z'.repeat(20)}.${(await readAccess()).domain}`);
    expect(answer.statusCode).toBe(502);
    expect(String((await json(answer))['message'])).toContain('was not found');
  });

  it.each(['/init', '/%69nit', '/x/../init', '/sandlot/tunnel?port=22'])(
    'answers 404 for the control route %s of the daemon',
    async (path) => {
      const answer = await ask(sandbox.getHost(49_983), { method: 'POST', path });
      expect(answer.statusCode).toBe(404);
    },
  );

  it('answers 404 for the runtime API, which has no authentication', async () => {
    const answer = await ask(sandbox.getHost(8888), { method: 'POST', path: '/execute', body: '{"command":"id"}' });
    expect(answer.statusCode).toBe(404);
  });

  it('is closed once the gateway has seen that the sandbox was killed', async () => {
    await using other = await openSandbox();
    const host = other.getHost(49_983);
    expect((await ask(host, { path: '/health' })).statusCode).toBe(204);
    await other.kill();
    // The kill is acknowledged when etcd has it, and the gateway's watch shows it a moment later.
    const askKilled = async (): Promise<string> => {
      const answer = await ask(host, { path: '/health' });
      return answer.statusCode === 502 ? String((await json(answer))['message']) : `${answer.statusCode}`;
    };
    await expect.poll(askKilled, { timeout: 10_000, interval: 20 }).toContain('was not found');
  });
});

describe('the daemon', () => {
  it('refuses requests without a valid token', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const path = '/process.Process/List';
    const host = sandbox.getHost(49_983);
    for (const more of [{}, { 'X-Access-Token': 'f'.repeat(64) }]) {
      const answer = await ask(host, { method: 'POST', path, body: '{}', headers: { ...headers, ...more } });
      expect(answer.statusCode).toBe(401);
    }
  });

  /** Path and query of a signed URL. In single-URL mode its host names no sandbox. */
  const target = (url: string): string => {
    const { pathname, search } = new URL(url);
    return `${pathname}${search}`;
  };

  it('serves a file for a signed URL until it expires, and no other path', async () => {
    await sandbox.files.write('signed.txt', 'signed');
    const host = sandbox.getHost(49_983);
    const url = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60_000 });
    const answer = await ask(host, { path: target(url) });
    expect([answer.statusCode, await text(answer)]).toEqual([200, 'signed']);
    const forever = await ask(host, { path: target(await sandbox.downloadUrl('signed.txt')) });
    expect(await text(forever)).toBe('signed');
    const tampered = await ask(host, { path: target(url).replace('signed.txt', 'servers.py') });
    expect(tampered.statusCode).toBe(401);
    const expired = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -5 });
    expect((await ask(host, { path: target(expired) })).statusCode).toBe(401);
    expect((await ask(host, { path: '/files?path=signed.txt' })).statusCode).toBe(401);
  });

  it('accepts an upload to a signed URL', async () => {
    const form = new FormData();
    form.append('file', new Blob(['uploaded']), 'up.txt');
    const body = new Request('http://unused', { method: 'POST', body: form });
    const path = target(await sandbox.uploadUrl('up.txt'));
    const headers = { 'Content-Type': body.headers.get('content-type') ?? '' };
    const answer = await ask(sandbox.getHost(49_983), { method: 'POST', path, body: await body.text(), headers });
    expect(answer.statusCode).toBe(200);
    expect(await sandbox.files.read('up.txt')).toBe('uploaded');
  });

  it('answers 400 for a signed URL in single-URL mode, which names no sandbox', async () => {
    const answer = await ask(gateway.host, { path: target(await sandbox.downloadUrl('signed.txt')) });
    expect(answer.statusCode).toBe(400);
    expect(String((await json(answer))['message'])).toContain('E2B_DOMAIN');
  });
});

it('a sandbox with autoResume wakes for a request to one of its ports', async () => {
  const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
  await using sleeper = await openSandbox({ lifecycle });
  await sleeper.pause();
  const answer = await ask(sleeper.getHost(8000));
  expect([answer.statusCode, (await json(answer))['message']]).toEqual([
    502,
    expect.stringContaining('port is not open'),
  ]);
  expect((await sleeper.getInfo()).state).toBe('running');
});

it('a sandbox whose ports are not public is reached only with its traffic token', async () => {
  await using closed = await openSandbox({ network: { allowPublicTraffic: false } });
  await closed.commands.run('python3 -m http.server 8000', { background: true, timeoutMs: 0 });
  const host = closed.getHost(8000);
  expect((await ask(host)).statusCode).toBe(403);
  expect((await ask(host, { headers: { 'e2b-traffic-access-token': 'f'.repeat(64) } })).statusCode).toBe(403);
  const headers = { 'e2b-traffic-access-token': closed.trafficAccessToken ?? '' };
  await eventually('the server answers', async () =>
    (await ask(host, { headers })).statusCode === 200 ? true : undefined,
  );
});

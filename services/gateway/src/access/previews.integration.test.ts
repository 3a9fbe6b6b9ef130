import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { derivePreviewKey, formatPreviewKey, signPreview } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import type { Echo, Reply } from '../../test/client.ts';
import { GatewayHarness, eventually } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const TOKEN = 'a traffic token';
const SECRET = Buffer.alloc(32, 7);
const PORT = 8080;
const PAGE = { Accept: 'text/html,*/*' };

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start({ TRUSTED_PROXIES: '127.0.0.1/32' });
});
afterAll(() => harness[Symbol.asyncDispose]());

const getKey = (subject: string, generation = 0) => derivePreviewKey(SECRET, subject, generation);

async function createGuarded(subject: string): Promise<TestSandbox> {
  const sandbox = await harness.createSandbox({
    claimAnnotations: {
      [annotations.trafficTokenHash]: createHash('sha256').update(TOKEN).digest('hex'),
      [annotations.previewKey]: formatPreviewKey(getKey(subject)),
    },
  });
  await startSandboxServer(sandbox.address, echo, PORT);
  return sandbox;
}

interface Signed {
  readonly port?: number;
  readonly lastsSeconds?: number;
  readonly generation?: number;
}

function sign(subject: string, { claimUid }: TestSandbox, given: Signed = {}): string {
  const { port = PORT, lastsSeconds = 600, generation = 0 } = given;
  const expires = Math.floor(Date.now() / 1_000) + lastsSeconds;
  return signPreview(getKey(subject, generation), { uid: claimUid, port, expires });
}

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly port?: number;
}

function visit(sandbox: TestSandbox, { headers, port = PORT, ...rest }: Sent): Promise<Reply> {
  return ask(harness.port, { ...rest, headers: { Host: harness.buildHost(sandbox, port), ...headers } });
}

const withPreview = (token: string, path = '/') => `${path}?sandlot-preview=${token}`;
const getCookie = ({ headers }: Reply): string => headers['set-cookie']?.[0]?.split(';')[0] ?? '';

/** What the server of a sandbox has seen of a request that switched protocols. */
function readUpgrade(given: unknown[]): unknown {
  const [{ headers }, socket] = given as [IncomingMessage, Socket];
  socket.destroy();
  return JSON.parse(String(headers['x-seen']));
}

const readStatus = ([answer]: unknown[]): unknown => (answer as IncomingMessage).statusCode;

describe('the URL of a preview', () => {
  it('sets a cookie of this host and leads to the page without the signature, whose links then work', async () => {
    const sandbox = await createGuarded('a');
    const token = sign('a', sandbox);
    const opened = await visit(sandbox, { path: `/app/?x=1&sandlot-preview=${token}&y=2`, headers: PAGE });
    expect(opened).toMatchObject({ status: 302, headers: { location: '/app/?x=1&y=2', 'cache-control': 'no-store' } });
    expect(opened.headers['referrer-policy']).toBe('no-referrer');
    const attributes = opened.headers['set-cookie']?.[0] ?? '';
    expect(attributes).toMatch(/^sandlot-preview=\S+; Path=\/; Max-Age=(600|599); HttpOnly; SameSite=Lax$/);
    const Cookie = `theirs=1; ${getCookie(opened)}; more=2`;
    const page = await visit(sandbox, { path: '/app/?x=1&y=2', headers: { ...PAGE, Cookie } });
    expect(page).toMatchObject({
      status: 200,
      json: { url: '/app/?x=1&y=2', headers: { cookie: 'theirs=1; more=2' } },
    });
    expect((await visit(sandbox, { method: 'POST', path: '/form', headers: { Cookie } })).status).toBe(200);
    expect(page.text).not.toContain(token);
  });

  it('opens over TLS with a cookie that no neighbour can set', async () => {
    const sandbox = await createGuarded('tls');
    const proxied = { ...PAGE, 'X-Forwarded-Proto': 'https' };
    const opened = await visit(sandbox, { path: withPreview(sign('tls', sandbox)), headers: proxied });
    expect(opened.headers['set-cookie']?.[0]).toMatch(/^__Host-sandlot-preview=.*; Path=\/; .*; Secure$/);
    const value = getCookie(opened).replace('__Host-', '');
    const tossed = await visit(sandbox, { headers: { ...proxied, Cookie: value } });
    const right = await visit(sandbox, { headers: { ...proxied, Cookie: `__Host-${value}` } });
    expect([tossed.status, right.status, (right.json as Echo).headers['cookie']]).toEqual([403, 200, undefined]);
  });

  it('serves a program at once, which never sees the signature', async () => {
    const sandbox = await createGuarded('b');
    const path = withPreview(sign('b', sandbox), '/hook');
    const headers = { Referer: `http://${harness.buildHost(sandbox, PORT)}${path}` };
    const answer = await visit(sandbox, { method: 'POST', path, headers });
    expect(answer).toMatchObject({ status: 200, json: { url: '/hook', method: 'POST' } });
    expect((answer.json as Echo).headers['referer']).toBeUndefined();
    expect(answer.text).not.toContain('sandlot-preview');
  });

  it('stays at its host, whatever the path', async () => {
    const sandbox = await createGuarded('c');
    const token = sign('c', sandbox);
    for (const path of ['//evil.example/x', '/\\evil.example/x']) {
      const { headers } = await visit(sandbox, { path: withPreview(token, path), headers: PAGE });
      const base = `http://${harness.buildHost(sandbox, PORT)}`;
      expect(new URL(headers.location ?? '', base).origin).toBe(base);
    }
  });

  it('opens a WebSocket, by the URL and by the cookie of its own page', async () => {
    const sandbox = await createGuarded('ws');
    const server = await startSandboxServer(sandbox.address, echo, 8081);
    server.http.on('upgrade', ({ url, headers }, socket: Socket) => {
      const seen = JSON.stringify([url, headers.cookie]);
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Seen: ${seen}\r\n\r\n`,
      );
    });
    const Host = harness.buildHost(sandbox, 8081);
    const token = sign('ws', sandbox, { port: 8081 });
    const connect = async (path: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const sent = { Host, Connection: 'Upgrade', Upgrade: 'websocket', ...headers };
      const client = sendRequest({ host: '127.0.0.1', port: harness.port, path, headers: sent, agent: false });
      client.end();
      return Promise.race([once(client, 'upgrade').then(readUpgrade), once(client, 'response').then(readStatus)]);
    };
    const Cookie = `sandlot-preview=${token}`;
    expect(await connect(withPreview(token, '/ws'), {})).toEqual(['/ws', null]);
    expect(await connect('/ws', { Cookie, Origin: `http://${Host}` })).toEqual(['/ws', null]);
    expect(await connect('/ws', { Cookie, Origin: 'http://3000-neighbour.sandbox.test' })).toBe(403);
  });
});

describe('what opens a preview', () => {
  const cases: readonly (readonly [string, (token: string, sandbox: TestSandbox) => string, string])[] = [
    ['of another sandbox', (_, sandbox) => sign('x', { ...sandbox, claimUid: 'other' }), 'foreign'],
    ['of another port', (_, sandbox) => sign('x', sandbox, { port: 3000 }), 'foreign'],
    ['by another key', (_, sandbox) => sign('y', sandbox), 'foreign'],
    ['with a longer life', (token) => token.replace(/^\d+/, '9999999999'), 'foreign'],
    ['that is none', () => 'x', 'foreign'],
    ['that has expired', (_, sandbox) => sign('x', sandbox, { lastsSeconds: 0 }), 'expired'],
    ['that was revoked', (_, sandbox) => sign('x', sandbox, { generation: 1 }), 'revoked'],
  ];
  it.each(cases)('%s is refused, in the URL and as a cookie', async (_, forge, reason) => {
    const sandbox = await createGuarded('x');
    const token = forge(sign('x', sandbox), sandbox);
    const refusal = { status: 403, json: { sandboxId: sandbox.id, reason } };
    expect(await visit(sandbox, { path: withPreview(token) })).toMatchObject(refusal);
    expect(await visit(sandbox, { headers: { Cookie: `sandlot-preview=${token}` } })).toMatchObject(refusal);
  });

  it('does not let the host of a neighbour use the cookie of a user', async () => {
    const sandbox = await createGuarded('n');
    const Cookie = `sandlot-preview=${sign('n', sandbox)}`;
    const host = harness.buildHost(sandbox, PORT);
    const rows: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
      [{ Origin: 'http://3000-neighbour.sandbox.test' }, 403],
      [{ Origin: 'null' }, 403],
      [{ 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors' }, 403],
      [{ 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' }, 403],
      [{ 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }, 200],
      [{ 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors', Origin: `http://${host}` }, 200],
    ];
    for (const [headers, status] of rows) {
      expect([headers, (await visit(sandbox, { headers: { Cookie, ...headers } })).status]).toEqual([headers, status]);
    }
  });

  it('is found among cookies that a neighbour has set, of which few are looked at', async () => {
    const sandbox = await createGuarded('m');
    const right = `sandlot-preview=${sign('m', sandbox)}`;
    const wrong = (n: number): string[] => Array.from({ length: n }, () => `sandlot-preview=${sign('z', sandbox)}`);
    const ask = (cookies: readonly string[]) => visit(sandbox, { headers: { Cookie: cookies.join('; ') } });
    expect([(await ask([...wrong(3), right])).status, (await ask([...wrong(9), right])).status]).toEqual([200, 403]);
  });

  it('opens no port by headers, whose host all sandboxes share, but for one request by the URL', async () => {
    const sandbox = await createGuarded('h');
    const token = sign('h', sandbox);
    const headers = { Host: 'gateway', 'E2b-Sandbox-Id': sandbox.id, 'E2b-Sandbox-Port': String(PORT) };
    const byCookie = await ask(harness.port, { headers: { ...headers, Cookie: `sandlot-preview=${token}` } });
    const byUrl = await ask(harness.port, { headers: { ...headers, ...PAGE }, path: withPreview(token) });
    expect([byCookie.status, byUrl.status, byUrl.headers['set-cookie']]).toEqual([403, 200, undefined]);
  });

  it('opens the sandbox again after a pause, and nothing once it is revoked', async () => {
    const sandbox = await createGuarded('p');
    const Cookie = `sandlot-preview=${sign('p', sandbox)}`;
    await harness.writeStatus(sandbox, { ready: false });
    await harness.writeStatus(sandbox, { ready: true, resumedAt: '2030-01-01T00:00:00Z' });
    expect((await visit(sandbox, { headers: { Cookie } })).status).toBe(200);
    const next = { metadata: { annotations: { [annotations.previewKey]: formatPreviewKey(getKey('p', 1)) } } };
    await harness.client.mergePatch(sandboxClaims, { namespace: sandbox.namespace, name: sandbox.id }, next);
    await eventually(async () => (await visit(sandbox, { headers: { Cookie } })).status === 403);
  });
});

describe('a public sandbox', () => {
  it('does not see the parameter either', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo, PORT);
    expect(await visit(sandbox, { path: withPreview('x', '/a') })).toMatchObject({ status: 200, json: { url: '/a' } });
  });
});

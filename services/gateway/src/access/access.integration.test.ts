import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { request as secureRequest } from 'node:https';
import { connect as connectTcp, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { annotations, labels, sandboxClaims } from '@sandlot/api-types';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, read, startSandboxServer } from '../../test/client.ts';
import type { Echo } from '../../test/client.ts';
import { DOMAIN, GatewayHarness, eventually, findFreePort, nextAddress } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const TOKEN = 'a traffic token';
const guarded = { [annotations.trafficTokenHash]: createHash('sha256').update(TOKEN).digest('hex') };

const gatewayKeys = generateKeyPairSync('ed25519');

/** Whether a daemon would accept the proof in a request: the text is that of docs/reference/runtime.md#proof-of-the-gateway. */
function hasProof({ 'x-sandlot-proof': proof }: IncomingMessage['headers'], { uid, address }: TestSandbox): boolean {
  const [ms = '', named = '', signature = ''] = String(proof).split(';');
  const text = Buffer.from(`sandlot-gateway-v1\n${uid}\n${address}\n${ms}`);
  return named === address && verify(null, text, gatewayKeys.publicKey, Buffer.from(signature, 'base64'));
}

let harness: GatewayHarness;
let folder: string;
let tlsPort: number;
let routerPort: number;
let apiPort: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-gateway-'));
  const bin = await ensureBinaries(['pki']);
  const certificates = [{ name: 'tls', commonName: 'gateway', dnsNames: [`*.${DOMAIN}`] }];
  await issueCertificates(bin('pki'), { dir: folder, certificates });
  [tlsPort, routerPort, apiPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  harness = await GatewayHarness.start({
    TLS_PORT: String(tlsPort),
    TLS_CERT_FILE: join(folder, 'tls.crt'),
    TLS_KEY_FILE: join(folder, 'tls.key'),
    ROUTER_PORT: String(routerPort),
    GATEWAY_SIGNING_KEY: gatewayKeys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    API_URL: `http://127.0.0.1:${apiPort}`,
  });
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe('a sandbox that is not public', () => {
  it("requires its traffic token on every port but the daemon's, and never sees the token", async () => {
    const sandbox = await harness.createSandbox({ claimAnnotations: guarded });
    await startSandboxServer(sandbox.address, echo);
    await startSandboxServer(sandbox.address, echo, 49_983);
    const Host = harness.buildHost(sandbox, 8080);
    const refused = { status: 403, json: { sandboxId: sandbox.id, code: 403 } };
    expect(await ask(harness.port, { headers: { Host } })).toMatchObject(refused);
    expect(await ask(harness.port, { headers: { Host, 'E2B-Traffic-Access-Token': 'wrong' } })).toMatchObject(refused);
    const right = await ask(harness.port, { headers: { Host, 'E2B-Traffic-Access-Token': TOKEN } });
    expect([right.status, (right.json as Echo).headers['e2b-traffic-access-token']]).toEqual([200, undefined]);
    expect((await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 49_983) } })).status).toBe(200);
  });
});

describe('the routes of the daemon', () => {
  it.each(['/init', '/%69nit', '/a/../init', '//init', '/upgrade?x', '/sandlot/tunnel?port=1', '/%2e%2e/freeze'])(
    'that only the platform may use are closed: %s',
    async (path) => {
      const sandbox = await harness.createSandbox();
      await startSandboxServer(sandbox.address, echo, 49_983);
      const headers = { Host: harness.buildHost(sandbox, 49_983) };
      expect(await ask(harness.port, { method: 'POST', path, headers })).toMatchObject({
        status: 404,
        json: { path, code: 404 },
      });
    },
  );

  it('that run commands without authentication are closed to E2B clients', async () => {
    const sandbox = await harness.createSandbox({ spec: { runtime: { inject: true } } });
    await startSandboxServer(sandbox.address, echo, 8888);
    const headers = { 'E2b-Sandbox-Id': sandbox.id, 'E2b-Sandbox-Port': '8888' };
    expect((await ask(harness.port, { headers, path: '/execute', method: 'POST' })).status).toBe(404);
    expect((await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 8888) } })).status).toBe(404);
  });
});

describe('a server on the loopback of its sandbox', () => {
  it('is reached through the daemon; a port that is closed there too is reported as not open', async () => {
    const sandbox = await harness.createSandbox();
    const inner = await startSandboxServer(nextAddress(), echo, 3000);
    const innerAddress = (inner.http.address() as { address: string }).address;
    const daemon = await startSandboxServer(sandbox.address, echo, 49_983);
    daemon.http.on('upgrade', (incoming: IncomingMessage, socket: Socket) => {
      const port = new URL(incoming.url ?? '', 'http://daemon').searchParams.get('port');
      if (!hasProof(incoming.headers, sandbox) || incoming.headers['x-sandlot-gateway'] !== '1' || port !== '3000') {
        socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
        return;
      }
      const onward = connectTcp(3000, innerAddress, () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sandlot-tunnel\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      socket.on('error', () => onward.destroy());
    });
    const reached = await ask(harness.port, {
      method: 'POST',
      headers: { Host: harness.buildHost(sandbox, 3000) },
      body: 'text',
    });
    expect(reached).toMatchObject({ status: 200, json: { text: 'text' } });
    const closed = await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 3001) } });
    expect(closed).toMatchObject({ status: 502, json: { port: 3001 } });
    expect(closed.text).toContain('port is not open');
  });
});

describe('two tenants', () => {
  it('cannot take over traffic by creating a claim with the id of another', async () => {
    const victim = await harness.createSandbox({ namespace: 'team-a' });
    await startSandboxServer(victim.address, (_, response) => response.end('of the victim'));
    await harness.client.create(sandboxClaims, {
      metadata: { namespace: 'team-b', name: victim.id, labels: { [labels.sandboxId]: victim.id } },
      spec: { warmPoolRef: { name: 'pool' } },
    });
    const headers = { Host: harness.buildHost(victim, 8080) };
    for (let n = 0; n < 10; n += 1) expect((await ask(harness.port, { headers })).text).toBe('of the victim');
  });

  it('cannot reach a Sandbox through a claim status that names it', async () => {
    const victim = await harness.createSandbox({ namespace: 'team-a' });
    await startSandboxServer(victim.address, echo);
    const thief = await harness.client.create(sandboxClaims, {
      metadata: { namespace: 'team-a', name: 'thief', labels: { [labels.sandboxId]: 'thief' } },
      spec: { warmPoolRef: { name: 'pool' } },
    });
    const key = { namespace: 'team-a', name: thief.metadata.name ?? '' };
    const status = { sandbox: { name: victim.name, podIPs: [victim.address] }, conditions: [] };
    await harness.client.mergePatch(sandboxClaims, key, { status }, { subresource: 'status' });
    const reply = ask(harness.port, { headers: { Host: `8080-thief.${DOMAIN}` } });
    await harness.client.delete(sandboxClaims, key);
    expect(await reply).toMatchObject({ status: 502 });
  });

  it('cannot send the gateway to an address with X-Sandbox-Pod-IP', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, (_, response) => response.end('here'));
    const elsewhere = nextAddress();
    const other = await startSandboxServer(elsewhere, (_, response) => response.end('elsewhere'));
    const headers = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a', 'X-Sandbox-Port': '8080' };
    const reply = await ask(routerPort, { headers: { ...headers, 'X-Sandbox-Pod-IP': elsewhere } });
    expect([reply.text, other.sockets.length]).toEqual(['here', 0]);
  });

  it('cannot send the gateway to a link-local address with the status of a Sandbox', async () => {
    const sandbox = await harness.createSandbox({ address: '169.254.169.254' });
    const reply = await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 80) } });
    expect(reply).toMatchObject({ status: 502, json: { reason: 'failed' } });
  });
});

describe('agent-sandbox headers', () => {
  it('need a token on the public port whose user may create sandboxes/connect', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo, 8888);
    const kubectl = async (...args: string[]) => (await harness.plane.kubectl(args)).stdout.trim();
    for (const name of ['friend', 'stranger']) await kubectl('-n', 'team-a', 'create', 'serviceaccount', name);
    await kubectl(
      '-n',
      'team-a',
      'create',
      'role',
      'talker',
      '--verb=create',
      '--resource=sandboxes.agents.x-k8s.io/connect',
    );
    await kubectl('-n', 'team-a', 'create', 'rolebinding', 'talker', '--role=talker', '--serviceaccount=team-a:friend');
    const headers = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a' };
    const as = async (token: string | undefined) => {
      const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      return ask(harness.port, { path: '/execute', headers: { ...headers, ...authorization } });
    };
    const readToken = (name: string) => kubectl('-n', 'team-a', 'create', 'token', name);
    const friend = await as(await readToken('friend'));
    expect(friend).toMatchObject({ status: 200, json: { url: '/execute' } });
    const seen = (friend.json as Echo).headers;
    expect(Object.keys(seen).filter((name) => /authorization|x-sandbox/.test(name))).toEqual([]);
    expect(hasProof(seen, sandbox)).toBe(true);
    expect(seen['host']).toBe(`${sandbox.address}:8888`);
    expect(await as(await readToken('stranger'))).toMatchObject({
      status: 403,
      json: { detail: expect.any(String) as string },
    });
    expect((await as('made-up')).status).toBe(401);
    expect((await as(undefined)).status).toBe(401);
  });

  it('carry the proof of the gateway to the agent-sandbox API alone, and never one of the client', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo);
    await startSandboxServer(sandbox.address, echo, 8888);
    const asked = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a', 'X-Sandlot-Proof': 'forged' };
    const see = async (port: string): Promise<Echo['headers']> => {
      const headers = { ...asked, 'X-Sandbox-Port': port, X_Sandlot_Proof: 'forged' };
      return ((await ask(routerPort, { headers })).json as Echo).headers;
    };
    const runtime = await see('8888');
    expect([hasProof(runtime, sandbox), runtime['x_sandlot_proof']]).toEqual([true, undefined]);
    const other = await see('8080');
    expect([other['x-sandlot-proof'], other['x_sandlot_proof']]).toEqual([undefined, undefined]);
  });

  it('get errors in the format of agent-sandbox', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, () => undefined);
    const headers = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a', 'X-Sandbox-Port': '8080' };
    const late = await ask(routerPort, { headers: { ...headers, 'X-Sandbox-Timeout': '0.2' } });
    expect(late).toMatchObject({ status: 504, json: { detail: expect.stringContaining('0.2 s') as string } });
    const other = await ask(routerPort, { headers: { ...headers, 'X-Sandbox-UID': 'another' } });
    expect(other).toMatchObject({ status: 502, json: { detail: expect.stringContaining('was not found') as string } });
    const closed = await ask(routerPort, { headers: { ...headers, 'X-Sandbox-Port': '9' } });
    expect(closed).toMatchObject({
      status: 502,
      json: { detail: expect.stringContaining('port is not open') as string },
    });
    expect(await ask(routerPort, { headers: { Host: harness.buildHost(sandbox, 8080) } })).toMatchObject({
      status: 400,
    });
  });

  it('dial again, with the whole body, when nothing listens yet', async () => {
    const sandbox = await harness.createSandbox();
    const headers = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a', 'X-Sandbox-Port': '8080' };
    const asked = ask(routerPort, { method: 'POST', headers, body: 'whole' });
    await eventually(async () => (await harness.metrics()).includes('sandlot_gateway_open_requests 1'));
    await startSandboxServer(sandbox.address, echo);
    expect(await asked).toMatchObject({ status: 200, json: { text: 'whole' } });
  });
});

describe('over TLS', () => {
  const session = async (): Promise<ClientHttp2Session> => {
    const ca = await readFile(join(folder, 'ca.crt'));
    return connect(`https://127.0.0.1:${tlsPort}`, { ca, servername: `x.${DOMAIN}`, settings: { enablePush: false } });
  };

  it('serves HTTP/2 with at least 250 concurrent streams, bodies and trailers', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startSandboxServer(sandbox.address, (incoming, response) => {
      void read(incoming).then(({ text }) => {
        response.writeHead(200, { 'Set-Cookie': ['a=1', 'b=2'], 'X-Host': incoming.headers.host });
        response.write(text);
        response.addTrailers({ 'X-Sum': '1' });
        response.end();
      });
    });
    const client = await session();
    await once(client, 'remoteSettings');
    expect(client.remoteSettings.maxConcurrentStreams).toBeGreaterThanOrEqual(250);
    const authority = harness.buildHost(sandbox, server.port);
    const one = async (body: string) => {
      const stream = client.request({ ':method': 'POST', ':path': '/x', ':authority': authority });
      const trailers = once(stream, 'trailers');
      stream.end(body);
      const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const [last] = (await trailers) as [Record<string, unknown>];
      return { head, text: Buffer.concat(chunks).toString(), sum: last['x-sum'] };
    };
    const all = await Promise.all(Array.from({ length: 250 }, (_, n) => one(`body ${n}`)));
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: 250 }, (_, n) => `body ${n}`));
    expect(all[0]).toMatchObject({
      sum: '1',
      head: { ':status': 200, 'set-cookie': ['a=1', 'b=2'], 'x-host': authority },
    });
    client.close();
  });

  it('refuses requests and breaks off responses over HTTP/2', async () => {
    const sandbox = await harness.createSandbox();
    const client = await session();
    const stream = client.request({ ':path': '/', ':authority': harness.buildHost(sandbox, 8080) });
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(head[':status']).toBe(502);
    stream.resume();
    await startSandboxServer(sandbox.address, (_, response) => void response.writeHead(200).write('begun'));
    const second = client.request({ ':path': '/', ':authority': harness.buildHost(sandbox, 8080) });
    await once(second, 'response');
    second.resume();
    second.on('error', () => undefined);
    const closed = new Promise((resolve) => second.once('close', resolve));
    await harness.kill(sandbox);
    await closed;
    expect(second.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    client.close();
  });

  it('serves HTTP/1.1 to clients without HTTP/2', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo);
    const ca = await readFile(join(folder, 'ca.crt'));
    const headers = { Host: harness.buildHost(sandbox, 8080) };
    const sent = secureRequest({
      host: '127.0.0.1',
      port: tlsPort,
      ca,
      servername: `x.${DOMAIN}`,
      headers,
      agent: false,
    }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const { json } = await read(answer);
    expect((json as Echo).headers['x-forwarded-proto']).toBe('https');
  });
});

describe('a request that names no sandbox', () => {
  it('goes to the API with its key, or gets 503 while the API is unreachable', async () => {
    const headers = { 'X-API-KEY': 'e2b_0', Host: `api.${DOMAIN}` };
    const away = await ask(harness.port, { path: '/v2/sandboxes', headers });
    expect(away).toMatchObject({ status: 503, json: { code: 503 } });
    expect(away.headers['retry-after']).toBe('1');
    await startSandboxServer('127.0.0.1', echo, apiPort);
    const reply = await ask(harness.port, { method: 'POST', path: '/v2/sandboxes?a=b', headers, body: '{}' });
    expect(reply).toMatchObject({ status: 200, json: { url: '/v2/sandboxes?a=b', text: '{}' } });
    expect((reply.json as Echo).headers).toMatchObject({ 'x-api-key': 'e2b_0', host: `api.${DOMAIN}` });
    const file = await ask(harness.port, { path: '/files?path=/x' });
    expect(file).toMatchObject({
      status: 400,
      json: { code: 400, message: expect.stringContaining('E2B_DOMAIN') as string },
    });
  });

  it('gets a 4xx when it is invalid HTTP, and later requests are served', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo);
    for (const text of [
      '\0\0\0',
      'GET\r\n\r\n',
      'CONNECT a:1 HTTP/1.1\r\n\r\n',
      'GET http:// HTTP/1.1\r\nHost: a\r\n\r\n',
    ]) {
      const socket = connectTcp(harness.port, '127.0.0.1').end(text);
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
    expect((await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 8080) } })).status).toBe(200);
  });

  it('gets 400 when two servers could read its length differently', async () => {
    const smuggled = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    const server = createServer();
    const socket = connectTcp(harness.port, '127.0.0.1').end(smuggled);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 400 /);
    server.close();
  });
});

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import type { RequestListener } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { annotations } from '@sandlot/api-types';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import type { SandboxServer } from '../../test/client.ts';
import { DOMAIN, GatewayHarness, eventually, findFreePort } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

let harness: GatewayHarness;
let folder: string;
let tlsPort: number;
let routerPort: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-gateway-'));
  await writeCertificate();
  [tlsPort, routerPort] = [await findFreePort(), await findFreePort()];
  harness = await GatewayHarness.start({
    TLS_PORT: String(tlsPort),
    TLS_CERT_FILE: join(folder, 'tls.crt'),
    TLS_KEY_FILE: join(folder, 'tls.key'),
    TLS_CHECK_INTERVAL: '50ms',
    ROUTER_PORT: String(routerPort),
    MAX_CONNECTIONS_PER_KEY: '2',
  });
  [mine, victim] = [await harness.createSandbox(), await harness.createSandbox()];
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Writes a new certificate of a new authority over the old one. */
async function writeCertificate(): Promise<void> {
  const bin = await ensureBinaries(['pki']);
  const certificates = [{ name: 'tls', commonName: 'gateway', dnsNames: [`*.${DOMAIN}`] }];
  await issueCertificates(bin('pki'), { dir: folder, certificates });
}

let mine: TestSandbox;
let victim: TestSandbox;
let ofMine: readonly SandboxServer[];
let ofVictim: readonly SandboxServer[];
beforeEach(async () => {
  const both = ({ address }: TestSandbox) =>
    Promise.all([8080, 49_983].map((port) => startSandboxServer(address, echo, port)));
  [ofMine, ofVictim] = [await both(mine), await both(victim)];
});

const connectionsTo = (servers: readonly SandboxServer[]): number =>
  servers.reduce((sum, { sockets }) => sum + sockets.length, 0);

/** Sends raw bytes and returns everything that comes back. */
async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(text, 'latin1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

const statusesIn = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);

describe('control routes of the daemon, in any spelling', () => {
  const PATHS = [
    ...['/init', '/%69nit', '//init', '/./init', '/x/../init', '/%2569nit', '/INIT', '/init/', '/init;x', '/init%3Fx'],
    ...[
      '/%2e/init',
      '/%2e%2e/init',
      '/sandlot/tunnel?port=1',
      '/sandlot%2Ftunnel',
      '/%5Cinit',
      '/init%00',
      '/fsfreeze',
    ],
  ];
  const ways: Record<string, (path: string) => Promise<number>> = {
    'by host': async (path) =>
      (await ask(harness.port, { method: 'POST', path, headers: { Host: harness.buildHost(mine, 49_983) } })).status,
    'by E2B headers': async (path) => {
      const headers = { 'E2b-Sandbox-Id': mine.id, 'E2b-Sandbox-Port': '49983' };
      return (await ask(harness.port, { method: 'POST', path, headers })).status;
    },
    'by agent-sandbox headers': async (path) => {
      const headers = { 'X-Sandbox-ID': mine.name, 'X-Sandbox-Namespace': 'team-a', 'X-Sandbox-Port': '49983' };
      return (await ask(routerPort, { method: 'POST', path, headers })).status;
    },
    'in absolute form': async (path) => {
      const target = `http://${harness.buildHost(mine, 49_983)}${path}`;
      return Number(
        statusesIn(await sendRaw(harness.port, `POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`))[0],
      );
    },
    'as an upgrade': async (path) => {
      const head = `GET ${path} HTTP/1.1\r\nHost: ${harness.buildHost(mine, 49_983)}\r\n`;
      return Number(
        statusesIn(await sendRaw(harness.port, `${head}Connection: Upgrade\r\nUpgrade: sandlot-tunnel\r\n\r\n`))[0],
      );
    },
    'over HTTP/2': async (path) => {
      const ca = await readFile(join(folder, 'ca.crt'));
      const client = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca, servername: `x.${DOMAIN}` });
      const asked = { ':method': 'POST', ':path': path, ':authority': harness.buildHost(mine, 49_983) };
      const [head] = (await once(client.request(asked).end(), 'response')) as [Record<string, unknown>];
      client.destroy();
      return Number(head[':status']);
    },
  };

  it.each(Object.entries(ways))('are closed %s', async (_, way) => {
    for (const path of PATHS) expect([path, await way(path)]).toEqual([path, 404]);
    expect(connectionsTo(ofMine)).toBe(0);
    expect(await way('/other')).toBe(200);
  });
});

describe('an unusual Host', () => {
  const asked = (...lines: string[]): string => `GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
  const host = (of: TestSandbox): string => harness.buildHost(of, 8080);

  it.each<[string, () => string, string]>([
    ['given twice for two sandboxes', () => asked(`Host: ${host(mine)}`, `Host: ${host(victim)}`), '400'],
    ['given twice for one sandbox', () => asked(`Host: ${host(mine)}`, `hOST: ${host(mine)}`), '400'],
    ['with a user', () => asked(`Host: ${host(mine)}@${host(victim)}`), '400'],
    ['with two names', () => asked(`Host: ${host(mine)}, ${host(victim)}`), '400'],
    ['with a path', () => asked(`Host: ${host(mine)}/${host(victim)}`), '400'],
    ['with percent-encoding', () => asked(`Host: %38080-${victim.id}.${DOMAIN}`), '400'],
    ['with two ports', () => asked(`Host: ${host(victim)}:80:80`), '400'],
    ['that ends with two dots', () => asked(`Host: ${host(victim)}..`), '404'],
    ['with an address', () => asked('Host: [::1]:8080'), '404'],
    ['in a subdomain of a sandbox', () => asked(`Host: x.${host(victim)}`), '404'],
    ['in a domain that only ends like ours', () => asked(`Host: 8080-${victim.id}.not${DOMAIN}`), '404'],
    [
      'with a user in the request target',
      () => `GET http://u@${host(victim)}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      '400',
    ],
  ])('%s reaches no sandbox', async (_, text, status) => {
    expect(statusesIn(await sendRaw(harness.port, text()))).toEqual([status]);
    expect([connectionsTo(ofMine), connectionsTo(ofVictim)]).toEqual([0, 0]);
  });

  it.each<[string, () => string]>([
    ['in capitals with a dot and a port', () => asked(`Host: ${host(mine).toUpperCase()}.:8080`)],
    [
      'of another sandbox than the request target',
      () => `GET http://${host(mine)}/ HTTP/1.1\r\nHost: ${host(victim)}\r\nConnection: close\r\n\r\n`,
    ],
    [
      'of another sandbox than the routing headers',
      () => asked(`Host: ${host(mine)}`, `E2b-Sandbox-Id: ${victim.id}`, 'E2b-Sandbox-Port: 8080'),
    ],
  ])('%s reaches the right sandbox', async (_, text) => {
    expect(statusesIn(await sendRaw(harness.port, text()))).toEqual(['200']);
    expect([connectionsTo(ofMine), connectionsTo(ofVictim)]).toEqual([1, 0]);
  });

  it('beside another :authority over HTTP/2 reaches no sandbox', async () => {
    const ca = await readFile(join(folder, 'ca.crt'));
    const client = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca, servername: `x.${DOMAIN}` });
    const stream = client.request({ ':path': '/', ':authority': host(mine), host: host(victim) });
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
    client.destroy();
    expect([head[':status'], connectionsTo(ofMine), connectionsTo(ofVictim)]).toEqual([400, 0, 0]);
  });
});

describe('a request that two servers could read differently', () => {
  it.each([
    ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'],
    ['chunks twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'],
    ['chunks that are not last', 'Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 40\r\n', ''],
    ['a list of lengths', 'Content-Length: 0, 40\r\n', ''],
    ['a signed length', 'Content-Length: +0\r\n', ''],
    ['a length in hex', 'Content-Length: 0x0\r\n', ''],
    ['a folded header', 'X: a\r\n Transfer-Encoding: chunked\r\n', ''],
    ['a blank before the colon', 'Content-Length : 40\r\n', ''],
    ['a header without a name', ': x\r\n', ''],
    ['a bare carriage return', 'X: a\rContent-Length: 40\r\n', ''],
    ['a chunk with a signed size', 'Transfer-Encoding: chunked\r\n', '+0\r\n\r\n'],
    ['a chunk with an invalid size', 'Transfer-Encoding: chunked\r\n', 'zz\r\n\r\n'],
    ['a chunk size in hex notation', 'Transfer-Encoding: chunked\r\n', '0x0\r\n\r\n'],
    ['a chunk size that overflows', 'Transfer-Encoding: chunked\r\n', '10000000000000000\r\n\r\n'],
    ['a chunk size that ends with a line feed alone', 'Transfer-Encoding: chunked\r\n', '0\n\r\n'],
    ['a line feed in a chunk extension', 'Transfer-Encoding: chunked\r\n', '0;x\ny\r\n\r\n'],
    ['a vertical tab before the transfer encoding', 'Transfer-Encoding: \u000bchunked\r\n', '0\r\n\r\n'],
    ['a header that ends with a line feed alone', 'X: a\nContent-Length: 40\r\n', ''],
    ['a zero byte in a header', 'X: a\u0000b\r\n', ''],
    ['a blank in the name of a header', 'Content Length: 40\r\n', ''],
    ['an empty length', 'Content-Length: \r\n', ''],
    ['a length that overflows', 'Content-Length: 18446744073709551616\r\n', ''],
    ['more headers than the gateway reads', `${'A: b\r\n'.repeat(300)}Content-Length: 40\r\n`, ''],
  ])('with %s is refused, together with what follows it', async (_, headers, body) => {
    const hidden = `GET /hidden HTTP/1.1\r\nHost: ${harness.buildHost(victim, 8080)}\r\n\r\n`;
    const reply = await sendRaw(
      harness.port,
      `POST / HTTP/1.1\r\nHost: ${harness.buildHost(mine, 8080)}\r\n${headers}\r\n${body}${hidden}`,
    );
    expect(statusesIn(reply)).toEqual(['400']);
    expect(connectionsTo(ofVictim)).toBe(0);
  });
});

/** Starts a server in the sandbox that answers at once and reads nothing; returns the heads that it gets, as text. */
async function startRecorder(port: number): Promise<string[]> {
  const heads: string[] = [];
  const listener: RequestListener = (incoming, response) => {
    incoming.on('error', () => undefined).resume();
    heads.push([incoming.method, incoming.url, ...incoming.rawHeaders].join(' '));
    response.end();
  };
  await startSandboxServer(mine.address, listener, port);
  return heads;
}

describe('an upgrade with a body', () => {
  it.each([
    ['a length', 'Content-Length: 0\r\n', ''],
    ['a wrong length', 'Content-Length: 3\r\n', ''],
    ['chunks', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n'],
  ])('given by %s carries no second request', async (_, headers, body) => {
    const heads = await startRecorder(8082);
    const host = harness.buildHost(mine, 8082);
    const hidden = `GET /hidden HTTP/1.1\r\nHost: ${harness.buildHost(victim, 8080)}\r\n\r\n`;
    const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\n${headers}`;
    const socket = connect(harness.port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(`GET /first HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n${body}${hidden}`);
    await eventually(() => heads.length > 0 || socket.destroyed);
    expect((await ask(harness.port, { path: '/after', headers: { Host: host } })).status).toBe(200);
    socket.destroy();
    expect(heads.filter((head) => head.includes('hidden'))).toEqual([]);
    expect(connectionsTo(ofVictim)).toBe(0);
  });
});

describe('a sandbox that switches protocols without being asked', () => {
  it('gets no access to the connection of the client, which gets 502', async () => {
    const switched = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw';
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(switched));
    });
    await once(server.listen(8081, mine.address), 'listening');
    const reply = await ask(harness.port, { headers: { Host: harness.buildHost(mine, 8081) } });
    server.close();
    expect([reply.status, reply.text]).toEqual([502, expect.stringContaining('without being asked')]);
  });
});

describe('what HTTP/1.1 cannot say, over HTTP/2', () => {
  it.each<[string, Record<string, string>]>([
    ['a line break in a header', { x: 'a\r\n\r\nGET /hidden HTTP/1.1' }],
    ['a line break in the path', { ':path': '/ HTTP/1.1\r\n\r\nGET /hidden' }],
    ['a blank in the path', { ':path': '/ hidden' }],
    ['a blank in the method', { ':method': 'GET /hidden HTTP/1.1' }],
    ['a transfer encoding', { 'transfer-encoding': 'chunked, hidden' }],
    ['a connection header', { connection: 'hidden' }],
  ])('%s never reaches a sandbox', async (_, given) => {
    const heads = await startRecorder(8082);
    const ca = await readFile(join(folder, 'ca.crt'));
    const client = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca, servername: `x.${DOMAIN}` });
    client.on('error', () => undefined);
    const send = (headers: Record<string, string>): Promise<number> => {
      const { promise, resolve } = Promise.withResolvers<number>();
      try {
        const stream = client.request({ ':path': '/', ':authority': harness.buildHost(mine, 8082), ...headers });
        stream.on('response', (head) => resolve(Number(head[':status'])));
        stream.on('error', () => resolve(0)).on('close', () => resolve(0));
        stream.end();
      } catch {
        // The client itself does not send it.
        resolve(0);
      }
      return promise;
    };
    await send(given);
    client.destroy();
    expect(heads.filter((head) => head.includes('hidden'))).toEqual([]);
    expect(heads.length).toBeLessThanOrEqual(1);
    expect((await ask(harness.port, { headers: { Host: harness.buildHost(mine, 8082) } })).status).toBe(200);
  });
});

describe('the limit of an API key', () => {
  it('counts the open requests of all its sandboxes, and of no other key', async () => {
    const claimAnnotations = { [annotations.apiKeyId]: 'key-1' };
    const same = [
      await harness.createSandbox({ claimAnnotations }),
      await harness.createSandbox({ claimAnnotations }),
      await harness.createSandbox({ claimAnnotations }),
    ];
    const other = await harness.createSandbox({ claimAnnotations: { [annotations.apiKeyId]: 'key-2' } });
    for (const { address } of [...same, other]) {
      await startSandboxServer(address, (incoming, response) => {
        if (incoming.url === '/now') response.end();
        else response.writeHead(200).flushHeaders();
      });
    }
    const open = same.slice(0, 2).map((sandbox) => {
      const headers = { Host: harness.buildHost(sandbox, 8080) };
      return request({ agent: false, host: '127.0.0.1', port: harness.port, headers }).end();
    });
    await Promise.all(open.map((one) => once(one, 'response')));
    const now = async (sandbox: TestSandbox | undefined) =>
      ask(harness.port, { path: '/now', headers: { Host: harness.buildHost(sandbox ?? mine, 8080) } });
    expect(await now(same[2])).toMatchObject({ status: 429, json: { code: 429, connectionLimit: 2 } });
    expect((await now(other)).status).toBe(200);
    for (const one of open) one.destroy();
    await eventually(async () => (await now(same[2])).status === 200);
  });
});

describe('a renewed certificate', () => {
  /** The serial number of the certificate that a new connection gets. */
  const servedSerial = async (): Promise<string> => {
    const socket = connectTls({
      host: '127.0.0.1',
      port: tlsPort,
      servername: `x.${DOMAIN}`,
      rejectUnauthorized: false,
    });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };

  it('is used without a restart, and older connections continue', async () => {
    const before = await servedSerial();
    const ca = await readFile(join(folder, 'ca.crt'));
    const client = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca, servername: `x.${DOMAIN}` });
    await once(client, 'connect');
    await writeCertificate();
    await eventually(async () => (await servedSerial()) !== before);
    const stream = client.request({ ':path': '/', ':authority': harness.buildHost(mine, 8080) });
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(head[':status']).toBe(200);
    client.destroy();
  });
});

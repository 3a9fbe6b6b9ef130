import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { echo, startSandboxServer } from '../../test/client.ts';
import type { SandboxServer } from '../../test/client.ts';
import { DOMAIN, GatewayHarness, eventually, findFreePort } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

let harness: GatewayHarness;
let folder: string;
let client: ClientHttp2Session;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-gateway-'));
  const bin = await ensureBinaries(['pki']);
  const certificates = [{ name: 'tls', commonName: 'gateway', dnsNames: [`*.${DOMAIN}`] }];
  await issueCertificates(bin('pki'), { dir: folder, certificates });
  const tlsPort = await findFreePort();
  harness = await GatewayHarness.start({
    TLS_PORT: String(tlsPort),
    TLS_CERT_FILE: join(folder, 'tls.crt'),
    TLS_KEY_FILE: join(folder, 'tls.key'),
  });
  const ca = await readFile(join(folder, 'ca.crt'));
  client = connect(`https://127.0.0.1:${tlsPort}`, { ca, servername: `x.${DOMAIN}` });
  await once(client, 'remoteSettings');
});
afterAll(async () => {
  client.destroy();
  await harness[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Handshake {
  readonly server: SandboxServer;
  readonly seen: IncomingMessage['headers'][];
}

/** A WebSocket server that records handshakes and sends every byte back. */
async function startEcho(address: string): Promise<Handshake> {
  const server = await startSandboxServer(address, echo);
  const seen: IncomingMessage['headers'][] = [];
  server.http.on('upgrade', (incoming: IncomingMessage, socket: Socket) => {
    seen.push(incoming.headers);
    socket.on('error', () => undefined);
    if (incoming.url === '/no') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno');
      return;
    }
    const key = incoming.headers['sec-websocket-key'] ?? '';
    const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
    socket.write(`${head}Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: chat\r\n\r\nhello `);
    socket.pipe(socket);
  });
  return { server, seen };
}

function open(sandbox: TestSandbox, more: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = client.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'https',
    ':path': '/chat?x=1',
    ':authority': harness.buildHost(sandbox, 8080),
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'chat',
    ...more,
  });
  stream.on('error', () => undefined);
  return stream;
}

const readAnswer = async (stream: ClientHttp2Stream): Promise<Record<string, unknown>> =>
  ((await once(stream, 'response')) as [Record<string, unknown>])[0];

async function expectText(stream: ClientHttp2Stream, text: string): Promise<void> {
  let received = '';
  while (received.length < text.length) received += String(((await once(stream, 'data')) as [Buffer])[0]);
  expect(received).toBe(text);
}

const openNow = async (): Promise<string> =>
  /^sandlot_gateway_websockets (\d+)$/m.exec(await harness.metrics())?.[1] ?? '';

describe('a WebSocket over HTTP/2', () => {
  it('reaches the sandbox as one over HTTP/1.1, and carries bytes both ways', async () => {
    const sandbox = await harness.createSandbox();
    const { seen } = await startEcho(sandbox.address);
    const stream = open(sandbox);
    const head = await readAnswer(stream);
    expect(head).toMatchObject({ ':status': 200, 'sec-websocket-protocol': 'chat' });
    expect(['sec-websocket-accept', 'upgrade', 'connection'].filter((name) => name in head)).toEqual([]);
    await expectText(stream, 'hello ');
    stream.write('and back');
    await expectText(stream, 'and back');
    expect(seen[0]).toMatchObject({
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'x-forwarded-proto': 'https',
    });
    expect(seen[0]?.['sec-websocket-key']).toMatch(/^[\w+/]{22}==$/);
    expect(await openNow()).toBe('1');
    stream.close();
    await eventually(async () => (await openNow()) === '0');
  });

  it('closes on both sides when the server closes it or the sandbox is suspended', async () => {
    const sandbox = await harness.createSandbox();
    const { server } = await startEcho(sandbox.address);
    for (const end of [
      () => server.sockets.forEach((socket) => socket.end()),
      () => server.sockets.forEach((socket) => socket.destroy()),
      () => void harness.suspend(sandbox, null),
    ]) {
      const stream = open(sandbox);
      expect((await readAnswer(stream))[':status']).toBe(200);
      stream.resume();
      const closed = new Promise((resolve) => stream.once('close', resolve));
      end();
      await closed;
    }
    await eventually(() => server.sockets.every(({ destroyed }) => destroyed));
    await eventually(async () => (await openNow()) === '0');
  });

  it('closes for the sandbox when the client leaves', async () => {
    const sandbox = await harness.createSandbox();
    const { server } = await startEcho(sandbox.address);
    const stream = open(sandbox);
    await readAnswer(stream);
    stream.destroy();
    await eventually(() => server.sockets.length > 0 && server.sockets.every(({ destroyed }) => destroyed));
  });

  it.each<[string, OutgoingHttpHeaders, number]>([
    ['that the sandbox refuses', { ':path': '/no' }, 403],
    ['to a closed port', { ':authority': 'closed' }, 502],
    ['to a control route of the daemon', { ':authority': 'daemon', ':path': '/sandlot/tunnel?port=22' }, 404],
    ['of another protocol', { ':protocol': 'connect-udp' }, 405],
  ])('%s gets the status of an ordinary refusal', async (_, more, status) => {
    const sandbox = await harness.createSandbox();
    await startEcho(sandbox.address);
    await startSandboxServer(sandbox.address, echo, 49_983);
    const ports: Record<string, number> = { closed: 9, daemon: 49_983 };
    const port = ports[String(more[':authority'])] ?? 8080;
    const stream = open(sandbox, { ...more, ':authority': harness.buildHost(sandbox, port) });
    expect((await readAnswer(stream))[':status']).toBe(status);
    stream.resume();
    await once(stream, 'close');
  });

  it('is not opened by a plain CONNECT', async () => {
    const stream = client.request({ ':method': 'CONNECT', ':authority': 'elsewhere:22' });
    stream.on('error', () => undefined);
    expect((await readAnswer(stream))[':status']).toBe(405);
    stream.close();
  });
});

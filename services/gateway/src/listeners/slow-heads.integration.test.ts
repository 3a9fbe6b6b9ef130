import { once } from 'node:events';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, createKeepAliveAgent, echo, startSandboxServer } from '../../test/client.ts';
import { DOMAIN, GatewayHarness, eventually, findFreePort } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const MEBIBYTE = 1_048_576;
/** As much as a head may have before it is refused. */
const HEAD_BYTES = 30_000;

let harness: GatewayHarness;
let sandbox: TestSandbox;
let folder: string;
let tlsPort: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-gateway-'));
  const bin = await ensureBinaries(['pki']);
  const certificates = [{ name: 'tls', commonName: 'gateway', dnsNames: [`*.${DOMAIN}`] }];
  await issueCertificates(bin('pki'), { dir: folder, certificates });
  tlsPort = await findFreePort();
  harness = await GatewayHarness.start({
    TLS_PORT: String(tlsPort),
    TLS_CERT_FILE: join(folder, 'tls.crt'),
    TLS_KEY_FILE: join(folder, 'tls.key'),
    HEAD_TIMEOUT: '3s',
    MAX_CONNECTIONS_PER_SOURCE: '3000',
  });
  sandbox = await harness.createSandbox();
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const asked = () => ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 8080) } });

/** The first part of a request whose head never ends. */
const LONG_HEAD = `GET / HTTP/1.1\r\nHost: x\r\n${`X-Filler: ${'x'.repeat(88)}\r\n`.repeat(HEAD_BYTES / 100)}`;

interface Slow {
  readonly socket: Socket;
  /** What came back. */
  text: string;
  isClosed: boolean;
}

async function openSlow(port: number, head: string): Promise<Slow> {
  const socket = connect(port, '127.0.0.1');
  const slow: Slow = { socket, text: '', isClosed: false };
  socket.on('error', () => undefined).on('close', () => (slow.isClosed = true));
  socket.on('data', (data) => (slow.text += data.toString('latin1')));
  await once(socket, 'connect');
  socket.write(head);
  return slow;
}

async function memoryBytes(): Promise<number> {
  const status = await readFile(`/proc/${harness.process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

describe('1,500 connections with heads that do not end', () => {
  it('hold the memory of 250, and clients that send their heads at once are served', async () => {
    await startSandboxServer(sandbox.address, echo);
    for (let n = 0; n < 50; n += 1) await asked();
    const before = await memoryBytes();
    const slow: Slow[] = [];
    for (let n = 0; n < 1_500; n += 1) {
      slow.push(await openSlow(harness.port, LONG_HEAD));
      if (n % 100 === 0) expect((await asked()).status).toBe(200);
    }
    await eventually(() => slow.filter(({ isClosed }) => isClosed).length >= 1_250);
    expect((await memoryBytes()) - before).toBeLessThan(64 * MEBIBYTE);
    expect(slow[0]?.text).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n[^]*Retry-After: 1\r\n/);
    await eventually(() => slow.every(({ isClosed }) => isClosed));
    expect(slow.at(-1)?.text).toMatch(/^HTTP\/1\.1 408 /);
    expect(await harness.metrics()).toMatch(/^sandlot_gateway_limits_total\{limit="heads-by-source"\} 1\d\d\d$/m);
  });
});

describe('a head that does not end', () => {
  it.each<[string, () => Promise<Slow>]>([
    ['is cut off after the time for heads', () => openSlow(harness.port, 'GET / HTTP/1.1\r\nHost: x\r\n')],
    ['is cut off before its first byte', () => openSlow(harness.port, '')],
    ['is cut off in the handshake of TLS', () => openSlow(tlsPort, '\u0016\u0003\u0001')],
  ])('%s', async (_, open) => {
    const slow = await open();
    await eventually(() => slow.isClosed);
  });

  it.each(['http/1.1', 'h2'])('is cut off over TLS with %s', async (protocol) => {
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: [protocol],
    });
    socket.on('error', () => undefined);
    let isClosed = false;
    socket.on('close', () => (isClosed = true)).resume();
    await once(socket, 'secureConnect');
    if (protocol === 'http/1.1') socket.write('GET / HTTP/1.1\r\nHost: x\r\n');
    await eventually(() => isClosed);
  });

  it('is cut off on a connection that has had an answer', async () => {
    await startSandboxServer(sandbox.address, echo);
    const slow = await openSlow(harness.port, `GET / HTTP/1.1\r\nHost: ${harness.buildHost(sandbox, 8080)}\r\n\r\n`);
    await eventually(() => slow.text.startsWith('HTTP/1.1 200'));
    slow.socket.write('GET / HTTP/1.1\r\nHost: x\r\n');
    await eventually(() => slow.isClosed);
  });

  it('leaves idle connections of others open for longer than the time for heads', async () => {
    await startSandboxServer(sandbox.address, echo);
    const agent = createKeepAliveAgent();
    const headers = { Host: harness.buildHost(sandbox, 8080) };
    const ends = new Set<number | undefined>();
    agent.on('free', (socket: Socket) => ends.add(socket.localPort));
    await ask(harness.port, { agent, headers });
    const slow = await openSlow(harness.port, 'GET / HTTP/1.1\r\n');
    await eventually(() => slow.isClosed);
    await ask(harness.port, { agent, headers });
    expect(ends.size).toBe(1);
    agent.destroy();
  });

  it('is refused with 431 beyond its bytes, and with 400 beyond its number of headers', async () => {
    const long = await openSlow(harness.port, `${LONG_HEAD}X-More: ${'x'.repeat(8_000)}\r\n\r\n`);
    await eventually(() => long.text.startsWith('HTTP/1.1 431'));
    const many = await openSlow(harness.port, `GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(300)}\r\n`);
    await eventually(() => many.text.startsWith('HTTP/1.1 400'));
  });
});

describe('connections beyond the share of a source', () => {
  it('are refused with 429 and counted, until others close', async () => {
    await startSandboxServer(sandbox.address, echo);
    const agent = createKeepAliveAgent();
    const headers = { Host: harness.buildHost(sandbox, 8080) };
    const open: Slow[] = [];
    const request = `GET / HTTP/1.1\r\nHost: ${headers.Host}\r\n\r\n`;
    for (let n = 0; n < 3_000; n += 1) {
      const one = await openSlow(harness.port, request);
      await once(one.socket, 'data');
      open.push(one);
    }
    const refused = await openSlow(harness.port, request);
    await eventually(() => refused.text.startsWith('HTTP/1.1 429'));
    for (const { socket } of open) socket.destroy();
    await eventually(async () => (await ask(harness.port, { agent, headers })).status === 200);
    agent.destroy();
    expect(await harness.metrics()).toMatch(/^sandlot_gateway_limits_total\{limit="connections-by-source"\} [1-9]/m);
  });
});

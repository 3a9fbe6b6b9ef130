import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, read, startSandboxServer } from '../../test/client.ts';
import type { SandboxServer } from '../../test/client.ts';
import { GatewayHarness, eventually } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start();
});
afterAll(() => harness[Symbol.asyncDispose]());

/** A WebSocket server that sends every byte back. The gateway does not parse frames, so any bytes do. */
async function startEcho(address: string): Promise<SandboxServer> {
  const server = await startSandboxServer(address, echo);
  server.http.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    if (incoming.url === '/no') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno');
      return;
    }
    const key = incoming.headers['sec-websocket-key'] ?? '';
    const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
    const head101 = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
    socket.write(`${head101}Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on('error', () => undefined);
    socket.write(head);
    socket.pipe(socket);
  });
  return server;
}

const handshake = (sandbox: TestSandbox) => ({
  Host: harness.buildHost(sandbox, 8080),
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
});

async function open(sandbox: TestSandbox): Promise<Socket> {
  const headers = handshake(sandbox);
  const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, headers }).end();
  const [answer, socket] = (await once(sent, 'upgrade')) as [IncomingMessage, Socket];
  const accept = createHash('sha1').update(`${headers['Sec-WebSocket-Key']}${GUID}`).digest('base64');
  expect(answer.headers['sec-websocket-accept']).toBe(accept);
  return socket;
}

describe('a WebSocket', () => {
  it('carries bytes both ways, and closes on both sides when either closes it', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startEcho(sandbox.address);
    const socket = await open(sandbox);
    const text = randomBytes(300_000);
    socket.write(text);
    const chunks: Buffer[] = [];
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      if (Buffer.concat(chunks).length === text.length) break;
    }
    expect(Buffer.concat(chunks).equals(text)).toBe(true);
    expect(await harness.metrics()).toMatch(/^sandlot_gateway_websockets 1$/m);
    socket.destroy();
    await eventually(() => server.sockets.every(({ destroyed }) => destroyed));
    await eventually(async () => /^sandlot_gateway_websockets 0$/m.test(await harness.metrics()));
    const second = await open(sandbox);
    const closed = once(second, 'close');
    for (const one of server.sockets) one.destroy();
    await closed;
  });

  it('gets the answer of a sandbox that refuses it', async () => {
    const sandbox = await harness.createSandbox();
    await startEcho(sandbox.address);
    const sent = request({
      agent: false,
      host: '127.0.0.1',
      port: harness.port,
      path: '/no',
      headers: handshake(sandbox),
    }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(await read(answer)).toMatchObject({ status: 403, text: 'no' });
  });

  it('to a closed port is refused like a request', async () => {
    const sandbox = await harness.createSandbox();
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, headers: handshake(sandbox) }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const reply = await read(answer);
    expect(reply).toMatchObject({ status: 502, json: { sandboxId: sandbox.id, port: 8080, code: 502 } });
    expect(reply.text).toContain('port is not open');
  });

  it('to a control route of the daemon is refused', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo, 49_983);
    const headers = { ...handshake(sandbox), Host: harness.buildHost(sandbox, 49_983) };
    const path = '/sandlot/tunnel?port=22';
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, path, headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect((await read(answer)).status).toBe(404);
  });

  it('closes when its sandbox is suspended', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startEcho(sandbox.address);
    const socket = await open(sandbox);
    socket.resume();
    const closed = once(socket, 'close');
    await harness.suspend(sandbox, null);
    await closed;
    await eventually(() => server.sockets.every(({ destroyed }) => destroyed));
  });

  it('is not opened for a client that offers HTTP/2 without TLS: HTTP/1.1 goes on', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo);
    const headers = {
      Host: harness.buildHost(sandbox, 8080),
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AAMAAABkAAQAAP__',
    };
    const reply = await ask(harness.port, { method: 'POST', headers, body: 'text' });
    expect(reply).toMatchObject({ status: 200, json: { text: 'text' } });
  });
});

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { systemClock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { RuntimeClient, RuntimeError } from './runtime-client.ts';

const { privateKey: signingKey } = generateKeyPairSync('ed25519');
const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A daemon that does this with each connection. Returns its port. */
async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    serve(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Sends the piece again and again until the caller closes the connection. */
async function repeat(socket: Socket, piece: string): Promise<void> {
  while (!socket.destroyed) {
    socket.write(piece);
    await systemClock.sleep(1);
  }
}

/** Calls the daemon, and lets half a second go by again and again until the call has ended. */
async function init(port: number, signal = new AbortController().signal) {
  const clock = new FakeClock();
  const startMs = clock.now();
  const client = new RuntimeClient({ signingKey, clock, port });
  const call = {
    address: '127.0.0.1',
    sandboxUid: 's',
    claimUid: 'c',
    accessToken: 't',
    envVars: {},
    exec: true,
    signal,
  };
  const outcome = client.init(call).catch((error: unknown) => error);
  const ended = outcome.then(() => true);
  while (!(await Promise.race([ended, systemClock.sleep(10).then(() => false)]))) await clock.advance(500);
  return { outcome: await outcome, elapsedMs: clock.now() - startMs };
}

describe('a call of a daemon', () => {
  it('returns the version and does not read the body', async () => {
    const port = await listen((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Envd-Version: 1.2.3\r\nContent-Length: 1000000000\r\n\r\n');
      void repeat(socket, 'x'.repeat(1_000));
    });
    expect((await init(port)).outcome).toBe('1.2.3');
  });

  it.each([
    ['accepts the connection and says nothing', '', ''],
    ['sends its head byte by byte', 'HTTP/1.1 204 No Content\r\nX-A: ', 'a'],
  ])('ends after five seconds when the daemon %s', async (_, head, piece) => {
    const port = await listen((socket) => {
      socket.write(head);
      if (piece !== '') void repeat(socket, piece);
    });
    const { outcome, elapsedMs } = await init(port);
    expect(outcome).toBeInstanceOf(RuntimeError);
    expect(String(outcome)).toContain('no answer within 5 s');
    expect(elapsedMs).toBe(5_000);
  });

  it.each([
    ['a head without end', 'HTTP/1.1 200 OK\r\n', 'X-Much: '.padEnd(1_000, 'm') + '\r\n', 'HPE_HEADER_OVERFLOW'],
    ['interim answers without end', '', 'HTTP/1.1 102 Processing\r\n\r\n', 'it sent an interim answer'],
    ['something else than HTTP', '', 'SSH-2.0-x\r\n', 'HPE_INVALID_CONSTANT'],
    [
      'an upgrade',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      '',
      'it closed the connection',
    ],
  ])('fails at once when the daemon sends %s', async (...[, head, piece, reason]) => {
    const port = await listen((socket) => {
      socket.write(head);
      if (piece !== '') void repeat(socket, piece);
    });
    const { outcome, elapsedMs } = await init(port);
    expect(String(outcome)).toContain(reason);
    expect(elapsedMs).toBeLessThan(5_000);
  });

  it('ends when its signal aborts', async () => {
    const abort = new AbortController();
    const port = await listen(() => abort.abort());
    expect(String((await init(port, abort.signal)).outcome)).toContain('ABORT_ERR');
  });
});

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import type { RuntimeIdentity } from '@sandlot/api-types';
import { systemClock } from '@sandlot/std';
import { FakeClock, identities } from '@sandlot/std/testing';
import type { TestIdentity } from '@sandlot/std/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { RuntimeClient, RuntimeError } from './runtime-client.ts';

const { privateKey: signingKey } = generateKeyPairSync('ed25519');
const TOKEN = 'the token of a sandbox';
const NEVER = new AbortController().signal;
const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A daemon that does this with each connection, by TLS if it has a key. Returns its port. */
async function listen(serve: (socket: Socket) => void, secure?: TestIdentity): Promise<number> {
  const onSocket = (socket: Socket): void => {
    sockets.push(socket.on('error', () => undefined));
    serve(socket);
  };
  const server =
    secure === undefined
      ? createServer(onSocket)
      : createSecureServer({ key: secure.key, cert: secure.cert }, onSocket).on('tlsClientError', () => undefined);
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

interface InitOptions {
  readonly signal?: AbortSignal;
  readonly identity?: RuntimeIdentity;
  readonly clock?: FakeClock;
}

/** Calls the daemon. The call has no end but the daemon's until the clock moves. */
function call(port: number, { signal = NEVER, identity, clock = new FakeClock() }: InitOptions = {}): Promise<unknown> {
  const order = { address: '127.0.0.1', sandboxUid: 's', claimUid: 'c', accessToken: TOKEN, envVars: {}, exec: true };
  const client = new RuntimeClient({ signingKey, clock, port });
  return client.init({ ...order, identity, signal }).catch((error: unknown) => error);
}

/** Calls the daemon, and lets half a second go by again and again until the call has ended. */
async function init(port: number, options: InitOptions = {}) {
  const clock = new FakeClock();
  const startMs = clock.now();
  const outcome = call(port, { ...options, clock });
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
    expect(String((await init(port, { signal: abort.signal })).outcome)).toContain('ABORT_ERR');
  });
});

describe('a call of a daemon with a key', () => {
  const [own, other] = identities;
  const identity = { publicKeyHash: own.publicKeyHash, ports: [49_983] };
  const accept = (socket: Socket): void => {
    socket.once('data', () => socket.write('HTTP/1.1 204 No Content\r\nX-Envd-Version: 1.2.3\r\n\r\n'));
  };

  it('goes to it by TLS', async () => {
    const port = await listen(accept, own);
    expect(await call(port, { identity })).toBe('1.2.3');
  });

  it.each([
    ['has another key', other, 'another server has its address: it shows another key'],
    ['speaks plain HTTP', undefined, 'the server at its address does not show its key (ERR_SSL'],
  ])('sends nothing to a server at its address that %s', async (...[, secure, reason]) => {
    const heard: Buffer[] = [];
    const port = await listen((socket) => {
      socket.on('data', (bytes: Buffer) => heard.push(bytes));
      accept(socket);
    }, secure);
    const outcome = await call(port, { identity });
    expect(outcome).toBeInstanceOf(RuntimeError);
    expect(String(outcome)).toContain(reason);
    const text = Buffer.concat(heard).toString('latin1');
    expect([text.includes(TOKEN), text.includes('HTTP')]).toEqual([false, false]);
  });

  it('ends after five seconds when a server accepts the connection and says nothing', async () => {
    const { outcome, elapsedMs } = await init(await listen(() => undefined), { identity });
    expect(String(outcome)).toContain('no answer within 5 s');
    expect(elapsedMs).toBe(5_000);
  });
});

import { once } from 'node:events';
import { createServer as createPlainServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { TlsOptions } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectPinned, WrongServerError } from './pinned-tls.ts';
import { identities } from '../test/index.ts';

const [ours, others] = identities;

/** Starts a server and returns its port and what it hears. */
async function listen(server: Server): Promise<{ readonly port: number; readonly heard: Buffer[] }> {
  const heard: Buffer[] = [];
  const sockets: Socket[] = [];
  const onSocket = (socket: Socket): void => {
    sockets.push(socket.on('error', () => undefined).on('data', (bytes: Buffer) => heard.push(bytes)));
  };
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => undefined)));
  server.on('secureConnection', onSocket);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return { port: (server.address() as AddressInfo).port, heard };
}

const never = new AbortController().signal;
const secure = (options: TlsOptions): Server => createServer(options).on('tlsClientError', () => undefined);
const buildTarget = (port: number) => ({ host: '127.0.0.1', port, publicKeyHash: ours.publicKeyHash });

async function fail(port: number, signal = never): Promise<unknown> {
  return connectPinned(buildTarget(port), signal).then(
    () => 'connected',
    (error: unknown) => error,
  );
}

describe('a pinned connection', () => {
  it('reaches the server that has the key', async () => {
    const { port, heard } = await listen(secure(ours));
    const socket = await connectPinned(buildTarget(port), never);
    expect(socket.getProtocol()).toBe('TLSv1.3');
    socket.end('hello');
    await once(socket, 'close');
    expect(Buffer.concat(heard).toString()).toBe('hello');
  });

  it('is refused to a server with another key, which hears nothing', async () => {
    const { port, heard } = await listen(secure(others));
    const error = await fail(port);
    expect(error).toBeInstanceOf(WrongServerError);
    expect(String(error)).toContain('it shows another key');
    expect(heard).toEqual([]);
  });

  it.each([
    ['speaks plain HTTP', (socket: Socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
    ['hangs up', (socket: Socket) => void socket.destroy()],
  ])('is refused to a server that %s', async (_, serve) => {
    const { port } = await listen(createPlainServer(serve));
    const error = await fail(port);
    expect(error).toBeInstanceOf(WrongServerError);
    expect(String(error)).toContain('does not show its key');
  });

  it('is refused to a server that knows only older TLS', async () => {
    const { port } = await listen(secure({ ...ours, maxVersion: 'TLSv1.2' }));
    expect(await fail(port)).toBeInstanceOf(WrongServerError);
  });

  it('fails with the error of the connection when nothing listens', async () => {
    const { port } = await listen(createPlainServer());
    expect(await fail(port === 1 ? 2 : 1)).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('ends with its signal, before and while the server is silent', async () => {
    const reason = new Error('too late');
    expect(await fail(1, AbortSignal.abort(reason))).toBe(reason);
    const abort = new AbortController();
    const { port } = await listen(createPlainServer(() => abort.abort(reason)));
    expect(await fail(port, abort.signal)).toBe(reason);
  });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createRawServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { systemClock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { createSender } from './post.ts';
import type { ResolveHost } from './lookup.ts';

const open: Server[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(open.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listen(server: Server): Promise<number> {
  open.push(server);
  server.on('connection', (socket: Socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const receive = (listener: RequestListener): Promise<number> => listen(createServer(listener));
const speak = (talk: (socket: Socket) => void): Promise<number> => listen(createRawServer(talk));

interface Place {
  readonly port: number;
  readonly host?: string;
  readonly privateAddresses?: readonly string[];
  readonly resolve?: ResolveHost;
  readonly clock?: FakeClock;
}

function send({ port, host = '127.0.0.1', privateAddresses = ['127.0.0.0/8'], resolve, clock }: Place) {
  const rules = { privateAddresses, blockedAddresses: [], ports: [port] };
  const unresolved: ResolveHost = () => Promise.reject(new Error('no name was to be resolved'));
  const sender = createSender({ rules, resolve: resolve ?? unresolved, clock: clock ?? systemClock });
  return sender({ url: `http://${host}:${port}/hook`, headers: { 'e2b-webhook-id': 'w' }, body: '{"a":"ä"}' });
}

describe('a receiver', () => {
  it('gets the body and the headers as they are', async () => {
    const got: { readonly request: IncomingMessage; readonly body: string }[] = [];
    const port = await receive((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        got.push({ request, body: Buffer.concat(parts).toString() });
        response.end();
      });
    });
    expect(await send({ port })).toMatchObject({ statusCode: 200, error: undefined });
    expect(got[0]?.body).toBe('{"a":"ä"}');
    expect(got[0]?.request).toMatchObject({ method: 'POST', url: '/hook', headers: { 'e2b-webhook-id': 'w' } });
  });

  it.each([
    [204, undefined],
    [500, 'status 500'],
    [404, 'status 404'],
    [101, 'status 101'],
  ])('that answers %i is judged by that alone', async (status, error) => {
    const port = await speak((socket) => socket.once('data', () => socket.end(`HTTP/1.1 ${status} x\r\n\r\n`)));
    expect((await send({ port })).error).toBe(error);
  });

  it('that redirects to the metadata of a cloud is not followed', async () => {
    const port = await receive((_, response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    );
    expect(await send({ port })).toMatchObject({ statusCode: 307, error: 'status 307: redirects are not followed' });
  });

  it('whose answer never ends is cut off behind the headers', async () => {
    const { promise: cut, resolve } = Promise.withResolvers<undefined>();
    const port = await receive((_, response) => {
      response.writeHead(200);
      const more = (): void => {
        if (response.write(Buffer.alloc(65_536))) setImmediate(more);
      };
      response.on('drain', more).on('close', () => resolve(undefined));
      more();
    });
    expect(await send({ port })).toMatchObject({ statusCode: 200, error: undefined });
    await cut;
  });

  it('that promises more than it sends has taken it all the same', async () => {
    const port = await speak((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nshort')),
    );
    expect(await send({ port })).toMatchObject({ statusCode: 200, error: undefined });
  });

  it.each([
    ['says nothing', () => undefined],
    [
      'sends a header that never ends, a byte at a time',
      (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nx: '),
    ],
    ['sends hints and no answer', (socket: Socket) => void socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(9))],
  ])('that %s is given up after ten seconds', async (_, talk) => {
    const clock = new FakeClock();
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    const port = await speak((socket) => {
      socket
        .on('error', () => undefined)
        .once('data', () => {
          talk(socket);
          resolve(undefined);
        });
    });
    const sent = send({ port, clock });
    await asked;
    await clock.advance(10_000);
    expect(await sent).toMatchObject({ statusCode: undefined, error: 'no answer within 10 s' });
  });

  it.each([
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`, 'the headers of the answer are too long'],
    ['no HTTP', 'SSH-2.0-x\r\n', 'the connection failed'],
  ])('that sends %s has failed', async (_, text, error) => {
    const port = await speak((socket) => socket.on('error', () => undefined).once('data', () => socket.write(text)));
    expect((await send({ port })).error).toBe(error);
  });
});

describe('an address', () => {
  it.each(['127.0.0.1', '[::ffff:7f00:1]', '2130706433', 'localhost'])('%s is never connected to', async (host) => {
    const port = await receive(() => expect.unreachable());
    const sent = await send({ port, host, privateAddresses: [] });
    expect(sent).toMatchObject({ statusCode: undefined, error: 'webhook url must be a public address' });
  });

  it.each([
    [['127.0.0.1']],
    [['::1']],
    [['169.254.169.254']],
    [['10.0.0.1']],
    [['1.1.1.1', '10.0.0.1']],
    [['::ffff:10.0.0.1']],
  ])('of a name that has %s is refused with the others of that name', async (addresses) => {
    const port = await receive(() => expect.unreachable());
    const resolve: ResolveHost = async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const sent = await send({ port, host: 'rebound.example.com', privateAddresses: [], resolve });
    expect(sent.error).toBe('the host of the webhook has an address that is not public');
  });

  it('is judged anew for each request, and the one that was judged is used', async () => {
    const port = await receive((_, response) => response.end());
    const answers = ['127.0.0.1', '127.0.0.2', '10.0.0.1'];
    const asked: string[] = [];
    const resolve: ResolveHost = async (host) => {
      asked.push(host);
      return [{ address: answers[asked.length - 1] ?? '', family: 4 }];
    };
    const place = { port, host: 'rebound.example.com', resolve, privateAddresses: ['127.0.0.1/32'] };
    expect((await send(place)).statusCode).toBe(200);
    expect((await send(place)).error).toMatch('not public');
    expect((await send(place)).error).toMatch('not public');
    expect(asked).toHaveLength(3);
  });

  it('that has none, or is not answered for, is a failure that says so', async () => {
    const port = await receive(() => expect.unreachable());
    const host = 'gone.example.com';
    expect((await send({ port, host, resolve: async () => [] })).error).toMatch('cannot be resolved');
    expect((await send({ port, host })).error).toMatch('cannot be resolved');
  });
});

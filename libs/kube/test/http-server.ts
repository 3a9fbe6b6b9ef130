// For the tests of this package: small real servers over TLS (HTTP/2, or HTTP/1.1 alone), and a network that can stall.
import { once } from 'node:events';
import { createSecureServer, createServer as createHttp2Server } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse, Http2Session } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createKubeClient } from '../src/client/client.ts';
import type { KubeClientOptions } from '../src/client/client.ts';
import type { KubeClient } from '../src/client/types.ts';
import type { Credentials } from '../src/credentials/credentials.ts';
import { noMetrics } from '../src/metrics.ts';
import type { TransportSample } from '../src/metrics.ts';
import { pods } from '../src/objects/resources.ts';
import { fixtureCertificate, fixtureKey } from '@sandlot/kube-testkit';

const tls = { cert: fixtureCertificate, key: fixtureKey };

/** One request as the server saw it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** Number of the connection it came on, from 0. */
  readonly connection: number;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

export type Respond = (answer?: Answer) => void;
export type Handler = (seen: Seen, respond: Respond, response: Http2ServerResponse) => void;

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly seen: readonly Seen[];
  /** HTTP/2 sessions ever opened, in order. */
  readonly sessions: readonly Http2Session[];
  credentials(more?: Partial<Credentials>): Credentials;
}

/** An HTTP/2 server over TLS, or in clear text. */
export async function startServer(
  handler: Handler,
  options: { readonly maxConcurrentStreams?: number; readonly clearText?: boolean } = {},
): Promise<TestServer> {
  const { clearText = false, ...settings } = options;
  const server = clearText ? createHttp2Server({ settings }) : createSecureServer({ ...tls, settings });
  const sessions: Http2Session[] = [];
  const seen: Seen[] = [];
  server.on('session', (session) => {
    session.on('error', () => undefined);
    sessions.push(session);
  });
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    response.stream.on('error', () => undefined);
    const session = response.stream.session;
    void record(request, session === undefined ? -1 : sessions.indexOf(session)).then((entry) => {
      seen.push(entry);
      handler(entry, responder(response), response);
    });
  });
  return { ...(await listening(server, clearText ? 'http' : 'https')), seen, sessions };
}

/** The same over HTTP/1.1 alone. */
export async function startHttp1Server(
  handler: (seen: Seen, respond: Respond, response: ServerResponse) => void,
): Promise<TestServer> {
  const sockets: Socket[] = [];
  const seen: Seen[] = [];
  const server = createHttpsServer(tls, (request, response) => {
    void record(request, sockets.indexOf(request.socket)).then((entry) => {
      seen.push(entry);
      handler(entry, responder(response), response);
    });
  });
  server.on('secureConnection', (socket: Socket) => sockets.push(socket));
  return { ...(await listening(server, 'https')), seen, sessions: [] };
}

export interface TestProxy extends AsyncDisposable {
  readonly port: number;
  /** From now on the open connections carry nothing, without an error on either side; new connections work. */
  stall(): void;
  /** From now on a new connection is accepted and carries nothing until `admitHeld`. */
  holdNew(): void;
  admitHeld(): void;
}

/** A TCP hop in front of a server. */
export async function startProxy(targetPort: number): Promise<TestProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let held: Socket[] | undefined;
  const admit = (client: Socket): void => {
    const upstream = connect(targetPort, '127.0.0.1');
    pairs.add([client, upstream]);
    client.pipe(upstream).on('error', () => client.destroy());
    upstream.pipe(client).on('error', () => upstream.destroy());
  };
  const server = createTcpServer((client) => {
    if (held === undefined) admit(client);
    else held.push(client);
  });
  const port = await listen(server);
  return {
    port,
    stall: () => pairs.forEach(([client, upstream]) => void (client.unpipe(), upstream.unpipe())),
    holdNew: () => (held = []),
    admitHeld: () => {
      held?.forEach(admit);
      held = undefined;
    },
    async [Symbol.asyncDispose]() {
      pairs.forEach((pair) => pair.forEach((socket) => socket.destroy()));
      await new Promise((closed) => server.close(closed));
    },
  };
}

export interface TestClient extends KubeClient, AsyncDisposable {
  /** What the transport's gauges show. */
  sample(): TransportSample;
}

/** A client without jitter. */
export function testClient(options: KubeClientOptions): TestClient {
  let sample = (): TransportSample => ({ sessions: {}, streams: {} });
  const watchTransport = (read: () => TransportSample): void => void (sample = read);
  const client = createKubeClient({
    random: () => 0,
    ...options,
    metrics: { ...noMetrics, ...options.metrics, watchTransport },
  });
  return Object.assign(client, { sample: () => sample(), [Symbol.asyncDispose]: () => client.close() });
}

/** The error a call ends with, or undefined. */
export function readError(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Reads a watch of pods to its end. */
export async function follow(client: KubeClient, received: string[] = []): Promise<void> {
  for await (const event of client.watch(pods, { deadlineMs: 3_600_000 })) received.push(event.type);
}

/** Lets real input and output happen until `condition` holds; fails after a few thousand turns of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20_000; turn += 1) {
    if (condition()) return;
    await nextTurn();
  }
  throw new Error(`never true: ${condition.toString()}`);
}

async function record(request: Http2ServerRequest | IncomingMessage, connection: number): Promise<Seen> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const { method = '', url = '', headers } = request;
  return { method, path: url, headers, body: Buffer.concat(chunks).toString(), connection };
}

function responder(response: ServerResponse | Http2ServerResponse): Respond {
  return ({ status = 200, headers = {}, body = {} } = {}) => {
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function listening(server: Server, scheme: 'http' | 'https'): Promise<Omit<TestServer, 'seen' | 'sessions'>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  const port = await listen(server);
  const origin = `${scheme}://127.0.0.1:${port}`;
  return {
    origin,
    port,
    credentials: (more = {}) => ({
      server: origin,
      ca: tls.cert,
      getAuthorization: () => Promise.resolve(undefined),
      ...more,
    }),
    async [Symbol.asyncDispose]() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((closed) => server.close(closed));
    },
  };
}

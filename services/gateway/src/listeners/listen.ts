import type { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { createHangUp } from '@sandlot/service';
import type { Clock, Logger } from '@sandlot/std';
import type { Networks } from '../access/address.ts';
import { isHttp2 } from '../proxy/messages.ts';
import type { Request } from '../proxy/messages.ts';
import type { Dispatcher, ListenerPolicy } from '../routing/dispatcher.ts';
import type { ConnectionGuard, ConnectionLimit } from './connection-guard.ts';
import { trackConnections } from './track-connections.ts';

/** Of a request: an unfinished head takes twice as much memory. */
const MAX_HEAD_BYTES = 32_768;

/**
 * Only the head of a request has a deadline. Streams may be silent: clients keep them open for 640 s and more without a byte
 * (docs/reference/e2b-api.md#data-plane).
 */
const LIMITS = {
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 650_000,
  maxHeaderSize: MAX_HEAD_BYTES,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  insecureHTTPParser: false,
  requireHostHeader: false,
} as const;

/** Python clients send the requests to all sandboxes over few connections (docs/reference/e2b-api.md#client-configuration). */
const HTTP2 = {
  maxConcurrentStreams: 1_000,
  initialWindowSize: 262_144,
  // WebSockets over HTTP/2 (RFC 8441).
  enableConnectProtocol: true,
  maxHeaderListSize: MAX_HEAD_BYTES,
};
const CONNECTION_WINDOW_BYTES = 4_194_304;
const SESSION_MEMORY_MB = 64;

/** An open port. */
export interface Listener {
  readonly port: number;
  /** Number of open client connections. */
  countConnections(): number;
  /** Accepts no more connections. Idle ones close now, the others at the end of their requests. */
  stop(): void;
  /** Closes the remaining connections. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly dispatcher: Dispatcher;
  readonly policy: ListenerPolicy;
  readonly port: number;
  readonly guard: ConnectionGuard;
  /** Networks of proxies, whose connections have no share of their own. */
  readonly trustedProxies: Networks;
  /** How long the head of a request may take. */
  readonly headMs: number;
}

/** Whether to switch protocols. The gateway declines HTTP/2 without TLS by serving HTTP/1.1 (RFC 9110 7.8). */
const canUpgrade = ({ headers }: IncomingMessage): boolean => !/^\s*h2c\b/i.test(headers.upgrade ?? '');

/** Listens for HTTP/1.1. Rejects when the port cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const server = createServer({ ...LIMITS, headersTimeout: options.headMs, shouldUpgradeCallback: canUpgrade });
  serve(server, options);
  track(server, options, { isSecure: false });
  return open(server, options, () => server.closeIdleConnections());
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface SecureOptions extends ListenOptions, CertificateFiles {
  /** How often the files are read. */
  readonly checkMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Listens over TLS for HTTP/2 and HTTP/1.1, as ALPN decides. Uses a renewed certificate without a restart. Rejects when the
 * port cannot be bound or the files cannot be read.
 */
export async function listenSecurely(options: SecureOptions): Promise<Listener> {
  const certificate = await readCertificate(options);
  const limits = { ...LIMITS, headersTimeout: options.headMs };
  const server = createSecureServer({
    ...limits,
    ...certificate,
    handshakeTimeout: options.headMs,
    allowHTTP1: true,
    settings: HTTP2,
    maxSessionMemory: SESSION_MEMORY_MB,
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => session.destroy());
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  });
  server.on('sessionError', () => undefined);
  server.setTimeout(0);
  serve(server, options);
  track(server, options, { isSecure: true });
  const watching = watchCertificate(server, certificate, options);
  const listener = await open(server, options, () => {
    watching[Symbol.dispose]();
    for (const session of sessions) session.close();
  });
  const close = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await listener.close();
  };
  return { ...listener, close };
}

function track(
  server: Server | Http2SecureServer,
  { guard, trustedProxies }: ListenOptions,
  { isSecure }: { isSecure: boolean },
): void {
  // Behind TLS the client has no answer to expect before its handshake.
  const reject = (socket: Socket, limit: ConnectionLimit): void => {
    if (isSecure) socket.destroy();
    else rejectRaw(socket, ...LIMIT_ANSWERS[limit]);
  };
  trackConnections(server as Server, { guard, trustedProxies, isSecure, reject });
}

function serve(server: Server | Http2SecureServer, { dispatcher, policy }: ListenOptions): void {
  // Both kinds of server emit the same events, but their types do not overlap.
  const events = server as Server;
  events.on('request', (request, response) => dispatcher.serve(policy, request, response));
  events.on('checkContinue', (request, response) => dispatcher.serve(policy, request, response));
  events.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (socket instanceof Socket) dispatcher.upgrade(policy, request, { socket, head });
    else socket.destroy();
  });
  (server as EventEmitter).on('connect', (request: Request, answer: Duplex | Http2ServerResponse) => {
    if (answer instanceof Duplex) rejectRaw(answer, 405, 'CONNECT is not served');
    else if (isHttp2(request) && request.headers[':protocol'] === 'websocket')
      dispatcher.connect(policy, request, answer);
    else answer.writeHead(405).end();
  });
  events.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => rejectBroken(error, socket));
  server.on('tlsClientError', () => undefined);
}

/** Answers what is no HTTP request. Its sender may have left. */
function rejectBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (error.code === 'HPE_HEADER_OVERFLOW') rejectRaw(socket, 431, 'The headers are too large');
  else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') rejectRaw(socket, 408, 'The request did not come in time');
  else rejectRaw(socket, 400, 'This is no HTTP request');
}

const LIMIT_ANSWERS: Readonly<Record<ConnectionLimit, readonly [status: number, message: string]>> = {
  connections: [503, 'The gateway has as many connections as its memory allows; try again'],
  'connections-by-source': [429, 'This client address has too many connections; try again'],
  heads: [408, 'The request did not come in time'],
  'heads-by-source': [429, 'This client address has too many requests whose heads are not complete; try again'],
  'head-time': [408, 'The request did not come in time'],
};

const REASONS: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};

function rejectRaw(socket: Duplex, status: number, message: string): void {
  const body = JSON.stringify({ message, code: status });
  const again = status === 429 || status === 503 ? 'Retry-After: 1' : 'Should-Retry: false';
  const head = `HTTP/1.1 ${status} ${REASONS[status] ?? message}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.on('error', () => undefined);
  socket.end(`${head}\r\n${again}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
}

async function open(
  server: Server | Http2SecureServer,
  { port }: ListenOptions,
  onStop: () => void,
): Promise<Listener> {
  const hangUp = createHangUp(server as Server);
  const sockets = new Set<Socket>();
  (server as Server).on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, backlog: 4_096 }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    countConnections: () => sockets.size,
    stop() {
      server.close();
      hangUp();
      onStop();
    },
    async close() {
      if (server.listening) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}

/** Kubernetes replaces a mounted Secret as a whole. When the files do not form a valid pair, the current one stays. */
function watchCertificate(server: Http2SecureServer, first: Certificate, options: SecureOptions): Disposable {
  const { clock, log, checkMs } = options;
  let current = first;
  const check = async (): Promise<void> => {
    try {
      const next = await readCertificate(options);
      if (next.cert === current.cert && next.key === current.key) return;
      server.setSecureContext(next);
      current = next;
      log.info({}, 'the TLS certificate was renewed');
    } catch (err) {
      log.warn({ err }, 'the TLS certificate could not be renewed; the current one stays');
    }
  };
  const arm = () => clock.setTimeout(() => void check().finally(() => (timer = arm())), checkMs);
  let timer = arm();
  return { [Symbol.dispose]: () => timer.cancel() };
}

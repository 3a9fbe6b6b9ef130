import type { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import type { Clock, Logger } from '@sandlot/std';
import { isHttp2 } from '../proxy/messages.ts';
import type { Request } from '../proxy/messages.ts';
import type { Dispatcher, ListenerPolicy } from '../routing/dispatcher.ts';

/**
 * Only the head of a request has a deadline. Streams may be silent: clients keep them open for 640 s and more without a byte
 * (docs/reference/e2b-api.md#data-plane).
 */
const LIMITS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 650_000,
  maxHeaderSize: 65_536,
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
  readonly maxConnections: number;
}

/** Whether to switch protocols. The gateway declines HTTP/2 without TLS by serving HTTP/1.1 (RFC 9110 7.8). */
const canUpgrade = ({ headers }: IncomingMessage): boolean => !/^\s*h2c\b/i.test(headers.upgrade ?? '');

/** Listens for HTTP/1.1. Rejects when the port cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const server = createServer({ ...LIMITS, shouldUpgradeCallback: canUpgrade });
  serve(server, options);
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
  const server = createSecureServer({
    ...LIMITS,
    ...certificate,
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

function rejectRaw(socket: Duplex, status: number, message: string): void {
  const body = JSON.stringify({ message, code: status });
  const head = `HTTP/1.1 ${status} ${message}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.on('error', () => undefined);
  socket.end(`${head}\r\nShould-Retry: false\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
}

async function open(
  server: Server | Http2SecureServer,
  { port, maxConnections }: ListenOptions,
  onStop: () => void,
): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.maxConnections = maxConnections;
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

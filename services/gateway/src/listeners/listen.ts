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
import type { Door, Gateway } from '../routing/dispatcher.ts';
import { isHttp2 } from '../proxy/messages.ts';
import type { Request } from '../proxy/messages.ts';

/**
 * Streams may be silent for long: clients hold one for 640 s and more without a byte. Only a request's head has to come
 * in time.
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

/** Python clients send requests to all sandboxes of a host over few connections (E2B wire contract 1.2). */
const HTTP2 = {
  maxConcurrentStreams: 1_000,
  initialWindowSize: 262_144,
  // WebSockets (RFC 8441).
  enableConnectProtocol: true,
};
const CONNECTION_WINDOW_BYTES = 4_194_304;
const SESSION_MEMORY_MB = 64;

/** An open port. */
export interface Listener {
  readonly port: number;
  /** Connections of clients. */
  connections(): number;
  /** Takes no more connections; those that are idle are closed, the others with the end of their requests. */
  stop(): void;
  /** Closes what is left. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly gateway: Gateway;
  readonly door: Door;
  readonly port: number;
  readonly maxConnections: number;
}

/** Upgrades that are none of ours: HTTP/2 without TLS is declined by going on with HTTP/1.1 (RFC 9110 7.8). */
const isUpgrade = ({ headers }: IncomingMessage): boolean => !/^\s*h2c\b/i.test(headers.upgrade ?? '');

/** Listens for HTTP/1.1. Rejects when the port cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const server = createServer({ ...LIMITS, shouldUpgradeCallback: isUpgrade });
  serve(server, options);
  return opened(server, options, () => server.closeIdleConnections());
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface SecureOptions extends ListenOptions, CertificateFiles {
  /** How often the files are looked at. */
  readonly checkMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Listens for HTTP/2 and HTTP/1.1 by ALPN over TLS. A certificate that is renewed is taken up without a restart. */
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
  const following = followCertificate(server, certificate, options);
  const listener = await opened(server, options, () => {
    following[Symbol.dispose]();
    for (const session of sessions) session.close();
  });
  const close = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await listener.close();
  };
  return { ...listener, close };
}

function serve(server: Server | Http2SecureServer, { gateway, door }: ListenOptions): void {
  // Both kinds emit the same; their types have nothing in common.
  const events = server as Server;
  events.on('request', (request, response) => gateway.serve(door, request, response));
  events.on('checkContinue', (request, response) => gateway.serve(door, request, response));
  events.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (socket instanceof Socket) gateway.upgrade(door, request, { socket, head });
    else socket.destroy();
  });
  (server as EventEmitter).on('connect', (request: Request, answer: Duplex | Http2ServerResponse) => {
    if (answer instanceof Duplex) rejectRaw(answer, 405, 'CONNECT is not served');
    else if (isHttp2(request) && request.headers[':protocol'] === 'websocket') gateway.connect(door, request, answer);
    else answer.writeHead(405).end();
  });
  events.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => rejectBroken(error, socket));
  server.on('tlsClientError', () => undefined);
}

/** What is not even a request. Its sender may not be there any more. */
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

async function opened(
  server: Server | Http2SecureServer,
  { port, maxConnections }: ListenOptions,
  onStop: () => void,
): Promise<Listener> {
  const open = new Set<Socket>();
  server.maxConnections = maxConnections;
  (server as Server).on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, backlog: 4_096 }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => open.size,
    stop() {
      server.close();
      onStop();
    },
    async close() {
      if (server.listening) server.close();
      for (const socket of open) socket.destroy();
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

/** A Secret that is mounted changes as a whole; a pair that does not fit is told, and the one before stays. */
function followCertificate(server: Http2SecureServer, first: Certificate, options: SecureOptions): Disposable {
  const { clock, log, checkMs } = options;
  let current = first;
  const look = async (): Promise<void> => {
    try {
      const next = await readCertificate(options);
      if (next.cert === current.cert && next.key === current.key) return;
      server.setSecureContext(next);
      current = next;
      log.info({}, 'the certificate was renewed');
    } catch (err) {
      log.warn({ err }, 'the certificate could not be renewed; the one before stays');
    }
  };
  const arm = () => clock.setTimeout(() => void look().finally(() => (timer = arm())), checkMs);
  let timer = arm();
  return { [Symbol.dispose]: () => timer.cancel() };
}

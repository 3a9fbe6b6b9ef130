import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { join, normalize } from 'node:path';
import type { Duplex } from 'node:stream';
import { addNames } from './hosts.ts';
import { listen, openPlace } from './place.ts';

const LARGE_HEADERS = 2 * 2 ** 20;

/** A server of the internet, with names that the cluster's DNS answers. */
export interface Upstream extends AsyncDisposable {
  /** A folder whose files it serves. */
  readonly files: string;
  /** The certificate of the authority that signed its own, as PEM. */
  readonly ca: string;
  /** Streams that clients hold open, by path `/stream`. */
  readonly streams: ReadonlySet<OpenStream>;
  /** Those for `/headers`. */
  readonly requests: readonly SeenRequest[];
  /** What all requests over HTTP were for, without a query. */
  readonly paths: readonly string[];
}

export interface OpenStream {
  readonly host: string;
}

export interface SeenRequest {
  /** Monotonic milliseconds of this process. */
  readonly atMs: number;
  readonly host: string;
  readonly headers: IncomingHttpHeaders;
}

interface Served {
  readonly files: string;
  readonly streams: Set<OpenStream>;
  readonly requests: SeenRequest[];
  readonly paths: string[];
}

export interface UpstreamOptions {
  /** A public address that this machine takes meanwhile, from a block without hosts. */
  readonly address: string;
  /** Its names. */
  readonly names: readonly string[];
  /** Lines in the form of /etc/hosts, for names that lead elsewhere. */
  readonly hosts?: readonly string[];
}

/**
 * Starts HTTP on port 80 and HTTPS on port 443, by a certificate that the egress proxy accepts. `/echo` answers with what it got,
 * `/headers` with the headers, in its own headers too, and `/stream` never ends. `/v1/large-headers` has headers of 2 MiB.
 */
export async function openUpstream({ address, names, hosts = [] }: UpstreamOptions): Promise<Upstream> {
  await using stack = new AsyncDisposableStack();
  const { folder, cert, key, ca } = stack.use(await openPlace(address, names));
  const streams = new Set<OpenStream>();
  const files = join(folder, 'files');
  await mkdir(files);
  const requests: SeenRequest[] = [];
  const paths: string[] = [];
  const answer = buildAnswer({ files, streams, requests, paths });
  stack.use(await listen(createHttpServer(answer), 80, address));
  stack.use(await listen(createHttpsServer({ cert, key }, answer).on('upgrade', greet), 443, address));
  const lines = [...names.map((name) => `${address} ${name}`), ...hosts];
  stack.use(await addNames(lines));
  const kept = stack.move();
  return { files, ca, streams, requests, paths, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function buildAnswer({ files, streams, requests, paths }: Served): RequestListener {
  return (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://upstream');
    paths.push(pathname);
    if (pathname === '/stream') {
      const stream = { host: request.headers.host ?? '' };
      streams.add(stream);
      response.once('close', () => streams.delete(stream));
      response.write('begun\n');
      return;
    }
    if (pathname === '/echo') {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        response.end(JSON.stringify({ host: request.headers.host, method: request.method, bytes: body.length }));
      });
      return;
    }
    if (pathname === '/headers') {
      const seen = JSON.stringify(request.headers);
      requests.push({ atMs: performance.now(), host: request.headers.host ?? '', headers: request.headers });
      response
        .setHeader('x-seen', request.headers.authorization ?? '')
        .setHeader('alt-svc', 'h3=":443"')
        .end(seen);
      return;
    }
    if (pathname === '/v1/large-headers') {
      response.setHeader('x-large', 'x'.repeat(LARGE_HEADERS)).end();
      return;
    }
    void serveFile(join(files, normalize(pathname)), response);
  };
}

/** A server of WebSockets that sends one message: the header `x-mark` that it got. */
function greet({ headers }: IncomingMessage, socket: Duplex): void {
  const key = headers['sec-websocket-key'] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const text = Buffer.from(String(headers['x-mark']));
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
  // The client's close frame ends the connection.
  socket.once('data', () => socket.end());
}

async function serveFile(path: string, response: Parameters<RequestListener>[1]): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  const file = found?.isDirectory() === true ? join(path, 'index.html') : path;
  const exists = (await stat(file).catch(() => undefined))?.isFile() === true;
  if (!exists) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': file.endsWith('.html') ? 'text/html' : 'application/octet-stream' });
  createReadStream(file).pipe(response);
}

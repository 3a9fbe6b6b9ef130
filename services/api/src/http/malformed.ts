import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';

const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
const MESSAGE: Readonly<Record<number, string>> = {
  400: 'this is no HTTP request',
  408: 'the request did not arrive in time',
  413: 'the extensions of a chunk are too large',
  417: 'only 100-continue can be expected',
  431: 'the head of the request is too large',
};

/** Serves the application, and answers requests too malformed for it with the same JSON errors. */
export function serveWith(server: Server, app: Express): void {
  server.on('request', (request, response) => {
    if (isReadable(request)) app(request, response);
    else refuse(response, 400);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => refuse(response, 417));
  server.on('clientError', refuseConnection);
}

/** Whether the request has a Host header, if its version needs one, and a target with a path. */
function isReadable({ httpVersion, headers, url = '' }: IncomingMessage): boolean {
  if (httpVersion === '1.1' && headers.host === undefined) return false;
  return url.startsWith('/') || url === '*' || URL.canParse(url);
}

function refuse(response: ServerResponse, code: number): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = getBody(code);
  response.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
}

function getBody(code: number): string {
  return JSON.stringify({ code, message: MESSAGE[code] });
}

/** Answers what Node's HTTP parser rejects, and closes the connection. */
function refuseConnection(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const code = STATUS[error.code ?? ''] ?? 400;
  const body = getBody(code);
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  // Destroyed after the write, so that a client that does not read the answer cannot keep the connection open.
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

// MCP over streamable HTTP. Each request stands alone, so clients go on after a restart, a pause or a fork.
import { createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { decideRefusal } from './door.ts';
import type { Refusal } from './door.ts';
import { describeError, GatewayError } from './errors.ts';
import { buildServer } from './toolbox.ts';
import type { Toolbox } from './toolbox.ts';

export interface HttpOptions {
  readonly token: string;
  readonly toolbox: Toolbox;
  readonly log: (line: string) => void;
}

export const MOST_BODY_BYTES = 4 * 1024 * 1024;
/** Requests that run at the same time. */
export const MOST_REQUESTS = 64;
const MOST_CONNECTIONS = 256;
const BODY_MS = 60_000;
const HEADERS_MS = 10_000;
/** Longer than the platform's gateway keeps a connection that it does not use. */
const IDLE_MS = 65_000;

/** Builds the HTTP server. It does not listen yet. */
export function buildHttpServer(options: HttpOptions): HttpServer {
  const limits = { requestTimeout: BODY_MS, headersTimeout: HEADERS_MS, keepAliveTimeout: IDLE_MS };
  let running = 0;
  const server = createServer(limits, (request, response) => {
    const refusal = decideRefusal(readKnock(request), options.token) ?? (running < MOST_REQUESTS ? undefined : BUSY);
    if (refusal !== undefined) {
      refuse(response, refusal);
      return;
    }
    running += 1;
    response.once('close', () => {
      running -= 1;
    });
    serve(request, response, options.toolbox).catch((error: unknown) => {
      options.log(`a request failed: ${describeError(error)}`);
      refuse(response, { status: 500, message: 'the gateway failed' });
    });
  });
  server.maxConnections = MOST_CONNECTIONS;
  return server;
}

/** Begins to listen. Throws GatewayError. */
export async function listen(server: HttpServer, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  server.once('error', reject).listen(port, () => resolve(undefined));
  await promise.catch((error: unknown) => {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const why = isTaken ? 'it is in use; a gateway may run in this sandbox already' : describeError(error);
    throw new GatewayError('listen', `cannot listen on port ${port}: ${why}`);
  });
}

const BUSY: Refusal = {
  status: 503,
  message: `${MOST_REQUESTS} requests run already`,
  headers: { 'Retry-After': '1' },
};

async function serve(request: IncomingMessage, response: ServerResponse, toolbox: Toolbox): Promise<void> {
  const body = await readBody(request);
  if ('status' in body) {
    refuse(response, body);
    return;
  }
  const server = buildServer(toolbox);
  const transport = new StreamableHTTPServerTransport();
  // Ends the calls of a client that went away.
  response.once('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, body.message);
}

/** Reads one message. The protocol has no batches any more, and one of thousands of calls would pass the limit of requests. */
async function readBody(request: IncomingMessage): Promise<Refusal | { readonly message: unknown }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_BODY_BYTES) return TOO_LARGE;
    chunks.push(chunk);
  }
  try {
    const message: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return Array.isArray(message) ? { status: 400, message: 'send one message in each request' } : { message };
  } catch {
    return { status: 400, message: 'the body is not JSON' };
  }
}

const TOO_LARGE: Refusal = {
  status: 413,
  message: `the message has more than ${MOST_BODY_BYTES} bytes`,
  headers: { Connection: 'close' },
};

function readKnock({ method, url, headers, socket }: IncomingMessage): Parameters<typeof decideRefusal>[0] {
  const { host, origin, authorization } = headers;
  const isLocal = socket.remoteAddress === socket.localAddress;
  return { method, url, host, origin, authorization, isLocal };
}

function refuse(response: ServerResponse, { status, message, headers }: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });
  response.writeHead(status, { ...headers, 'Content-Type': 'application/json' }).end(body);
}

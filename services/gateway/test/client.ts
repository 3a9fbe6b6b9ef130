import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage, RequestListener, RequestOptions, Server } from 'node:http';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What came back of a request. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly trailers: NodeJS.Dict<string>;
  /** Of a body that is JSON. */
  readonly json: unknown;
}

export interface Ask extends Omit<RequestOptions, 'headers'> {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** A request to the gateway over a connection of its own, unless `agent` says otherwise. */
export async function ask(port: number, { body, ...options }: Ask): Promise<Reply> {
  const sent = request({ agent: false, host: '127.0.0.1', port, ...options });
  sent.end(body);
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  return read(reply);
}

export async function read(reply: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { statusCode = 0, headers, trailers } = reply;
  return { status: statusCode, headers, text, trailers, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An HTTP server in a sandbox. */
export interface Tenant {
  readonly server: Server;
  readonly port: number;
  /** Connections that were ever made to it, oldest first. */
  readonly sockets: readonly Socket[];
}

/** Starts what a tenant runs in his sandbox: it listens on the address of the sandbox's pod until the test is over. */
export async function startTenant(address: string, listener: RequestListener, port = 8080): Promise<Tenant> {
  const server = createServer({ requestTimeout: 0 }, listener);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(port, address);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return { server, port, sockets };
}

/** Answers with what it was asked. */
export const echo: RequestListener = (request, response) => {
  void read(request).then(({ text, trailers }) => {
    const { method, url, rawHeaders } = request;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ method, url, rawHeaders, headers: request.headers, text, trailers }));
  });
};

/** What {@link echo} says. */
export interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  readonly text: string;
  readonly trailers: Readonly<Record<string, string>>;
}

/** Connections that are kept between requests. */
export const keptAlive = (): Agent => new Agent({ keepAlive: true });

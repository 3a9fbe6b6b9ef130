import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage, RequestListener, RequestOptions, Server } from 'node:http';
import { createServer } from 'node:http';
import type { Server as TcpServer, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A response that has been read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly trailers: NodeJS.Dict<string>;
  /** The body, if it is JSON. */
  readonly json: unknown;
}

export interface Ask extends Omit<RequestOptions, 'headers'> {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** Sends a request to the gateway over a new connection, unless `agent` says otherwise. */
export async function ask(port: number, { body, ...options }: Ask): Promise<Reply> {
  const sent = request({ agent: false, host: '127.0.0.1', port, ...options });
  sent.end(body);
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  return read(reply);
}

/** Reads a response to its end. Rejects when it is cut off. */
export async function read(reply: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { statusCode = 0, headers, trailers } = reply;
  return { status: statusCode, headers, text, trailers, json: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An HTTP server in a sandbox. */
export interface SandboxServer {
  readonly http: Server;
  readonly port: number;
  /** Every connection that was made to it, oldest first. */
  readonly sockets: readonly Socket[];
}

/** Starts a server on the address of a sandbox's pod. It stops at the end of the test. */
export async function startSandboxServer(
  address: string,
  listener: RequestListener,
  port = 8080,
): Promise<SandboxServer> {
  const server = createServer({ requestTimeout: 0 }, listener);
  return { http: server, port, sockets: await listenDuringTest(server, { address, port }) };
}

/** Lets a server listen until the end of the test, and collects its connections, oldest first. */
export async function listenDuringTest(server: TcpServer, at: { address: string; port: number }): Promise<Socket[]> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => undefined)));
  server.listen(at.port, at.address);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return sockets;
}

/** Answers with the request it got, as JSON. */
export const echo: RequestListener = (request, response) => {
  void read(request).then(({ text, trailers }) => {
    const { method, url, rawHeaders } = request;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ method, url, rawHeaders, headers: request.headers, text, trailers }));
  });
};

/** The body of an answer of {@link echo}. */
export interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  readonly text: string;
  readonly trailers: Readonly<Record<string, string>>;
}

/** An agent that keeps connections between requests. */
export const createKeepAliveAgent = (): Agent => new Agent({ keepAlive: true });

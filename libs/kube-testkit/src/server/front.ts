import { constants, createSecureServer } from 'node:http2';
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { fixtureCertificate, fixtureKey } from './certificate.ts';
import { Connections, waitUntilListening, getPort } from './connections.ts';
import type { RawRequest } from './request.ts';
import type { WatchSink } from '../watch/watch.ts';

/** A response in the HTTP version of the client. */
export interface Responder {
  json(code: number, body: object, headers?: Readonly<Record<string, string>>): void;
  text(code: number, body: string): void;
  /** Resets the stream without an answer. */
  reset(): void;
  /** Begins a streamed answer. Calls `onClose` when either side has ended it. */
  stream(onClose: () => void): WatchSink;
}

export type Answerer = (request: RawRequest, respond: Responder) => void;

/** Streams per connection, the default of the real server. */
const MAX_STREAMS = 100;

/** A TLS server with HTTP/2 and HTTP/1.1 behind a relay that faults can freeze. */
export class Front {
  readonly #server: Http2SecureServer;
  #connections: Connections | undefined;

  constructor(answer: Answerer, protocols: readonly ('h2' | 'http/1.1')[]) {
    this.#server = createSecureServer({
      cert: fixtureCertificate,
      key: fixtureKey,
      allowHTTP1: protocols.includes('http/1.1'),
      ALPNProtocols: [...protocols],
      settings: { maxConcurrentStreams: MAX_STREAMS },
    });
    this.#server.on('request', (request, response) => void serve(request, response, answer));
    this.#server.on('sessionError', () => undefined);
  }

  /** Returns the port to connect to. */
  async listen(): Promise<number> {
    await waitUntilListening(this.#server);
    this.#connections = new Connections(getPort(this.#server));
    return this.#connections.listen();
  }

  freezeConnections(): void {
    this.#connections?.freeze();
  }

  cutConnections(): void {
    this.#connections?.cut();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await this.#connections?.stop();
    await closed;
  }
}

async function serve(request: Http2ServerRequest, response: Http2ServerResponse, answer: Answerer): Promise<void> {
  response.on('error', () => undefined);
  try {
    const body = await readBody(request);
    answer({ method: request.method, url: request.url, headers: request.headers, body }, buildResponder(response));
  } catch {
    // The client disconnected while it was sending.
    response.destroy();
  }
}

async function readBody(request: Http2ServerRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const JSON_TYPE = { 'content-type': 'application/json' };

function buildResponder(response: Http2ServerResponse): Responder {
  return {
    json: (code, body, headers = {}) => {
      response.writeHead(code, { ...JSON_TYPE, ...headers });
      response.end(JSON.stringify(body));
    },
    text: (code, body) => {
      response.writeHead(code, { 'content-type': 'text/plain' });
      response.end(body);
    },
    reset: () => reset(response),
    stream: (onClose) => {
      response.writeHead(200, JSON_TYPE);
      // Send the headers at once, so that the client sees the start of a watch without events.
      (response as { flushHeaders?: () => void }).flushHeaders?.();
      response.on('close', onClose);
      return {
        write: (frame) => void response.write(frame),
        end: () => void response.end(),
        reset: () => reset(response),
      };
    },
  };
}

/** Resets the stream. HTTP/1.1 has no streams, so the connection is closed. */
function reset(response: Http2ServerResponse): void {
  const { stream } = response as Partial<Pick<Http2ServerResponse, 'stream'>>;
  if (stream === undefined) response.socket.destroy();
  else stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

import type { Readable } from 'node:stream';

/** Calls and the bulk traffic (watches, lists) never share a connection: a slow reader must not hold up a claim. */
export type Lane = 'call' | 'bulk';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Aborting ends the request, or the response body that is being read, with the signal's reason as error. */
  readonly signal: AbortSignal;
}

export interface WireResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Readable;
}

/** A way to the server that carries requests: an HTTP/2 session, or a keep-alive pool of HTTP/1.1 sockets. */
export interface Connection {
  /** Requests this connection takes at a time. */
  capacity(): number;
  /** Rejects with {@link NotProcessed} when the server has certainly not acted on the request. */
  send(request: WireRequest): Promise<WireResponse>;
  /** Lets the requests in flight finish and closes. */
  drain(): void;
  destroy(reason: Error): void;
}

/** The request did not reach the server or was refused unread: sending it again is safe, whatever it is. */
export class NotProcessed extends Error {
  override readonly name = 'NotProcessed';
}

import type { Readable } from 'node:stream';

/** Calls never share a connection with bulk traffic (watches and lists), so that a slow reader cannot delay a claim. */
export type Lane = 'call' | 'bulk';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Aborting ends the request or the response body with the signal's reason as the error. */
  readonly signal: AbortSignal;
}

export interface WireResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Readable;
}

/** Carries requests to the server: an HTTP/2 session, or a keep-alive pool of HTTP/1.1 sockets. */
export interface Connection {
  /** The number of concurrent requests. */
  getCapacity(): number;
  /** Rejects with {@link NotProcessed} when the server certainly did not process the request. */
  send(request: WireRequest): Promise<WireResponse>;
  /** Closes the connection after the requests in flight have finished. */
  drain(): void;
  destroy(reason: Error): void;
}

/** The request did not reach the server, or the server refused it without reading it. Any such request can be retried. */
export class NotProcessed extends Error {
  override readonly name = 'NotProcessed';
}

import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { systemClock } from '@sandlot/std';
import type { AddressInfo } from 'node:net';

const DRAIN_MS = 1_000;
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;

/** A listening HTTP server. */
export interface HttpListener extends AsyncDisposable {
  /** The real port, also when port 0 was requested. */
  readonly port: number;
  /** Refuses new connections, lets requests finish for a second, then ends them. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly port: number;
  /** Default: all addresses, because kubelet and Prometheus connect from outside the pod. */
  readonly host?: string | undefined;
  /** How long one request may take to come, milliseconds. Default: 10 s. */
  readonly requestTimeoutMs?: number | undefined;
}

/** Starts a server; rejects when the port cannot be bound. */
export async function listen(requested: ListenOptions, handler: RequestListener): Promise<HttpListener> {
  const { requestTimeoutMs: requestTimeout = REQUEST_TIMEOUT_MS } = requested;
  const server = createServer({ requestTimeout, headersTimeout: HEADERS_TIMEOUT_MS }, handler);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(requested.port, requested.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      const timer = systemClock.setTimeout(() => server.closeAllConnections(), DRAIN_MS);
      server.close(() => {
        timer.cancel();
        resolve();
      });
      server.closeIdleConnections();
    });
    return closing;
  };
  return { port, close, [Symbol.asyncDispose]: close };
}

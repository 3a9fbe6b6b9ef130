import { hash } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Clock } from '@sandlot/std';
import type { Answer } from '../refusals/answer.ts';
import type { ConcurrencyLimit } from '../limits/concurrency-limit.ts';
import { Connections } from './connections.ts';
import { DialError } from './dial.ts';
import type { Exchange } from './exchange.ts';
import { sendAnswer } from './messages.ts';
import { Transfer } from './transfer.ts';

export interface ApiProxyOptions {
  /** Undefined: the gateway serves no API. */
  readonly apiUrl: string | undefined;
  readonly connectMs: number;
  /** Open requests of each API key. */
  readonly perKey: ConcurrencyLimit;
  readonly clock: Clock;
  readonly onAnswer: (exchange: Exchange, status: number) => void;
}

/** Forwards control-plane requests to the API. */
export class ApiProxy {
  readonly #o: ApiProxyOptions;
  readonly #url: URL | undefined;
  readonly #connections: Connections;

  constructor(options: ApiProxyOptions) {
    this.#o = options;
    this.#url = options.apiUrl === undefined ? undefined : new URL(options.apiUrl);
    this.#connections = new Connections(() => this.#connect());
  }

  serve(exchange: Exchange): void {
    const url = this.#url;
    if (exchange.path === '/files' || exchange.path.startsWith('/files?')) this.#answer(exchange, NO_SANDBOX_NAMED);
    else if (url === undefined) this.#answer(exchange, NO_API);
    else this.#forward(exchange, url);
  }

  close(): void {
    this.#connections.destroy();
  }

  #forward(exchange: Exchange, url: URL): void {
    const key = findKey(exchange);
    const { perKey, clock, onAnswer } = this.#o;
    if (key !== undefined && !perKey.enter(key)) {
      const message = `Too many requests at a time: an API key may have ${perKey.limit}`;
      this.#answer(exchange, buildAnswer(429, message, { 'Retry-After': '1' }));
      return;
    }
    if (key !== undefined) exchange.response.once('close', () => perKey.leave(key));
    new Transfer({
      exchange,
      hop: {
        agent: this.#connections,
        hostname: url.hostname,
        port: getPort(url),
        host: exchange.peer.host,
        kind: 'control',
      },
      clock,
      timeoutMs: undefined,
      onAnswer: (status) => onAnswer(exchange, status),
      onFailure: (error) => this.#answer(exchange, error instanceof DialError ? API_UNREACHABLE : NO_ANSWER),
    }).start();
  }

  #answer(exchange: Exchange, answer: Answer): void {
    this.#o.onAnswer(exchange, answer.status);
    if (!exchange.response.headersSent) sendAnswer(exchange.request, exchange.response, answer);
  }

  /** Rejects with {@link DialError}, which means that the request has not been sent. */
  #connect(): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const url = this.#url ?? new URL('http://localhost');
    const options = { host: url.hostname.replace(/^\[|\]$/g, ''), port: getPort(url) };
    const isSecure = url.protocol === 'https:';
    const socket = isSecure
      ? connectSecurely({ ...options, servername: url.hostname })
      : connect({ ...options, noDelay: true });
    socket.setTimeout(this.#o.connectMs);
    const onTimeout = (): void => void socket.destroy(new Error('no connection in time'));
    const onError = (error: Error): void => reject(new DialError('unreachable', error.message));
    socket.once('timeout', onTimeout);
    socket.once('error', onError);
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      socket.off('timeout', onTimeout);
      socket.off('error', onError);
      socket.setTimeout(0);
      resolve(socket);
    });
    return promise;
  }
}

function getPort({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** A digest of the API key: the gateway keeps no keys. */
function findKey({ request: { headers } }: Exchange): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? hash('sha256', key, 'base64') : undefined;
}

/** An error in the format of the API (docs/reference/e2b-api.md#conventions). */
function buildAnswer(status: number, message: string, headers: Readonly<Record<string, string>>): Answer {
  const body = JSON.stringify({ code: status, message });
  const length = String(Buffer.byteLength(body));
  return { status, headers: { 'Content-Type': 'application/json', 'Content-Length': length, ...headers }, body };
}

const FINAL = { 'Should-Retry': 'false' };
const NO_API = buildAnswer(404, 'This gateway serves sandboxes only: it has no API', FINAL);
const API_UNREACHABLE = buildAnswer(503, 'The API cannot be reached now; try again', { 'Retry-After': '1' });
const NO_ANSWER = buildAnswer(502, 'The API gave no answer: whether it did what was asked is not known', FINAL);
const NO_SANDBOX_NAMED = buildAnswer(
  400,
  'This URL names no sandbox. URLs of files work where sandboxes have host names: set E2B_DOMAIN instead of E2B_SANDBOX_URL',
  FINAL,
);

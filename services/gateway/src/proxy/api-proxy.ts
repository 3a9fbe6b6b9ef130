import { hash } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Clock } from '@sandlot/std';
import type { Call } from './exchange.ts';
import type { Counters } from './concurrency-limit.ts';
import { DialError } from './dial.ts';
import { sendAnswer } from './messages.ts';
import type { Answer } from '../refusals/answer.ts';
import { Transfer } from './transfer.ts';
import { Connections } from './connections.ts';

export interface ControlPlaneOptions {
  /** Absent: there is none. */
  readonly apiUrl: string | undefined;
  readonly connectMs: number;
  readonly perKey: Counters;
  readonly clock: Clock;
  readonly onAnswer: (call: Call, status: number) => void;
}

/** Passes control-plane requests on to the API, which answers for them. */
export class ControlPlane {
  readonly #o: ControlPlaneOptions;
  readonly #url: URL | undefined;
  readonly #connections: Connections;

  constructor(options: ControlPlaneOptions) {
    this.#o = options;
    this.#url = options.apiUrl === undefined ? undefined : new URL(options.apiUrl);
    this.#connections = new Connections(() => this.#connect());
  }

  serve(call: Call): void {
    const url = this.#url;
    if (call.path === '/files' || call.path.startsWith('/files?')) this.#answer(call, NO_SANDBOX_NAMED);
    else if (url === undefined) this.#answer(call, NO_API);
    else this.#pass(call, url);
  }

  close(): void {
    this.#connections.destroy();
  }

  #pass(call: Call, url: URL): void {
    const key = keyOf(call);
    const { perKey, clock, onAnswer } = this.#o;
    if (key !== undefined && !perKey.enter(key)) {
      const message = `Too many requests at a time: an API key may have ${perKey.limit}`;
      this.#answer(call, answerOf(429, message, { 'Retry-After': '1' }));
      return;
    }
    if (key !== undefined) call.response.once('close', () => perKey.leave(key));
    new Transfer({
      call,
      hop: {
        agent: this.#connections,
        hostname: url.hostname,
        port: portOf(url),
        host: call.origin.host,
        kind: 'control',
      },
      clock,
      timeoutMs: undefined,
      onAnswer: (status) => onAnswer(call, status),
      onFailure: (error) => this.#answer(call, error instanceof DialError ? API_AWAY : API_BROKE_OFF),
    }).start();
  }

  #answer(call: Call, answer: Answer): void {
    this.#o.onAnswer(call, answer.status);
    if (!call.response.headersSent) sendAnswer(call.request, call.response, answer);
  }

  /** Rejects with {@link DialError}: then the request has certainly not been sent. */
  #connect(): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const url = this.#url ?? new URL('http://localhost');
    const options = { host: url.hostname.replace(/^\[|\]$/g, ''), port: portOf(url) };
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

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** The key itself is kept nowhere. */
function keyOf({ request: { headers } }: Call): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? hash('sha256', key, 'base64') : undefined;
}

/** In the shape of the control plane's errors (E2B wire contract 2.1). */
function answerOf(status: number, message: string, headers: Readonly<Record<string, string>>): Answer {
  const body = JSON.stringify({ code: status, message });
  const length = String(Buffer.byteLength(body));
  return { status, headers: { 'Content-Type': 'application/json', 'Content-Length': length, ...headers }, body };
}

const FINAL = { 'Should-Retry': 'false' };
const NO_API = answerOf(404, 'This gateway serves sandboxes only: it has no API', FINAL);
const API_AWAY = answerOf(503, 'The API cannot be reached now; try again', { 'Retry-After': '1' });
const API_BROKE_OFF = answerOf(502, 'The API gave no answer: whether it did what was asked is not known', FINAL);
const NO_SANDBOX_NAMED = answerOf(
  400,
  'This URL names no sandbox. URLs of files work where sandboxes have host names: set E2B_DOMAIN instead of E2B_SANDBOX_URL',
  FINAL,
);

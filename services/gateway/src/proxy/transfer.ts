import { randomBytes } from 'node:crypto';
import { request as sendRequest } from 'node:http';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '@sandlot/std';
import { isRepeatable } from './exchange.ts';
import type { ClientSocket, Exchange } from './exchange.ts';
import { requestHeaders, listResponseHeaders } from './headers.ts';
import { getBodyBytes, breakOff, flushHead, sendEnd, sendHead } from './messages.ts';
import type { Request } from './messages.ts';
import { PROOF_HEADER } from './proofs.ts';
import { listPairs } from './raw-headers.ts';
import { joinSockets, switchProtocols } from './switch-protocols.ts';

/** Where a request is forwarded to. */
export interface NextHop {
  readonly agent: Agent;
  readonly hostname: string;
  readonly port: number;
  /** The value of Host. */
  readonly host: string;
  readonly kind: 'sandbox' | 'router' | 'control';
  /** What shows a daemon that the gateway sends the request. */
  readonly proof?: string | undefined;
}

/** The two sockets of an upgraded connection. */
export type SocketPair = readonly [client: ClientSocket, sandbox: Socket];

export interface TransferOptions {
  readonly exchange: Exchange;
  readonly hop: NextHop;
  readonly clock: Clock;
  /** Limit until the head of the response; undefined: none. */
  readonly timeoutMs: number | undefined;
  /** Called with the head of the response. */
  readonly onAnswer: (status: number) => void;
  /** Called when the two sides have switched protocols: from now on the transfer has no part in them. */
  readonly onUpgrade?: (sockets: SocketPair) => void;
  /** Called when no response came; the client has got nothing yet. `isLate`: the limit has passed. */
  readonly onFailure: (error: NodeJS.ErrnoException, isLate: boolean) => void;
}

/**
 * Streams one request to the next hop and the response back, no faster than the receiver reads. When one side closes, the
 * transfer closes the other at once.
 */
export class Transfer {
  readonly #o: TransferOptions;
  #upstream: ClientRequest | undefined;
  #timer: Timer | undefined;
  #isOver = false;
  #isSecondTry = false;
  #isUpgraded = false;

  constructor(options: TransferOptions) {
    this.#o = options;
  }

  start(): void {
    const { exchange, clock, timeoutMs } = this.#o;
    if (timeoutMs !== undefined) this.#timer = clock.setTimeout(() => this.#onTimeout(), timeoutMs);
    exchange.response.once('close', () => this.#onClientClose());
    this.#send();
  }

  /** Stops the transfer. The caller answers the client or breaks off the response. */
  cancel(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#upstream?.destroy();
  }

  #send(): void {
    const { exchange, hop } = this.#o;
    const { request } = exchange;
    const length = getBodyBytes(request);
    const upstream = sendRequest({
      agent: hop.agent,
      hostname: hop.hostname,
      port: hop.port,
      method: getMethod(request),
      path: exchange.path,
      headers: this.#headers(length),
      setHost: false,
    });
    this.#upstream = upstream;
    upstream.once('response', (answer) => this.#onResponse(answer));
    upstream.on('error', (error) => this.#onError(error));
    // Node reports no error for a switch of protocols that nothing listens for.
    upstream.once('upgrade', (...given: UpgradeEvent) => this.#onUpgrade(...given));
    if (length === 0) {
      upstream.end();
      return;
    }
    if (request.headers.expect !== undefined) upstream.once('continue', () => exchange.response.writeContinue());
    // Only once connected: a failed dial may be repeated, and then needs the whole body.
    upstream.once('socket', () => sendBody(request, upstream));
  }

  #headers(length: number): string[] {
    const { exchange, hop } = this.#o;
    const { headers, rawHeaders, method = '' } = exchange.request;
    const sent = requestHeaders({
      raw: rawHeaders,
      to: hop.kind,
      peer: exchange.peer,
      host: hop.host,
      connection: headers.connection,
      upgrade: exchange.upgrade?.protocol,
      te: joinValues(headers['te']),
    });
    if (hop.proof !== undefined) sent.push(PROOF_HEADER, hop.proof);
    if (method === 'CONNECT') sent.push('Sec-WebSocket-Key', randomBytes(NONCE_BYTES).toString('base64'));
    const isFramed = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (!isFramed && length > 0) sent.push('Transfer-Encoding', 'chunked');
    // Without it Node would announce a chunked body, which the client did not.
    else if (!isFramed && EXPECTS_BODY.has(method)) sent.push('Content-Length', '0');
    return sent;
  }

  #onResponse(answer: IncomingMessage): void {
    const { exchange, onAnswer } = this.#o;
    const { response } = exchange;
    this.#timer?.cancel();
    answer.on('error', () => this.#breakOff());
    if (this.#isOver) return;
    onAnswer(answer.statusCode ?? 0);
    sendHead(response, answer, listResponseHeaders(answer.rawHeaders, answer.headers.connection));
    answer.pipe(response, { end: false });
    answer.once('end', () => {
      if (!this.#isOver) sendEnd(response, answer.rawTrailers);
    });
    // The head goes out with the first bytes of the body, or alone when they take longer.
    setImmediate(() => {
      if (!this.#isOver) flushHead(response);
    });
  }

  #onUpgrade(answer: IncomingMessage, upstream: Socket, head: Buffer): void {
    const { response, upgrade } = this.#o.exchange;
    this.#timer?.cancel();
    if (upgrade === undefined || this.#isOver) {
      upstream.destroy();
      if (!this.#isOver) this.#onError(new Error('the sandbox switched protocols without being asked'));
      return;
    }
    this.#isUpgraded = true;
    this.#finish();
    this.#o.onAnswer(101);
    this.#o.onUpgrade?.([upgrade.socket, upstream]);
    switchProtocols(response, upgrade.socket, answer);
    joinSockets(upgrade.socket, upstream, { toFirst: head, toSecond: upgrade.head });
  }

  #onError(error: NodeJS.ErrnoException): void {
    if (this.#isOver) return;
    const { exchange, onFailure } = this.#o;
    if (exchange.response.headersSent) {
      this.#breakOff();
      return;
    }
    const wasUnused = this.#upstream?.reusedSocket === true && error.code === 'ECONNRESET';
    if (wasUnused && !this.#isSecondTry && isRepeatable(exchange)) {
      this.#isSecondTry = true;
      this.#send();
      return;
    }
    this.#finish();
    onFailure(error, false);
  }

  #onTimeout(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#upstream?.destroy();
    this.#o.onFailure(new Error('no answer in time'), true);
  }

  /** Ends both sides in the middle of a response. */
  #breakOff(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#upstream?.destroy();
    breakOff(this.#o.exchange.response);
  }

  /** The client has the whole response, or has left. Ends an upload that is still running. */
  #onClientClose(): void {
    if (this.#isUpgraded) return;
    const { exchange } = this.#o;
    const isComplete = exchange.response.writableFinished && this.#upstream?.writableFinished === true;
    this.#finish();
    if (isComplete) return;
    this.#upstream?.destroy();
    exchange.request.unpipe();
  }

  #finish(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }
}

/** An extended CONNECT of HTTP/2 becomes a GET with an upgrade in HTTP/1.1. */
const getMethod = ({ method = 'GET' }: Request): string => (method === 'CONNECT' ? 'GET' : method);

/** Length of Sec-WebSocket-Key, which HTTP/2 does not have. */
const NONCE_BYTES = 16;

function sendBody(request: Request, upstream: ClientRequest): void {
  request.pipe(upstream, { end: false });
  request.once('end', () => {
    if (request.rawTrailers.length > 0) upstream.addTrailers(listPairs(request.rawTrailers));
    upstream.end();
  });
}

type UpgradeEvent = [IncomingMessage, Socket, Buffer];

const EXPECTS_BODY = new Set(['POST', 'PUT', 'PATCH']);

const joinValues = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

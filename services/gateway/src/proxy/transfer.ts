import { randomBytes } from 'node:crypto';
import { request as sendRequest, ServerResponse } from 'node:http';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Clock, Timer } from '@sandlot/std';
import { isRepeatable } from './exchange.ts';
import type { Call, End } from './exchange.ts';
import { asHttp2, pairsOf, requestHeaders, responseHeaders } from './headers.ts';
import { bodyBytes, breakOff, flushHead, sendEnd, sendHead } from './messages.ts';
import type { Request, Response } from './messages.ts';

/** Where a call is passed on to. */
export interface NextHop {
  readonly agent: Agent;
  readonly hostname: string;
  readonly port: number;
  /** Value of Host. */
  readonly host: string;
  readonly kind: 'sandbox' | 'router' | 'control';
}

/** The two ends of an upgraded connection: the client's, and the sandbox's. */
export type Ends = readonly [End, Socket];

export interface TransferOptions {
  readonly call: Call;
  readonly hop: NextHop;
  readonly clock: Clock;
  /** Until the head of the answer; undefined: as long as it takes. */
  readonly timeoutMs: number | undefined;
  /** The head of the answer has come. */
  readonly onAnswer: (status: number) => void;
  /** The two ends speak with each other from now on, and the transfer has nothing more to do with them. */
  readonly onUpgraded?: (ends: Ends) => void;
  /** No answer came, and none was sent to the client. `late`: within the time-out. */
  readonly onFailure: (error: NodeJS.ErrnoException, late: boolean) => void;
}

/**
 * Passes one call on and its answer back, byte by byte as they come and no faster than the other side takes them. When
 * one side goes away the other is let go at once.
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
    const { call, clock, timeoutMs } = this.#o;
    if (timeoutMs !== undefined) this.#timer = clock.setTimeout(() => this.#late(), timeoutMs);
    call.response.once('close', () => this.#clientDone());
    this.#send();
  }

  /** Lets both sides go. Whoever calls it has answered the client, or breaks its answer off. */
  cancel(): void {
    if (this.#isOver) return;
    this.#over();
    this.#upstream?.destroy();
  }

  #send(): void {
    const { call, hop } = this.#o;
    const { request } = call;
    const length = bodyBytes(request);
    const upstream = sendRequest({
      agent: hop.agent,
      hostname: hop.hostname,
      port: hop.port,
      method: methodOf(request),
      path: call.path,
      headers: this.#headers(length),
      setHost: false,
    });
    this.#upstream = upstream;
    upstream.once('response', (answer) => this.#answered(answer));
    upstream.on('error', (error) => this.#failed(error));
    if (call.upgrade !== undefined) upstream.once('upgrade', (...given: Upgraded) => this.#upgraded(...given));
    if (length === 0) {
      upstream.end();
      return;
    }
    if (request.headers.expect !== undefined) upstream.once('continue', () => call.response.writeContinue());
    // Not before there is a connection: a dial that fails may be tried again, with the whole body.
    upstream.once('socket', () => sendBody(request, upstream));
  }

  #headers(length: number): string[] {
    const { call, hop } = this.#o;
    const { headers, rawHeaders, method = '' } = call.request;
    const made = requestHeaders({
      raw: rawHeaders,
      to: hop.kind,
      origin: call.origin,
      host: hop.host,
      connection: headers.connection,
      upgrade: call.upgrade?.protocol,
      te: one(headers['te']),
    });
    if (method === 'CONNECT') made.push('Sec-WebSocket-Key', randomBytes(NONCE_BYTES).toString('base64'));
    const isFramed = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (!isFramed && length > 0) made.push('Transfer-Encoding', 'chunked');
    // Node would otherwise announce a body, of no length, that the client did not.
    else if (!isFramed && EXPECTS_BODY.has(method)) made.push('Content-Length', '0');
    return made;
  }

  #answered(answer: IncomingMessage): void {
    const { call, onAnswer } = this.#o;
    const { response } = call;
    this.#timer?.cancel();
    answer.on('error', () => this.#brokeOff());
    if (this.#isOver) return;
    onAnswer(answer.statusCode ?? 0);
    sendHead(response, answer, responseHeaders(answer.rawHeaders, answer.headers.connection));
    answer.pipe(response, { end: false });
    answer.once('end', () => {
      if (!this.#isOver) sendEnd(response, answer.rawTrailers);
    });
    // A head goes out together with the beginning of its body, and alone where that takes its time.
    setImmediate(() => {
      if (!this.#isOver) flushHead(response);
    });
  }

  #upgraded(answer: IncomingMessage, upstream: Socket, begun: Buffer): void {
    const { response, upgrade } = this.#o.call;
    this.#timer?.cancel();
    if (upgrade === undefined || this.#isOver) {
      upstream.destroy();
      return;
    }
    this.#isUpgraded = true;
    this.#over();
    this.#o.onAnswer(101);
    this.#o.onUpgraded?.([upgrade.socket, upstream]);
    switchProtocols(response, upgrade.socket, answer);
    join(upgrade.socket, upstream, { toFirst: begun, toSecond: upgrade.head });
  }

  #failed(error: NodeJS.ErrnoException): void {
    if (this.#isOver) return;
    const { call, onFailure } = this.#o;
    if (call.response.headersSent) {
      this.#brokeOff();
      return;
    }
    const wasUnused = this.#upstream?.reusedSocket === true && error.code === 'ECONNRESET';
    if (wasUnused && !this.#isSecondTry && isRepeatable(call)) {
      this.#isSecondTry = true;
      this.#send();
      return;
    }
    this.#over();
    onFailure(error, false);
  }

  #late(): void {
    if (this.#isOver) return;
    this.#over();
    this.#upstream?.destroy();
    this.#o.onFailure(new Error('no answer in time'), true);
  }

  /** The answer ends before its end. */
  #brokeOff(): void {
    if (this.#isOver) return;
    this.#over();
    this.#upstream?.destroy();
    breakOff(this.#o.call.response);
  }

  /** The client has its answer, or has gone. An upload that nobody reads any more ends with it. */
  #clientDone(): void {
    if (this.#isUpgraded) return;
    const { call } = this.#o;
    const isWhole = call.response.writableFinished && this.#upstream?.writableFinished === true;
    this.#over();
    if (isWhole) return;
    this.#upstream?.destroy();
    call.request.unpipe();
  }

  #over(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }
}

/** Over HTTP/1.1 with the head as it came; over HTTP/2 with success, and without what proves the switch (RFC 8441 5). */
function switchProtocols(response: Response, end: End, answer: IncomingMessage): void {
  if (end instanceof Socket) {
    if (response instanceof ServerResponse) response.detachSocket(end);
    end.write(rawHead(answer), 'latin1');
    return;
  }
  const pairs = pairsOf(responseHeaders(answer.rawHeaders, answer.headers.connection));
  const kept = pairs.filter(([name]) => name.toLowerCase() !== 'sec-websocket-accept');
  end.respond({ ':status': 200, ...asHttp2(kept.flat()) });
}

/** An extended CONNECT is what a GET with an upgrade is in HTTP/1.1. */
const methodOf = ({ method = 'GET' }: Request): string => (method === 'CONNECT' ? 'GET' : method);

/** Of Sec-WebSocket-Key, which HTTP/2 has not. */
const NONCE_BYTES = 16;

/** The head of an answer as it came. */
function rawHead({ statusCode = 101, statusMessage = '', rawHeaders }: IncomingMessage): string {
  const lines = pairsOf(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`;
}

/** Lets two connections speak with each other until either ends; first what each has said already. */
function join(first: End, second: Socket, said: { readonly toFirst: Buffer; readonly toSecond: Buffer }): void {
  if (said.toFirst.length > 0) first.write(said.toFirst);
  if (said.toSecond.length > 0) second.write(said.toSecond);
  for (const [one, other] of [
    [first, second],
    [second, first],
  ] as const) {
    one.setTimeout(0);
    one.once('error', () => other.destroy());
    one.once('close', () => finish(other));
    one.pipe(other);
  }
}

/** Closes it once what was said to it is sent. */
function finish(end: End): void {
  if (end instanceof Socket) end.destroySoon();
  else end.end(() => end.close());
}

function sendBody(request: Request, upstream: ClientRequest): void {
  request.pipe(upstream, { end: false });
  request.once('end', () => {
    if (request.rawTrailers.length > 0) upstream.addTrailers(pairsOf(request.rawTrailers));
    upstream.end();
  });
}

type Upgraded = [IncomingMessage, Socket, Buffer];

const EXPECTS_BODY = new Set(['POST', 'PUT', 'PATCH']);

const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

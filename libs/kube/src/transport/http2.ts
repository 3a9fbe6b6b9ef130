import { connect as connectHttp2, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@sandlot/std';
import { NotProcessed } from './connection.ts';
import type { Connection, Lane, WireRequest, WireResponse } from './connection.ts';

const PING_EVERY_MS = 10_000;
const PING_DEADLINE_MS = 5_000;

/** Servers allow at least 100 streams. The spare slots are for streams that are still closing. */
const MAX_STREAMS = 100;
const SPARE_STREAMS = 10;

const MIB = 2 ** 20;

/** The session window is much larger than a stream window, so a slow reader of one stream does not block the others. */
const WINDOWS: Readonly<Record<Lane, { streamBytes: number; sessionBytes: number }>> = {
  call: { streamBytes: MIB, sessionBytes: 16 * MIB },
  bulk: { streamBytes: 4 * MIB, sessionBytes: 256 * MIB },
};

export interface Http2Options {
  readonly origin: string;
  readonly socket: Duplex;
  readonly lane: Lane;
  readonly clock: Clock;
  /** Called when the connection takes no more requests: it is closed or broken, or the server has sent GOAWAY. */
  readonly onGone: () => void;
  readonly onPing: (seconds: number) => void;
}

/** One HTTP/2 session. When the server does not answer a PING within 5 s, the session is destroyed and its requests fail. */
export class Http2Connection implements Connection {
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  readonly #onGone: () => void;
  readonly #onPing: (seconds: number) => void;
  #timer: Timer | undefined;

  constructor({ origin, socket, lane, clock, onGone, onPing }: Http2Options) {
    this.#clock = clock;
    this.#onGone = onGone;
    this.#onPing = onPing;
    const { streamBytes, sessionBytes } = WINDOWS[lane];
    const settings = { initialWindowSize: streamBytes, enablePush: false };
    const session = connectHttp2(origin, { createConnection: () => socket, settings });
    session.once('connect', () => {
      // A session that was destroyed in the meantime still emits `connect`.
      if (!session.destroyed) session.setLocalWindowSize(sessionBytes);
    });
    session.once('goaway', onGone);
    session.once('close', () => {
      this.#timer?.cancel();
      onGone();
    });
    // Each stream reports the failure to its own caller.
    session.on('error', () => undefined);
    this.#session = session;
    this.#timer = clock.setTimeout(() => this.#ping(), PING_EVERY_MS);
  }

  getCapacity(): number {
    return Math.min(this.#session.remoteSettings.maxConcurrentStreams ?? MAX_STREAMS, MAX_STREAMS) - SPARE_STREAMS;
  }

  send({ method, path, headers, body, signal }: WireRequest): Promise<WireResponse> {
    if (this.#session.closed || this.#session.destroyed) {
      return Promise.reject(new NotProcessed('session is closing'));
    }
    const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
    const stream = this.#session.request(
      { ...headers, ':method': method, ':path': path },
      { endStream: body === undefined },
    );
    const onAbort = (): void => {
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy(signal.reason as Error);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    let failure: Error | undefined;
    let answered = false;
    stream.on('error', (error: Error) => (failure = error));
    stream.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!answered) reject(getCloseReason(stream, failure));
    });
    stream.once('response', (answer) => {
      answered = true;
      resolve({ status: answer[':status'] ?? 0, retryAfter: answer['retry-after'], body: stream });
    });
    if (body !== undefined) stream.end(body);
    return promise;
  }

  drain(): void {
    this.#session.close();
  }

  destroy(reason: Error): void {
    this.#timer?.cancel();
    // Do not wait for the `close` event: the retry of a failed request must not pick this session again.
    this.#onGone();
    this.#session.destroy(reason);
  }

  #ping(): void {
    if (this.#session.destroyed) return;
    const sentAtMs = this.#clock.monotonic();
    let answered = false;
    const expire = (): void => {
      if (!answered) this.destroy(new Error(`no answer to a PING for ${PING_DEADLINE_MS} ms`));
    };
    // After a long pause of this process, the timer fires before Node reads the answer from the socket. Let it read first.
    this.#timer = this.#clock.setTimeout(() => setImmediate(expire), PING_DEADLINE_MS);
    this.#session.ping((error) => {
      answered = true;
      this.#timer?.cancel();
      if (error !== null) return;
      this.#onPing((this.#clock.monotonic() - sentAtMs) / 1_000);
      this.#timer = this.#clock.setTimeout(() => this.#ping(), PING_EVERY_MS);
    });
  }
}

function getCloseReason(stream: ClientHttp2Stream, failure: Error | undefined): Error {
  if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return new NotProcessed('stream refused by the server');
  return failure ?? new Error(`stream closed with code ${stream.rstCode} before an answer`);
}

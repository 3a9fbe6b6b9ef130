import { AuthorizationError, UserAuthenticationExpiredError, usernamePasswordAuthenticator } from '@nats-io/nats-core';
import type { NatsConnection, Status } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { NodeConnectionOptions } from '@nats-io/transport-node';
import { computeBackoffMs } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { formatInboxPrefix } from '../events/subjects.ts';
import type { BusOptions } from './options.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_BASE_MS = 250;
const RECONNECT_MAX_MS = 10_000;

export interface LinkListener {
  /** The connection is usable; `fresh` when it is a new one, without subscriptions. */
  onUp(connection: NatsConnection, fresh: boolean): void;
  onDown(): void;
}

export interface LinkOptions {
  readonly options: BusOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly listener: LinkListener;
}

/** Keeps a connection to NATS: connects in the background, forever, with jitter. */
export class Link {
  readonly #options: BusOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #listener: LinkListener;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #connection: NatsConnection | undefined;
  #up = false;
  /** Attempts since the server accepted a password. */
  #attempts = 0;
  #lastComplaint = '';
  #finished: Promise<void> = Promise.resolve();

  constructor({ options, clock, random, listener }: LinkOptions) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#listener = listener;
    this.#log = options.log.child({ server: withoutCredentials(options.url) });
  }

  /** The connection while the server is reachable. */
  get connection(): NatsConnection | undefined {
    return this.#up ? this.#connection : undefined;
  }

  start(): void {
    this.#finished = this.#run(this.#closing.signal);
  }

  /** Drops the connection. Never throws. */
  async close(): Promise<void> {
    this.#closing.abort();
    // A running attempt ends by itself and then finds the link closed.
    if (this.#connection === undefined) return;
    await this.#connection.close().catch(() => undefined);
    await this.#finished;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const connection = await this.#connect();
      if (connection !== undefined) {
        attempt = 0;
        await this.#follow(connection);
      }
      const delayMs = computeBackoffMs({
        attempt,
        baseMs: RECONNECT_BASE_MS,
        maxMs: RECONNECT_MAX_MS,
        random: this.#random,
      });
      await this.#clock.sleep(delayMs, signal);
    }
  }

  async #connect(): Promise<NatsConnection | undefined> {
    try {
      return await connect(this.#connectOptions());
    } catch (error) {
      this.#complain(error);
      return undefined;
    }
  }

  /** Returns when the connection is closed for good. That is rare, because the client itself reconnects. */
  async #follow(connection: NatsConnection): Promise<void> {
    this.#connection = connection;
    if (this.#closing.signal.aborted) {
      await connection.close();
      return;
    }
    this.#setUp(connection, true);
    for await (const status of connection.status()) this.#onStatus(connection, status);
    await connection.closed();
    this.#setDown();
    this.#connection = undefined;
  }

  #onStatus(connection: NatsConnection, status: Status): void {
    if (status.type === 'disconnect') this.#setDown();
    else if (status.type === 'reconnect') this.#setUp(connection, false);
    else if (status.type === 'error') this.#complain(status.error);
  }

  #setUp(connection: NatsConnection, fresh: boolean): void {
    this.#up = true;
    this.#attempts = 0;
    this.#lastComplaint = '';
    this.#log.info({ version: connection.info?.version }, 'connected to NATS');
    this.#listener.onUp(connection, fresh);
  }

  #setDown(): void {
    if (!this.#up) return;
    this.#up = false;
    if (!this.#closing.signal.aborted) this.#log.warn({}, 'lost the connection to NATS; events wait in memory');
    this.#listener.onDown();
  }

  /** Logs each kind of failure once until the connection is back: attempts repeat while NATS is away. */
  #complain(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#lastComplaint || this.#closing.signal.aborted) return;
    this.#lastComplaint = message;
    if (isRefusal(error)) {
      this.#log.error({ user: this.#options.user, reason: message }, 'NATS refused the credentials; retrying');
    } else {
      this.#log.warn({ reason: message }, 'NATS is not reachable; events wait in memory');
    }
  }

  /** The one that is next in turn. */
  #takePassword(): string {
    const { password = '' } = this.#options;
    if (typeof password === 'string') return password;
    const known = password();
    const taken = known[this.#attempts % known.length];
    this.#attempts += 1;
    return taken ?? '';
  }

  #connectOptions(): NodeConnectionOptions {
    const { url, user, service } = this.#options;
    // Without this option the client would talk to a server, or an impostor, that offers no TLS.
    const tls = this.#options.tls ?? (url.startsWith('tls:') ? {} : undefined);
    return {
      servers: url,
      name: service,
      inboxPrefix: formatInboxPrefix(user),
      timeout: CONNECT_TIMEOUT_MS,
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectDelayHandler: () => RECONNECT_BASE_MS + this.#random() * 2_000,
      // A rotated password works once server and client both have it; without this the client gives up after two refusals.
      ignoreAuthErrorAbort: true,
      pingInterval: 20_000,
      // Saves two stack traces per request.
      noAsyncTraces: true,
      maxPingOut: 2,
      ...(user === undefined ? {} : { authenticator: usernamePasswordAuthenticator(user, () => this.#takePassword()) }),
      ...(tls === undefined ? {} : { tls: omitUndefined(tls) }),
    };
  }
}

function omitUndefined(tls: NonNullable<BusOptions['tls']>): Record<string, string> {
  const entries = Object.entries(tls).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(entries);
}

/** Whether the server refused the credentials: a person has to act. */
function isRefusal(error: unknown): boolean {
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError) return true;
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause);
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//');
}

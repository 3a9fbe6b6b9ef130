import { RequestError } from '@nats-io/nats-core';
import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import type { Clock } from '@sandlot/std';
import { escapeToken } from '../events/subjects.ts';

/** An answer after this time is ignored. */
const ANSWER_LIMIT_MS = 1_000;

/** After a disconnection other processes may reconnect later than this one: for so long an absence proves nothing. */
const SETTLE_MS = 5_000;

function formatSubject(name: string): string {
  return `sandlot.presence.${escapeToken(name)}`;
}

/**
 * Which processes are alive, as the server knows it. When a process dies, its socket closes and the server drops its
 * subscriptions, long before a lease expires.
 */
export class Presence {
  readonly #clock: Clock;
  readonly #subscriptions = new Map<string, Subscription | undefined>();
  #connection: NatsConnection | undefined;
  #trustedFromMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  announce(name: string): Disposable {
    this.#answer(name);
    return {
      [Symbol.dispose]: () => {
        if (this.#connection !== undefined) this.#subscriptions.get(name)?.unsubscribe();
        this.#subscriptions.delete(name);
      },
    };
  }

  async isAbsent(name: string): Promise<boolean> {
    const connection = this.#connection;
    if (connection === undefined || this.#clock.monotonic() < this.#trustedFromMs) return false;
    try {
      await connection.request(formatSubject(name), '', { timeout: ANSWER_LIMIT_MS });
      return false;
    } catch (error) {
      const isUnanswered = error instanceof RequestError && error.isNoResponders();
      return isUnanswered && this.#connection === connection;
    }
  }

  /** The server is reachable; `fresh`: through a new connection, without subscriptions. */
  up(connection: NatsConnection, fresh: boolean): void {
    this.#connection = connection;
    if (this.#trustedFromMs === Infinity) this.#trustedFromMs = this.#clock.monotonic() + SETTLE_MS;
    for (const name of fresh ? this.#subscriptions.keys() : []) this.#answer(name);
  }

  down(): void {
    this.#connection = undefined;
    this.#trustedFromMs = Infinity;
  }

  #answer(name: string): void {
    const subscription = this.#connection?.subscribe(formatSubject(name), {
      callback: (error, message) => {
        if (error === null) message.respond();
      },
    });
    this.#subscriptions.set(name, subscription);
  }
}

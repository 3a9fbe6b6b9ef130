import { RequestError } from '@nats-io/nats-core';
import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import type { Clock } from '@sandlot/std';
import { escapeToken } from '../events/subjects.ts';

/** How long an answer may take; one that is late says nothing. */
const ANSWER_LIMIT_MS = 1_000;

/** After a disconnection others may come back later than we do: for so long nobody's absence means anything. */
const SETTLE_MS = 5_000;

function subjectOf(name: string): string {
  return `sandlot.presence.${escapeToken(name)}`;
}

/**
 * Who is there, as the server knows it. A process that dies takes its subscriptions with it the moment its socket
 * closes, long before any record of it expires.
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
      await connection.request(subjectOf(name), '', { timeout: ANSWER_LIMIT_MS });
      return false;
    } catch (error) {
      const nobody = error instanceof RequestError && error.isNoResponders();
      return nobody && this.#connection === connection;
    }
  }

  /** The server can be reached; `fresh` through a new connection, which has no subscriptions yet. */
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
    const subscription = this.#connection?.subscribe(subjectOf(name), {
      callback: (error, message) => {
        if (error === null) message.respond();
      },
    });
    this.#subscriptions.set(name, subscription);
  }
}

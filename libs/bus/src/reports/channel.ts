import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import type { z } from 'zod';
import type { BusMetrics } from '../bus-metrics.ts';

/** The reports of a channel and their subject. */
export interface ChannelKind<T> {
  /** `activity` means the subject `sandlot.activity`; it is also the name in metrics. */
  readonly name: string;
  readonly schema: z.ZodType<T>;
}

type Handler<T> = (report: T) => void;

/** Reports as core messages that no stream keeps. Subscriptions outlive connections. */
export class Channel<T> {
  readonly #kind: ChannelKind<T>;
  readonly #metrics: BusMetrics;
  readonly #handlers = new Set<Handler<T>>();
  #connection: NatsConnection | undefined;
  #subscription: Subscription | undefined;

  constructor(kind: ChannelKind<T>, metrics: BusMetrics) {
    this.#kind = kind;
    this.#metrics = metrics;
  }

  /** Sends the report if the server is reachable now. */
  send(given: T, connection: NatsConnection | undefined): void {
    if (connection !== undefined && !connection.isClosed()) connection.publish(this.#subject(), JSON.stringify(given));
  }

  on(handler: Handler<T>): Disposable {
    this.#handlers.add(handler);
    this.#listen();
    return { [Symbol.dispose]: () => this.#handlers.delete(handler) };
  }

  /** Subscribes on a new connection. */
  use(connection: NatsConnection): void {
    this.#connection = connection;
    this.#subscription = undefined;
    this.#listen();
  }

  #subject(): string {
    return `sandlot.${this.#kind.name}`;
  }

  #listen(): void {
    if (this.#handlers.size === 0 || this.#subscription !== undefined || this.#connection?.isClosed() !== false) return;
    this.#subscription = this.#connection.subscribe(this.#subject(), {
      callback: (error, message) => {
        if (error === null) this.#deliver(message.string());
      },
    });
  }

  #deliver(json: string): void {
    const given = this.#parse(json);
    this.#metrics.countHint(this.#kind.name, given === undefined ? 'invalid' : 'handled');
    if (given !== undefined) for (const handler of this.#handlers) handler(given);
  }

  #parse(json: string): T | undefined {
    try {
      return this.#kind.schema.safeParse(JSON.parse(json)).data;
    } catch {
      return undefined;
    }
  }
}

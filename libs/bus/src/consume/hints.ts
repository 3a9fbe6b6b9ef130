import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import type { Logger } from '@sandlot/std';
import type { BusMetrics } from '../bus-metrics.ts';
import type { EventType } from '../events/catalogue.ts';
import type { CloudEvent } from '../events/cloudevent.ts';
import { parseCloudEvent } from '../events/cloudevent.ts';
import { formatSubjectInAllNamespaces } from '../events/subjects.ts';

interface Listener {
  readonly type: EventType;
  deliver(json: string): void;
  subscription: Subscription | undefined;
}

/** Core subscriptions that outlive connections. */
export class Hints {
  readonly #listeners = new Set<Listener>();
  readonly #log: Logger;
  readonly #metrics: BusMetrics;
  #connection: NatsConnection | undefined;

  constructor(log: Logger, metrics: BusMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  on<T extends EventType>(type: T, handler: (event: CloudEvent<T>) => void): Disposable {
    const deliver = (json: string): void => this.#deliver(type, handler, json);
    const listener: Listener = { type, deliver, subscription: undefined };
    this.#listeners.add(listener);
    this.#subscribe(listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        if (this.#connection?.isClosed() === false) listener.subscription?.unsubscribe();
      },
    };
  }

  /** Subscribes on a new connection. When the same connection comes back, the client itself renews the subscriptions. */
  use(connection: NatsConnection): void {
    this.#connection = connection;
    for (const listener of this.#listeners) this.#subscribe(listener);
  }

  #subscribe(listener: Listener): void {
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed()) return;
    listener.subscription = connection.subscribe(formatSubjectInAllNamespaces(listener.type), {
      callback: (error, message) => {
        if (error === null) listener.deliver(message.string());
        else this.#log.warn({ type: listener.type, reason: error.message }, 'cannot receive hints of this type');
      },
    });
  }

  #deliver<T extends EventType>(type: T, handler: (event: CloudEvent<T>) => void, json: string): void {
    const event = parseCloudEvent(type, json);
    if (event === undefined) {
      this.#metrics.countHint(type, 'invalid');
      return;
    }
    try {
      handler(event);
      this.#metrics.countHint(type, 'handled');
    } catch (error) {
      this.#metrics.countHint(type, 'failed');
      this.#log.error({ err: error, event: event.id }, 'hint handler threw');
    }
  }
}

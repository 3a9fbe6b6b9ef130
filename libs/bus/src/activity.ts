import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import { z } from 'zod';
import type { BusMetrics } from './bus.ts';

const SUBJECT = 'sandlot.activity';

const report = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  /** When somebody last used the Sandbox, epoch milliseconds of the reporter's clock. */
  atMs: z.number().nonnegative(),
});

/** Somebody used a Sandbox (API contract, idle). It may be lost: whoever reports repeats it while the use goes on. */
export type ActivityReport = z.output<typeof report>;

type Handler = (report: ActivityReport) => void;

/** Reports of activity: core messages that no stream keeps. Subscriptions outlive connections. */
export class Activity {
  readonly #metrics: BusMetrics;
  readonly #handlers = new Set<Handler>();
  #connection: NatsConnection | undefined;
  #subscription: Subscription | undefined;

  constructor(metrics: BusMetrics) {
    this.#metrics = metrics;
  }

  /** Sends it if the server is reachable now. */
  send(given: ActivityReport, connection: NatsConnection | undefined): void {
    if (connection !== undefined && !connection.isClosed()) connection.publish(SUBJECT, JSON.stringify(given));
  }

  on(handler: Handler): Disposable {
    this.#handlers.add(handler);
    this.#listen();
    return { [Symbol.dispose]: () => this.#handlers.delete(handler) };
  }

  /** A new connection, which has no subscriptions yet. */
  use(connection: NatsConnection): void {
    this.#connection = connection;
    this.#subscription = undefined;
    this.#listen();
  }

  #listen(): void {
    if (this.#handlers.size === 0 || this.#subscription !== undefined || this.#connection?.isClosed() !== false) return;
    this.#subscription = this.#connection.subscribe(SUBJECT, {
      callback: (error, message) => {
        if (error === null) this.#deliver(message.string());
      },
    });
  }

  #deliver(json: string): void {
    const given = parseReport(json);
    this.#metrics.hint('activity', given === undefined ? 'invalid' : 'handled');
    if (given !== undefined) for (const handler of this.#handlers) handler(given);
  }
}

function parseReport(json: string): ActivityReport | undefined {
  try {
    return report.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

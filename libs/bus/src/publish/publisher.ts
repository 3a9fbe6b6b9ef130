import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { computeBackoffMs } from '@sandlot/std';
import type { Clock, Logger, Random, Timer } from '@sandlot/std';
import type { BusMetrics } from '../bus-metrics.ts';
import type { OutgoingEvent } from '../events/cloudevent.ts';
import { encode, isUnanswered, isUnsendable } from './encode.ts';
import type { PublishTrace } from './publish-trace.ts';

const RETRY_BASE_MS = 100;
const RETRY_MAX_MS = 10_000;

interface Pending {
  readonly event: OutgoingEvent;
  readonly trace: PublishTrace;
}

export interface PublisherOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: BusMetrics;
  readonly maxPending: number;
  readonly maxInFlight: number;
  readonly ackTimeoutMs: number;
  /** Called when no stream listens on the subject: it was deleted or never created. */
  readonly onStreamMissing: () => void;
}

/**
 * A bounded buffer in front of JetStream. An event leaves it with its acknowledgement or, oldest first, when the buffer is
 * full. Retries do not keep the order: consumers order by the object, not by arrival.
 */
export class Publisher {
  readonly #o: PublisherOptions;
  /** Events that were sent and not acknowledged; they go first. At most `maxInFlight`, counted in `pending`. */
  readonly #retries = new Map<string, Pending>();
  readonly #waiting = new Map<string, Pending>();
  readonly #inFlight = new Map<string, Pending>();
  readonly #idle = new Set<() => void>();
  #connection: NatsConnection | undefined;
  #failures = 0;
  #pause: Timer | undefined;
  #scheduled = false;

  constructor(options: PublisherOptions) {
    this.#o = options;
  }

  get pending(): number {
    return this.#retries.size + this.#waiting.size + this.#inFlight.size;
  }

  /** Buffers an event. A second event with the same id is ignored. */
  publish(event: OutgoingEvent, trace: PublishTrace): void {
    const known = [this.#waiting, this.#inFlight, this.#retries].some((events) => events.has(event.id));
    if (known) {
      trace.end();
      return;
    }
    if (this.#waiting.size + this.#retries.size >= this.#o.maxPending) this.#dropOldest();
    this.#waiting.set(event.id, { event, trace });
    this.#reportPending();
    this.#schedule();
  }

  /** Starts sending over `connection`; undefined stops. Events in flight then end with their time limit. */
  use(connection: NatsConnection | undefined): void {
    this.#connection = connection;
    this.#failures = 0;
    this.#resume();
  }

  /** Resolves once nothing is pending. */
  waitUntilDrained(): Promise<void> {
    if (this.pending === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  /** Drops the events that still wait. */
  close(): void {
    this.#connection = undefined;
    this.#pause?.cancel();
    const left = this.#waiting.size + this.#retries.size;
    if (left > 0) this.#o.log.warn({ events: left }, 'closed with unpublished events');
    for (const pending of [...this.#waiting.values(), ...this.#retries.values()]) this.#drop(pending, 'closed');
    this.#waiting.clear();
    this.#retries.clear();
    this.#endWaits();
  }

  /** Encodes and sends in a later turn, so that `publish` costs the caller only a map insert. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    const connection = this.#connection;
    while (connection !== undefined && this.#pause === undefined && this.#inFlight.size < this.#o.maxInFlight) {
      const next = takeFirst(this.#retries) ?? takeFirst(this.#waiting);
      if (next === undefined) return;
      this.#inFlight.set(next.event.id, next);
      void this.#send(connection, next);
    }
  }

  async #send(connection: NatsConnection, pending: Pending): Promise<void> {
    const { event } = pending;
    try {
      const { subject, body, head } = encode(event, pending.trace.headers);
      const timeout = this.#o.ackTimeoutMs;
      await jetstream(connection).publish(subject, body, { msgID: event.id, headers: head, timeout });
      this.#onAck(pending);
    } catch (error) {
      this.#onFailure(pending, error);
    }
    this.#endWaits();
    this.#schedule();
  }

  #onAck({ event, trace }: Pending): void {
    this.#inFlight.delete(event.id);
    this.#failures = 0;
    this.#o.metrics.countPublished(event.type, 'acked');
    trace.end();
  }

  #onFailure(pending: Pending, error: unknown): void {
    const { event } = pending;
    this.#inFlight.delete(event.id);
    if (isUnsendable(error)) {
      this.#o.log.error({ event: event.id, reason: getReason(error) }, 'dropped an event that no server accepts');
      this.#drop(pending, getReason(error));
      return;
    }
    this.#retries.set(event.id, pending);
    this.#o.metrics.countPublished(event.type, 'retried');
    if (isUnanswered(error)) this.#o.onStreamMissing();
    this.#backOff(error);
  }

  /** One pause for all events in flight, because they fail together for the same reason. */
  #backOff(error: unknown): void {
    if (this.#pause !== undefined || this.#connection === undefined) return;
    if (this.#failures === 0) {
      const reason = getReason(error);
      this.#o.log.warn({ reason, pending: this.pending }, 'cannot publish events; retrying');
    }
    const { clock, random } = this.#o;
    const delayMs = computeBackoffMs({ attempt: this.#failures, baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
    this.#failures += 1;
    this.#pause = clock.setTimeout(() => this.#resume(), delayMs);
  }

  #resume(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#schedule();
  }

  #dropOldest(): void {
    const oldest = takeFirst(this.#waiting) ?? takeFirst(this.#retries);
    if (oldest !== undefined) this.#drop(oldest, 'buffer full');
  }

  #drop({ event, trace }: Pending, reason: string): void {
    this.#o.metrics.countPublished(event.type, 'dropped');
    trace.end(reason);
  }

  #endWaits(): void {
    this.#reportPending();
    if (this.pending > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  #reportPending(): void {
    this.#o.metrics.setPending(this.pending);
  }
}

function getReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function takeFirst(events: Map<string, Pending>): Pending | undefined {
  const [first] = events;
  if (first === undefined) return undefined;
  events.delete(first[0]);
  return first[1];
}

import type { NatsConnection } from '@nats-io/nats-core';
import { systemClock, systemRandom } from '@sandlot/std';
import { activityReport } from '../reports/activity.ts';
import type { ActivityReport } from '../reports/activity.ts';
import { AcknowledgedSender, NotAcknowledgedError } from '../publish/acknowledged-sender.ts';
import type { Bus } from '../bus.ts';
import { UnsendableError } from '../bus.ts';
import { noMetrics } from '../bus-metrics.ts';
import type { DeadLetterState } from '../bus.ts';
import type { EventType } from '../events/catalogue.ts';
import { Channel } from '../reports/channel.ts';
import type { CloudEvent, OutgoingEvent, TraceHeaders } from '../events/cloudevent.ts';
import { Consumption } from '../consume/consumer.ts';
import type { ConsumeOptions } from '../consume/consumer.ts';
import { followEvents } from '../consume/follow.ts';
import type { FollowedEvent, FollowOptions } from '../consume/follow.ts';
import { openEventHistory } from '../consume/history.ts';
import type { EventHistory } from '../consume/history.ts';
import { Hints } from '../consume/hints.ts';
import { openNatsBucket } from '../streams/bucket.ts';
import type { Bucket } from '../streams/bucket.ts';
import { openNatsLedger, openSession } from '../streams/ledger.ts';
import type { Ledger, Session } from '../streams/ledger.ts';
import { Link } from './link.ts';
import type { BusOptions } from './options.ts';
import { encode, isUnsendable } from '../publish/encode.ts';
import { Presence } from './presence.ts';
import { Publisher } from '../publish/publisher.ts';
import { reconcileStreams } from '../streams/reconcile-streams.ts';
import { spendingReport } from '../reports/spending.ts';
import type { SpendingReport } from '../reports/spending.ts';
import { formatInboxPrefix } from '../events/subjects.ts';
import { DEAD_LETTER_STREAM, declareStreams } from '../streams/streams.ts';
import { tracePublish } from '../publish/publish-trace.ts';

const FLUSH_LIMIT_MS = 5_000;
const CLOSE_LIMIT_MS = 2_000;

/** A bus over NATS. Resolves at once even when the server is away, and keeps connecting until closed. */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const bus = new NatsBus(options);
  bus.start();
  return bus;
}

class NatsBus implements Bus {
  readonly #options: BusOptions;
  readonly #clock;
  readonly #log;
  readonly #metrics;
  readonly #ackTimeoutMs: number;
  readonly #link: Link;
  readonly #publisher: Publisher;
  readonly #hints: Hints;
  readonly #presence: Presence;
  readonly #activity: Channel<ActivityReport>;
  readonly #spending: Channel<SpendingReport>;
  readonly #buckets = new Set<string>();
  #session: Session | undefined;
  #sender: AcknowledgedSender | undefined;
  #reconciling: Promise<void> | undefined;
  #disconnections = 0;
  #closed = false;

  constructor(options: BusOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log;
    this.#metrics = { ...noMetrics, ...options.metrics };
    this.#ackTimeoutMs = options.ackTimeoutMs ?? 5_000;
    const random = options.random ?? systemRandom;
    this.#hints = new Hints(this.#log, this.#metrics);
    this.#presence = new Presence(this.#clock);
    this.#activity = new Channel({ name: 'activity', schema: activityReport }, this.#metrics);
    this.#spending = new Channel({ name: 'spending', schema: spendingReport }, this.#metrics);
    this.#publisher = new Publisher({
      log: this.#log,
      clock: this.#clock,
      random,
      metrics: this.#metrics,
      maxPending: options.maxPending ?? 10_000,
      maxInFlight: options.maxInFlight ?? 256,
      ackTimeoutMs: this.#ackTimeoutMs,
      onStreamMissing: () => void this.ensureStreams(),
    });
    const listener = {
      onUp: (connection: NatsConnection, fresh: boolean) => void this.#onUp(connection, fresh),
      onDown: () => this.#onDown(),
    };
    this.#link = new Link({ options, clock: this.#clock, random, listener });
  }

  start(): void {
    this.#metrics.setConnected(false);
    this.#link.start();
  }

  publish<T extends EventType>(event: OutgoingEvent<T>): void {
    if (this.#closed) {
      this.#metrics.countPublished(event.type, 'dropped');
      return;
    }
    this.#publisher.publish(event, tracePublish(event));
  }

  async send(event: OutgoingEvent, trace: TraceHeaders = {}): Promise<void> {
    const sender = this.#openedSender();
    const message = encode(event, trace);
    message.head.set('Nats-Msg-Id', event.id);
    try {
      await sender.send(message);
    } catch (error) {
      if (isUnsendable(error)) throw new UnsendableError(`event ${event.id} cannot be sent`, { cause: error });
      if (error instanceof NotAcknowledgedError && error.code === 'NoStream') void this.ensureStreams();
      throw error;
    }
  }

  sendOnce<T extends EventType>(event: OutgoingEvent<T>): void {
    const { connection } = this.#link;
    if (connection === undefined || connection.isClosed()) return;
    const trace = tracePublish(event);
    const { subject, body, head } = encode(event, trace.headers);
    connection.publish(subject, body, { headers: head });
    trace.end();
  }

  reportActivity(report: ActivityReport): void {
    this.#activity.send(report, this.#link.connection);
  }

  onActivity(handler: (report: ActivityReport) => void): Disposable {
    return this.#activity.on(handler);
  }

  reportSpending(report: SpendingReport): void {
    this.#spending.send(report, this.#link.connection);
  }

  onSpending(handler: (report: SpendingReport) => void): Disposable {
    return this.#spending.on(handler);
  }

  openLedger(name: string): Ledger {
    this.#buckets.add(name);
    if (this.isConnected()) void this.ensureStreams();
    return openNatsLedger(
      name,
      () => this.#opened(),
      () => this.#openedSender(),
    );
  }

  openBucket(name: string): Bucket {
    this.#buckets.add(name);
    if (this.isConnected()) void this.ensureStreams();
    return openNatsBucket(name, () => this.#opened());
  }

  async readDeadLetters(): Promise<DeadLetterState | undefined> {
    try {
      const { state } = await this.#opened().manager.streams.info(DEAD_LETTER_STREAM);
      const oldestMs = state.messages === 0 ? 0 : Math.max(0, this.#clock.now() - Date.parse(state.first_ts));
      return { messages: state.messages, oldestMs };
    } catch {
      return undefined;
    }
  }

  consume(options: ConsumeOptions): Consumption {
    return new Consumption({ session: () => this.#opened(), clock: this.#clock, log: this.#log }, options);
  }

  follow(options: FollowOptions): AsyncGenerator<FollowedEvent> | undefined {
    return this.isConnected()
      ? followEvents({ session: () => this.#opened(), clock: this.#clock }, options)
      : undefined;
  }

  openHistory(): EventHistory {
    return openEventHistory(() => this.#opened());
  }

  onHint<T extends EventType>(type: T, handler: (event: CloudEvent<T>) => void): Disposable {
    return this.#hints.on(type, handler);
  }

  announce(name: string): Disposable {
    return this.#presence.announce(name);
  }

  isAbsent(name: string): Promise<boolean> {
    return this.#presence.isAbsent(name);
  }

  isConnected(): boolean {
    return this.#link.connection !== undefined;
  }

  countDisconnections(): number {
    return this.#disconnections;
  }

  /** One reconcile at a time: callers during one share it. */
  ensureStreams(): Promise<void> {
    this.#reconciling ??= this.#reconcileStreams().finally(() => {
      this.#reconciling = undefined;
    });
    return this.#reconciling;
  }

  async flush(): Promise<void> {
    await this.#drainedWithin(FLUSH_LIMIT_MS);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.isConnected()) await this.#drainedWithin(CLOSE_LIMIT_MS);
    this.#publisher.close();
    this.#sender?.close();
    await this.#link.close();
  }

  async #drainedWithin(limitMs: number): Promise<void> {
    const abort = new AbortController();
    await Promise.race([this.#publisher.waitUntilDrained(), this.#clock.sleep(limitMs, abort.signal)]);
    abort.abort();
  }

  /** Throws while the server is away. */
  #opened(): Session {
    if (this.#session === undefined || this.#closed || !this.isConnected()) throw new Error('NATS is not reachable');
    return this.#session;
  }

  /** Throws while the server is away. */
  #openedSender(): AcknowledgedSender {
    this.#opened();
    if (this.#sender === undefined) throw new Error('NATS is not reachable');
    return this.#sender;
  }

  async #onUp(connection: NatsConnection, fresh: boolean): Promise<void> {
    this.#metrics.setConnected(true);
    // Also after a reconnect: the client forgets a subscription that the server refused before its settings changed.
    this.#sender?.close();
    this.#sender = new AcknowledgedSender(connection, {
      clock: this.#clock,
      timeoutMs: this.#ackTimeoutMs,
      inboxPrefix: formatInboxPrefix(this.#options.user),
    });
    if (fresh) {
      this.#session = await openSession(connection, this.#ackTimeoutMs);
      this.#hints.use(connection);
      this.#activity.use(connection);
      this.#spending.use(connection);
    }
    this.#presence.up(connection, fresh);
    await this.ensureStreams();
    if (this.#link.connection === connection && !this.#closed) this.#publisher.use(connection);
  }

  #onDown(): void {
    this.#disconnections += 1;
    this.#metrics.setConnected(false);
    this.#presence.down();
    this.#publisher.use(undefined);
  }

  async #reconcileStreams(): Promise<void> {
    const connection = this.#link.connection;
    if (connection === undefined || this.#options.streams === 'none') return;
    try {
      const declared = declareStreams(this.#options.streams, [...this.#buckets]);
      for (const { stream, refusals } of await reconcileStreams(connection, declared, this.#log)) {
        this.#metrics.setRefusedSettings(stream, refusals.length);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn({ reason }, 'cannot reconcile the event streams');
    }
  }
}

import type { ActivityReport } from './reports/activity.ts';
import type { EventType } from './events/catalogue.ts';
import type { CloudEvent, OutgoingEvent, TraceHeaders } from './events/cloudevent.ts';
import type { ConsumeOptions } from './consume/consumer.ts';
import type { FollowedEvent, FollowOptions } from './consume/follow.ts';
import type { Bucket } from './streams/bucket.ts';
import type { EventHistory } from './consume/history.ts';
import type { Ledger } from './streams/ledger.ts';
import type { SpendingReport } from './reports/spending.ts';

/**
 * Lifecycle events out, hints in. Correctness never depends on the bus: the objects in the API server are the truth, and a
 * bus that drops, repeats or reorders all messages changes only latency.
 */
export interface Bus {
  /**
   * Buffers the event and returns at once; never throws. The bus publishes it to JetStream in the trace context of the
   * caller and retries until it is acknowledged. When the buffer is full it drops and counts the oldest event.
   */
  publish<T extends EventType>(event: OutgoingEvent<T>): void;
  /**
   * Sends one event and resolves when the stream has it, perhaps from an earlier try. Rejects when the server is away or
   * does not answer in time: the outcome is unknown then. Rejects with {@link UnsendableError} when no server would ever
   * accept it. The caller retries: this is for outboxes, whose own record says what they still have to send.
   */
  send(event: OutgoingEvent, trace?: TraceHeaders): Promise<void>;
  /**
   * Sends the event once to the current listeners: no acknowledgement, no retry, nothing while the server is away. For
   * requests that their sender repeats while it waits. Never throws.
   */
  sendOnce<T extends EventType>(event: OutgoingEvent<T>): void;
  /** Reports that a client used a Sandbox, once; does nothing while the server is away. Never throws. */
  reportActivity(report: ActivityReport): void;
  /** Calls `handler` for reports of activity while connected. It must not throw. */
  onActivity(handler: (report: ActivityReport) => void): Disposable;
  /** Reports a create that this replica let through to all replicas, once; nothing while the server is away. Never throws. */
  reportSpending(report: SpendingReport): void;
  /** Calls `handler` for reports of spending, including its own, while connected. It must not throw. */
  onSpending(handler: (report: SpendingReport) => void): Disposable;
  /** The durable record of that name; undefined without a server. A bus that declares streams declares its bucket from now on. */
  openLedger(name: string): Ledger | undefined;
  /** The bucket of that name, whose writers compare revisions; undefined without a server. It is declared like that of a ledger. */
  openBucket(name: string): Bucket | undefined;
  /** How many events consumers gave up on; undefined when the server does not say. */
  readDeadLetters(): Promise<DeadLetterState | undefined>;
  /** Handles events of a durable consumer of that name until disposed; undefined without a server. */
  consume(options: ConsumeOptions): AsyncDisposable | undefined;
  /**
   * Yields the events of the stream in order, old ones from the start that `options` give and then new ones, until the signal
   * aborts. It survives disconnections. Undefined without a server.
   */
  follow(options: FollowOptions): AsyncGenerator<FollowedEvent> | undefined;
  /** The events that the stream has; undefined without a server. */
  openHistory(): EventHistory | undefined;
  /**
   * Calls `handler` for events of `type` from all namespaces while connected: no acknowledgement, no replay, duplicates
   * possible. Use it only to enqueue a key early. An exception is logged and counted.
   */
  onHint<T extends EventType>(type: T, handler: (event: CloudEvent<T>) => void): Disposable;
  /** Answers to `name` while this process lives and is connected, until disposed. */
  announce(name: string): Disposable;
  /**
   * Whether the server is sure that no process answers to `name`: the one that announced it has died or lost its connection.
   * False when a process answers, and when the server cannot know: while disconnected, and for the first seconds after, when
   * other processes may not be back yet. Never throws. It is a hint like all others here.
   */
  isAbsent(name: string): Promise<boolean>;
  /** Whether the server is reachable now. Readiness must not depend on it. */
  isConnected(): boolean;
  /** How often the connection was lost. A caller that sees it change has missed a disconnection, however short. */
  countDisconnections(): number;
  /**
   * Creates or corrects the declared streams, if this bus declares any. It also does so after every connect. Resolves after one try, or at once
   * while the server is away; failures are logged, never thrown.
   */
  ensureStreams(): Promise<void>;
  /** Resolves when everything published so far is acknowledged, or after 5 s. */
  flush(): Promise<void>;
  /** Flushes for at most 2 s and disconnects. Drops the events that still wait. */
  close(): Promise<void>;
}

/** No server will ever accept the event, for example because of its size. A retry cannot help. */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError';
  readonly code = 'Unsendable';
}

/** How full the dead-letter stream is. */
export interface DeadLetterState {
  readonly messages: number;
  /** Age of the oldest message in milliseconds; 0 without messages. */
  readonly oldestMs: number;
}

const ignore = (): void => undefined;
const nothing = (): undefined => undefined;

/** A bus for installations without NATS: it drops every event. */
export function createNullBus(): Bus {
  const resolved = (): Promise<void> => Promise.resolve();
  return {
    publish: ignore,
    send: () => Promise.reject(new Error('there is no NATS server')),
    sendOnce: ignore,
    reportActivity: ignore,
    onActivity: () => ({ [Symbol.dispose]: ignore }),
    reportSpending: ignore,
    onSpending: () => ({ [Symbol.dispose]: ignore }),
    openLedger: nothing,
    openBucket: nothing,
    consume: nothing,
    follow: nothing,
    openHistory: nothing,
    readDeadLetters: () => Promise.resolve(undefined),
    onHint: () => ({ [Symbol.dispose]: ignore }),
    announce: () => ({ [Symbol.dispose]: ignore }),
    isAbsent: () => Promise.resolve(false),
    isConnected: () => false,
    countDisconnections: () => 0,
    ensureStreams: resolved,
    flush: resolved,
    close: resolved,
  };
}

import type { ActivityReport } from './reports/activity.ts';
import type { EventType } from './events/catalogue.ts';
import type { CloudEvent, OutgoingEvent, TraceHeaders } from './events/cloudevent.ts';
import type { ConsumeOptions } from './consume/consumer.ts';
import type { FollowedEvent, FollowOptions } from './consume/follow.ts';
import type { Ledger } from './streams/ledger.ts';
import type { SpendingReport } from './reports/spending.ts';

/**
 * Lifecycle events out, hints in. Nothing here is needed for correctness: the truth is the object in the API server,
 * and a bus that drops, repeats or reorders everything changes latency alone.
 */
export interface Bus {
  /**
   * Takes the event and returns at once; never throws. It leaves through JetStream in the trace context of the caller
   * and is retried until acknowledged. When the buffer is full the oldest waiting event is dropped and counted.
   */
  publish<T extends EventType>(event: OutgoingEvent<T>): void;
  /**
   * Sends one event and resolves when the stream has it, or had it before. Rejects when the server is away or does not
   * answer in time, and the outcome is unknown then; with {@link UnsendableError} when no server would ever take it. The
   * caller tries again: this is for outboxes, which know from their own record what is still to be sent.
   */
  send(event: OutgoingEvent, trace?: TraceHeaders): Promise<void>;
  /**
   * Sends the event once, to whoever listens now: no acknowledgement, no repetition, nothing while the server is away. For
   * wishes, whose sender repeats them while he still waits. Never throws.
   */
  tell<T extends EventType>(event: OutgoingEvent<T>): void;
  /** Says that somebody used a Sandbox: once, and nothing while the server is away. Never throws. */
  reportActivity(report: ActivityReport): void;
  /** Calls `handler` for reports of activity while connected. It must not throw. */
  onActivity(handler: (report: ActivityReport) => void): Disposable;
  /** Says to all replicas that one of them let a create through: once, and nothing while the server is away. Never throws. */
  reportSpending(report: SpendingReport): void;
  /** Calls `handler` for reports of spending while connected, its own among them. It must not throw. */
  onSpending(handler: (report: SpendingReport) => void): Disposable;
  /** The durable record of that name, whose bucket is declared from here on; undefined where there is no server. */
  ledger(name: string): Ledger | undefined;
  /** What consumers gave up on; undefined when it cannot be told. */
  deadLetters(): Promise<DeadLetterState | undefined>;
  /** Handles events from a durable consumer of that name until disposed of; undefined where there is no server. */
  consume(options: ConsumeOptions): AsyncDisposable | undefined;
  /**
   * Events of the stream in order, as they come, until the signal aborts; across disconnections, from the beginning of
   * `options` on. Undefined while there is no server.
   */
  follow(options: FollowOptions): AsyncGenerator<FollowedEvent> | undefined;
  /**
   * Calls `handler` for events of `type` from all namespaces while connected: no acknowledgement, no replay, duplicates
   * possible. Use it to enqueue a key early and for nothing else. A throw is logged and counted.
   */
  onHint<T extends EventType>(type: T, handler: (event: CloudEvent<T>) => void): Disposable;
  /** Answers to `name` for as long as this process lives and is connected, or until disposed. */
  announce(name: string): Disposable;
  /**
   * Whether the server is sure that nobody answers to `name`: the process that announced it is gone, or has lost its
   * connection. False when somebody does, and whenever it cannot be told: while disconnected, and for the first seconds
   * after, when others may not be back yet. Never throws. A hint like all others here.
   */
  isAbsent(name: string): Promise<boolean>;
  /** Whether the server is reachable now. Never a condition for readiness. */
  connected(): boolean;
  /**
   * Creates or corrects the declared streams. Also runs by itself after every connect, so that a caller may ignore it.
   * Resolves when tried, at once when the server is away; failures are logged, never thrown.
   */
  ensureStreams(): Promise<void>;
  /** Resolves when everything published so far is acknowledged, or after 5 s. */
  flush(): Promise<void>;
  /** Flushes for at most 2 s and disconnects. What is still waiting is given up. */
  close(): Promise<void>;
}

/** No server will ever take the event, such as one beyond its size limit. Sending it again cannot help. */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError';
  readonly code = 'Unsendable';
}

/** How full the dead-letter stream is. */
export interface DeadLetterState {
  readonly messages: number;
  /** Age of the oldest in milliseconds; 0 without any. */
  readonly oldestMs: number;
}

const ignore = (): void => undefined;
const nothing = (): undefined => undefined;

/** A bus for installations without NATS: takes every event and tells nobody. */
export function nullBus(): Bus {
  const resolved = (): Promise<void> => Promise.resolve();
  return {
    publish: ignore,
    send: () => Promise.reject(new Error('there is no NATS server')),
    tell: ignore,
    reportActivity: ignore,
    onActivity: () => ({ [Symbol.dispose]: ignore }),
    reportSpending: ignore,
    onSpending: () => ({ [Symbol.dispose]: ignore }),
    ledger: nothing,
    consume: nothing,
    follow: nothing,
    deadLetters: () => Promise.resolve(undefined),
    onHint: () => ({ [Symbol.dispose]: ignore }),
    announce: () => ({ [Symbol.dispose]: ignore }),
    isAbsent: () => Promise.resolve(false),
    connected: () => false,
    ensureStreams: resolved,
    flush: resolved,
    close: resolved,
  };
}

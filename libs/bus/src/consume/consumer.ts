import { AckPolicy, DeliverPolicy, JetStreamApiError } from '@nats-io/jetstream';
import type { JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { Clock, Logger } from '@sandlot/std';
import type { CloudEvent } from '../events/cloudevent.ts';
import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { EVENT_STREAM } from '../streams/streams.ts';

const SECOND_MS = 1_000;
const DEFAULT_BACKOFF_MS = [10, 30, 120, 600].map((seconds) => seconds * SECOND_MS);
const FETCH_MS = 5_000;
const CONSUMER_NOT_FOUND = 10_014;
const REMEMBERED_IDS = 10_000;

/** The handler can never handle this event: it goes to the dead letters at once, without another try. */
export class PoisonError extends Error {
  override readonly name = 'PoisonError';
  readonly code = 'Poison';
}

export type Consumed = 'handled' | 'repeated' | 'failed' | 'poison';

export interface ConsumeOptions {
  /** Name of the durable consumer. Its position survives restarts, and processes with one name share it. */
  readonly durable: string;
  /** `sandlot.*.claim.>` for one kind, `sandlot.*.claim.bound` for one type. Servers from 2.9 on support one filter. */
  readonly filter: string;
  /**
   * Called at least once for each event, and again after a crash: its effects must be idempotent by event id. It resolves
   * when they are durable. After a rejection there is another try after a pause; after {@link PoisonError} there is none.
   */
  readonly handle: (event: CloudEvent) => Promise<void>;
  /** Pauses between tries in milliseconds; there is one more try than pauses. The first is also the time limit of a try. */
  readonly backoffMs?: readonly number[] | undefined;
  /** Events handled side by side; default 64. */
  readonly maxAckPending?: number | undefined;
  /** Where a new consumer begins; default at the start of the stream. */
  readonly from?: 'all' | 'new' | undefined;
  readonly onOutcome?: ((outcome: Consumed) => void) | undefined;
}

export interface ConsumerDeps {
  /** Throws while the server is away. */
  readonly session: () => Session;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A durable pull consumer. It survives disconnections, and finishes the events in progress when disposed. */
export class Consumption implements AsyncDisposable {
  readonly #deps: ConsumerDeps;
  readonly #options: ConsumeOptions;
  readonly #backoffMs: readonly number[];
  readonly #closing = new AbortController();
  readonly #seen = new Set<string>();
  readonly #ended: Promise<void>;

  constructor(deps: ConsumerDeps, options: ConsumeOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#backoffMs = options.backoffMs ?? DEFAULT_BACKOFF_MS;
    this.#ended = this.#run(this.#closing.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#ended;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let complaint = '';
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== complaint)
          this.#deps.log.warn({ durable: this.#options.durable, reason }, 'cannot receive events; retrying');
        complaint = reason;
      }
      await this.#deps.clock.sleep(SECOND_MS, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const session = this.#deps.session();
    await this.#declare(session);
    const consumer = await session.js.consumers.get(EVENT_STREAM, this.#options.durable);
    while (!signal.aborted) {
      const messages = await consumer.fetch({ max_messages: this.#options.maxAckPending ?? 64, expires: FETCH_MS });
      const stop = (): void => messages.stop();
      signal.addEventListener('abort', stop, { once: true });
      const handled: Promise<void>[] = [];
      for await (const message of messages) handled.push(this.#take(message));
      signal.removeEventListener('abort', stop);
      await Promise.all(handled);
      this.#deps.session();
    }
  }

  async #declare({ manager }: Session): Promise<void> {
    const { durable, filter, maxAckPending = 64, from = 'all' } = this.#options;
    const changeable = {
      filter_subject: filter,
      backoff: this.#backoffMs.map((ms) => nanos(ms)),
      max_deliver: this.#backoffMs.length + 1,
      max_ack_pending: maxAckPending,
    };
    try {
      await manager.consumers.info(EVENT_STREAM, durable);
      await manager.consumers.update(EVENT_STREAM, durable, changeable);
    } catch (error) {
      if (!(error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND)) throw error;
      await manager.consumers.add(EVENT_STREAM, {
        ...changeable,
        durable_name: durable,
        ack_policy: AckPolicy.Explicit,
        deliver_policy: from === 'all' ? DeliverPolicy.All : DeliverPolicy.New,
      });
    }
  }

  /** Never rejects: an event that could not be acknowledged comes again. */
  async #take(message: JsMsg): Promise<void> {
    const event = parseAnyCloudEvent(message.string());
    const outcome = event === undefined ? 'poison' : await this.#handle(message, event);
    this.#options.onOutcome?.(outcome);
    try {
      if (outcome === 'poison') message.term();
      else if (outcome === 'failed') message.nak(this.#backoffMs[message.info.deliveryCount - 1] ?? 0);
      // A plain acknowledgement may be lost; here the server confirms it.
      else await message.ackAck();
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'an acknowledgement was lost; the server delivers the event again');
    }
  }

  async #handle(message: JsMsg, event: CloudEvent): Promise<Consumed> {
    if (this.#seen.has(event.id)) return 'repeated';
    const working = this.#keepWorking(message);
    try {
      await this.#options.handle(event);
    } catch (error) {
      const { durable } = this.#options;
      const reason = error instanceof Error ? error.message : String(error);
      const tries = message.info.deliveryCount;
      this.#deps.log.warn({ durable, event: event.id, tries, reason }, 'the handler of an event failed');
      return error instanceof PoisonError ? 'poison' : 'failed';
    } finally {
      working[Symbol.dispose]();
    }
    this.#remember(event.id);
    return 'handled';
  }

  /** Reports progress to the server while the handler works. */
  #keepWorking(message: JsMsg): Disposable {
    const everyMs = (this.#backoffMs[0] ?? SECOND_MS) / 3;
    const { clock } = this.#deps;
    const tick = (): void => {
      message.working();
      timer = clock.setTimeout(tick, everyMs);
    };
    let timer = clock.setTimeout(tick, everyMs);
    return { [Symbol.dispose]: () => timer.cancel() };
  }

  #remember(id: string): void {
    this.#seen.add(id);
    if (this.#seen.size <= REMEMBERED_IDS) return;
    const [oldest = ''] = this.#seen;
    this.#seen.delete(oldest);
  }
}

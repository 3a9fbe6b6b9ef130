import type { NatsConnection } from '@nats-io/nats-core';
import type { Clock } from '@sandlot/std';
import type { CloudEvent } from '../events/cloudevent.ts';
import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { findMessage, findSequenceAt } from '../streams/read-messages.ts';
import { EVENT_STREAM } from '../streams/streams.ts';

const RETRY_MS = 500;
/** How long a reader that has read everything waits for an event to arrive before it looks again. */
const IDLE_MS = 2_000;
/** Listeners get an event before the stream has stored it. */
const STORING_MS = 10;

export interface FollowOptions {
  /** A filter of subjects: `sandlot.team-a.>`, `sandlot.*.claim.bound`. */
  readonly filter: string;
  /** Begins after the event of that sequence, if it is still in the stream. */
  readonly afterSequence?: number | undefined;
  /** Begins with events published since that time, epoch milliseconds. With neither option it begins with new events. */
  readonly sinceMs?: number | undefined;
  /** Ends the iteration. */
  readonly signal: AbortSignal;
}

/** An event with its sequence in the stream; sequences grow and have gaps. */
export interface FollowedEvent {
  readonly sequence: number;
  readonly event: CloudEvent;
}

export interface FollowDeps {
  /** Throws while the server is away. */
  readonly session: () => Session;
  readonly clock: Clock;
}

/**
 * Yields the events of the stream in order, then new ones, until the signal aborts. After a disconnection it continues after
 * the last event that it yielded; of a stream made anew it yields all events. A slow reader slows the reading down. Never
 * throws.
 */
export async function* followEvents(deps: FollowDeps, options: FollowOptions): AsyncGenerator<FollowedEvent> {
  const { signal, filter } = options;
  const reader = new Reader(options);
  const arrivals = new Arrivals(filter, deps.clock);
  signal.addEventListener('abort', arrivals.wake, { once: true });
  try {
    while (!signal.aborted) {
      try {
        const session = deps.session();
        arrivals.use(session.connection);
        yield* reader.readOn(session);
        await arrivals.wait();
      } catch {
        // The server is away or still starting: the next try follows.
        await deps.clock.sleep(RETRY_MS, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', arrivals.wake);
    arrivals.close();
  }
}

/** Reads what is in the stream, each event once. */
class Reader {
  readonly #options: FollowOptions;
  #place: Place | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Yields the events from where the last reading ended. Rejects while the server is away. */
  async *readOn(session: Session): AsyncGenerator<FollowedEvent> {
    const { signal, filter } = this.#options;
    let place = await findPlace(session, this.#options, this.#place);
    while (!signal.aborted) {
      this.#place = place;
      const message = await findMessage(session, { stream: EVENT_STREAM, sequence: place.next, filter });
      if (message === undefined) return;
      place = { ...place, next: message.seq + 1 };
      const event = parseAnyCloudEvent(message.string());
      if (event !== undefined) yield { sequence: message.seq, event };
    }
  }
}

/** Which event comes next, in the stream that was created at that time. */
interface Place {
  readonly created: string;
  readonly next: number;
}

/** The known place if the stream is still the same, or else where to begin. */
async function findPlace(session: Session, options: FollowOptions, known: Place | undefined): Promise<Place> {
  const { created, state } = await session.manager.streams.info(EVENT_STREAM);
  if (known?.created === created) return known;
  const { afterSequence, sinceMs } = options;
  if (known !== undefined) return { created, next: 1 };
  if (afterSequence !== undefined) {
    // A stream with a lower sequence than the last one read was created anew: all of its events are new.
    return { created, next: state.last_seq < afterSequence ? 1 : afterSequence + 1 };
  }
  if (sinceMs === undefined) return { created, next: state.last_seq + 1 };
  return { created, next: await findSequenceAt(session, { stream: EVENT_STREAM, bounds: state }, sinceMs) };
}

/** Notices events on their way into the stream, so that the reader looks at once. Without it the reader only looks later. */
class Arrivals {
  readonly #filter: string;
  readonly #clock: Clock;
  #connection: NatsConnection | undefined;
  #unsubscribe: () => void = () => undefined;
  #pause = new AbortController();

  constructor(filter: string, clock: Clock) {
    this.#filter = filter;
    this.#clock = clock;
  }

  readonly wake = (): void => this.#pause.abort();

  /** Listens on the connection, from before the reader looks. */
  use(connection: NatsConnection): void {
    this.#pause = new AbortController();
    if (this.#connection === connection) return;
    this.close();
    this.#connection = connection;
    const subscription = connection.subscribe(this.#filter, {
      callback: (error) => {
        if (error === null) this.wake();
        // The server refuses it: another try may follow a change of its settings.
        else this.#connection = undefined;
      },
    });
    this.#unsubscribe = () => {
      if (!connection.isClosed()) subscription.unsubscribe();
    };
  }

  /** Resolves soon after an event has come since the last {@link use}, or else after a while. */
  async wait(): Promise<void> {
    await this.#clock.sleep(IDLE_MS, this.#pause.signal);
    if (this.#pause.signal.aborted) await this.#clock.sleep(STORING_MS);
  }

  close(): void {
    this.#unsubscribe();
    this.#connection = undefined;
  }
}

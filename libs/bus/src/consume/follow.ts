import { DeliverPolicy } from '@nats-io/jetstream';
import type { ConsumerMessages, JsMsg, OrderedConsumerOptions } from '@nats-io/jetstream';
import type { Clock } from '@sandlot/std';
import type { CloudEvent } from '../events/cloudevent.ts';
import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { EVENT_STREAM } from '../streams/streams.ts';

const EXPIRES_MS = 10_000;
const HEARTBEAT_MS = 2_000;
const RETRY_MS = 500;

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
 * the last event that it yielded. A slow reader slows the delivery down. Never throws.
 */
export async function* followEvents(deps: FollowDeps, options: FollowOptions): AsyncGenerator<FollowedEvent> {
  const { signal } = options;
  let { afterSequence } = options;
  while (!signal.aborted) {
    try {
      for await (const followed of untilTrouble(deps.session(), { ...options, afterSequence })) {
        afterSequence = followed.sequence;
        yield followed;
      }
    } catch {
      // The server is away or still starting: the next try follows.
    }
    await deps.clock.sleep(RETRY_MS, signal);
  }
}

/** Ends with the consumer: the client's recovery of an ordered consumer does not survive a restart of the server. */
async function* untilTrouble(session: Session, options: FollowOptions): AsyncGenerator<FollowedEvent> {
  const { signal } = options;
  const consumer = await session.js.consumers.get(EVENT_STREAM, await findStart(session, options));
  const messages = await consumer.consume({ max_messages: 100, expires: EXPIRES_MS, idle_heartbeat: HEARTBEAT_MS });
  const stop = (): void => messages.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const watched = stopAtTrouble(messages);
  try {
    for await (const message of messages as AsyncIterable<JsMsg>) {
      const event = parseAnyCloudEvent(message.string());
      if (event !== undefined) yield { sequence: message.seq, event };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    await watched;
  }
}

const TROUBLES: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'no_responders',
]);

async function stopAtTrouble(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (TROUBLES.has(type)) messages.stop();
}

async function findStart({ manager }: Session, options: FollowOptions): Promise<Partial<OrderedConsumerOptions>> {
  const { filter: filter_subjects, afterSequence, sinceMs } = options;
  if (afterSequence !== undefined) {
    const { state } = await manager.streams.info(EVENT_STREAM);
    // A stream with a lower sequence than the last one read was created anew: all of its events are new.
    if (state.last_seq < afterSequence) return { filter_subjects, deliver_policy: DeliverPolicy.All };
    return { filter_subjects, deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: afterSequence + 1 };
  }
  if (sinceMs === undefined) return { filter_subjects, deliver_policy: DeliverPolicy.New };
  const opt_start_time = new Date(sinceMs).toISOString();
  return { filter_subjects, deliver_policy: DeliverPolicy.StartTime, opt_start_time };
}

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
  /** Of subjects: `sandlot.team-a.>`, `sandlot.*.claim.bound`. */
  readonly filter: string;
  /** Begins behind the event of that sequence, if it is still in the stream. */
  readonly afterSequence?: number | undefined;
  /** Begins with events published since that moment, epoch milliseconds. Neither: with what comes. */
  readonly sinceMs?: number | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** An event with its place in the stream, which grows and has gaps. */
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
 * Events of the stream in order, also those that come, until the signal aborts. After a disconnection it goes on behind the
 * last event it gave. Whoever takes them slowly is sent them slowly. Never throws.
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
      // Away, or not all there yet: the next try tells.
    }
    await deps.clock.sleep(RETRY_MS, signal);
  }
}

/** Ends with the consumer: the client's own recovery of an ordered one does not survive a restart of the server. */
async function* untilTrouble(session: Session, options: FollowOptions): AsyncGenerator<FollowedEvent> {
  const { signal } = options;
  const consumer = await session.js.consumers.get(EVENT_STREAM, await startOf(session, options));
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

async function startOf({ manager }: Session, options: FollowOptions): Promise<Partial<OrderedConsumerOptions>> {
  const { filter: filter_subjects, afterSequence, sinceMs } = options;
  if (afterSequence !== undefined) {
    const { state } = await manager.streams.info(EVENT_STREAM);
    // A stream that has less than was read is another one, made since: all of it is news.
    if (state.last_seq < afterSequence) return { filter_subjects, deliver_policy: DeliverPolicy.All };
    return { filter_subjects, deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: afterSequence + 1 };
  }
  if (sinceMs === undefined) return { filter_subjects, deliver_policy: DeliverPolicy.New };
  const opt_start_time = new Date(sinceMs).toISOString();
  return { filter_subjects, deliver_policy: DeliverPolicy.StartTime, opt_start_time };
}

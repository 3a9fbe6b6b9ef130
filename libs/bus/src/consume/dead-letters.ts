import { JetStreamApiError } from '@nats-io/jetstream';
import type { StoredMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { z } from 'zod';
import type { CloudEvent } from '../events/cloudevent.ts';
import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { readMessages } from '../streams/read-messages.ts';
import { DEAD_LETTER_STREAM, EVENT_STREAM } from '../streams/streams.ts';

const NO_MESSAGE = 10_037;

/** The server's advisory about a message that a consumer gave up on or refused. */
const advisory = z.object({
  timestamp: z.string(),
  consumer: z.string(),
  stream_seq: z.number().int(),
  deliveries: z.number().int(),
});

/** An event that a consumer could not handle. */
export interface DeadLetter {
  /** Its sequence in the dead-letter stream. */
  readonly sequence: number;
  readonly consumer: string;
  readonly deliveries: number;
  /** RFC 3339: when the consumer gave it up. */
  readonly at: string;
  /** Undefined when the event is no longer in the stream, or the message was no event. */
  readonly event: CloudEvent | undefined;
}

interface Letter extends DeadLetter {
  readonly message: StoredMsg | undefined;
}

/** All dead letters, the oldest first. */
export async function* readDeadLetters(session: Session): AsyncGenerator<DeadLetter> {
  for await (const { sequence, consumer, deliveries, at, event } of readLetters(session)) {
    yield { sequence, consumer, deliveries, at, event };
  }
}

/**
 * Publishes each event that is still in the stream again, for all consumers, and removes its dead letter. It gets a new
 * message id, or the server would drop it as a duplicate. The event's own id stays, so that consumers that have handled it
 * skip it.
 */
export async function* replayDeadLetters(
  session: Session,
): AsyncGenerator<DeadLetter & { readonly replayed: boolean }> {
  for await (const { message, ...letter } of readLetters(session)) {
    if (message === undefined) {
      yield { ...letter, replayed: false };
      continue;
    }
    const head = headers();
    for (const key of message.header.keys()) if (!key.startsWith('Nats-')) head.set(key, message.header.get(key));
    const msgID = `replay/${letter.sequence}/${message.header.get('Nats-Msg-Id')}`;
    await session.js.publish(message.subject, message.data, { msgID, headers: head });
    await session.manager.streams.deleteMessage(DEAD_LETTER_STREAM, letter.sequence, false);
    yield { ...letter, replayed: true };
  }
}

async function* readLetters(session: Session): AsyncGenerator<Letter> {
  for await (const notice of readMessages(session, { stream: DEAD_LETTER_STREAM, filter: '>' })) {
    const letter = await findLetter(session, notice);
    if (letter !== undefined) yield letter;
  }
}

async function findLetter(session: Session, notice: StoredMsg): Promise<Letter | undefined> {
  const parsed = advisory.safeParse(notice.json());
  if (!parsed.success) return undefined;
  const { timestamp, consumer, stream_seq: seq, deliveries } = parsed.data;
  const message = await readMessageAt(session, seq);
  const event = message === undefined ? undefined : parseAnyCloudEvent(message.string());
  return { sequence: notice.seq, consumer, deliveries, at: timestamp, event, message };
}

async function readMessageAt({ manager }: Session, seq: number): Promise<StoredMsg | undefined> {
  try {
    return (await manager.streams.getMessage(EVENT_STREAM, { seq })) ?? undefined;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return undefined;
    throw error;
  }
}

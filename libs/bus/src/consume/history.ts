import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { findSequenceAt, readMessages } from '../streams/read-messages.ts';
import { EVENT_STREAM } from '../streams/streams.ts';
import type { FollowedEvent } from './follow.ts';
import { openReader } from './reader.ts';
import type { EventReader, ReaderOptions } from './reader.ts';

/** What the stream has. */
export interface HistoryBounds {
  /** When the stream was created. Another value means another stream, whose sequences begin anew. */
  readonly created: string;
  readonly first: number;
  /** One less than `first`: the stream is empty. */
  readonly last: number;
}

export interface HistoryRange {
  /** A filter of subjects: `sandlot.team-a.claim.>`. */
  readonly filter: string;
  /** The first and the last sequence. */
  readonly from: number;
  readonly to: number;
  /** The most messages; a part that has more is not complete. */
  readonly most: number;
}

export interface HistoryPart {
  /** In order. What is no event of the catalogue is left out. */
  readonly events: readonly FollowedEvent[];
  readonly isComplete: boolean;
}

/** The stored events. Methods reject while the server is away, or without the stream. */
export interface EventHistory {
  readBounds(): Promise<HistoryBounds>;
  /** The sequence from which on all messages were stored at `sinceMs` or later, epoch milliseconds. */
  findSequence(bounds: HistoryBounds, sinceMs: number): Promise<number>;
  read(range: HistoryRange): Promise<HistoryPart>;
  /** Opens a reader of what came since its last reading. */
  openReader(options: ReaderOptions): EventReader;
}

/** Reads by request, and leaves no consumer behind; `session` throws while the server is away. */
export function openEventHistory(session: () => Session): EventHistory {
  return {
    readBounds: async () => {
      const { created, state } = await session().manager.streams.info(EVENT_STREAM);
      return { created, first: state.first_seq, last: state.last_seq };
    },
    findSequence: ({ first, last }, sinceMs) => {
      const bounds = { first_seq: first, last_seq: last };
      return findSequenceAt(session(), { stream: EVENT_STREAM, bounds }, sinceMs);
    },
    read: (range) => readRange(session(), range),
    openReader: (options) => openReader(session, options),
  };
}

async function readRange(session: Session, { filter, from, to, most }: HistoryRange): Promise<HistoryPart> {
  const events: FollowedEvent[] = [];
  let count = 0;
  const messages = readMessages(session, { stream: EVENT_STREAM, filter, fromSequence: from, toSequence: to });
  for await (const message of messages) {
    if (count === most) return { events, isComplete: false };
    count += 1;
    const event = parseAnyCloudEvent(message.string());
    if (event !== undefined) events.push({ sequence: message.seq, event });
  }
  return { events, isComplete: true };
}

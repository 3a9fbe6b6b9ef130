import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { findMessage, findSequenceAt } from '../streams/read-messages.ts';
import { EVENT_STREAM } from '../streams/streams.ts';
import type { FollowedEvent } from './follow.ts';

/** Chains of requests side by side: each answer says where the next message is. */
const LANES = 4;

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
  /** The most messages that are read; the events of a part that has more are not complete. */
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
  };
}

async function readRange(session: Session, range: HistoryRange): Promise<HistoryPart> {
  const width = Math.max(1, Math.ceil((range.to - range.from + 1) / LANES));
  const budget = { left: range.most };
  const lanes = Array.from({ length: LANES }, (_, index) => {
    const from = range.from + index * width;
    return readLane(session, { ...range, from, to: Math.min(range.to, from + width - 1) }, budget);
  });
  const parts = await Promise.all(lanes);
  return { events: parts.flatMap(({ events }) => events), isComplete: parts.every(({ isComplete }) => isComplete) };
}

async function readLane(session: Session, range: HistoryRange, budget: { left: number }): Promise<HistoryPart> {
  const events: FollowedEvent[] = [];
  for (let sequence = range.from; sequence <= range.to;) {
    if (budget.left <= 0) return { events, isComplete: false };
    const message = await findMessage(session, { stream: EVENT_STREAM, sequence, filter: range.filter });
    if (message === undefined || message.seq > range.to) break;
    budget.left -= 1;
    sequence = message.seq + 1;
    const event = parseAnyCloudEvent(message.string());
    if (event !== undefined) events.push({ sequence: message.seq, event });
  }
  return { events, isComplete: true };
}

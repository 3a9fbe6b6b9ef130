import type { NextMsgRequest, StoredMsg } from '@nats-io/jetstream';
import type { Session } from './ledger.ts';

/** Where a reader goes on in a stream. */
export interface ReadingPlace {
  readonly stream: string;
  readonly sequence: number;
  /** A filter of subjects; `>` for all. */
  readonly filter: string;
}

/**
 * The first message from that sequence on whose subject matches; undefined when there is none. Rejects without the stream.
 *
 * Services read messages by request and never through a consumer: the server delivers those of a consumer as they are, to any
 * subject that the one who made or asked it names. An answer to this request has the message inside, so it is no event.
 */
export async function findMessage(
  { manager }: Session,
  { stream, sequence, filter }: ReadingPlace,
): Promise<StoredMsg | undefined> {
  const query: NextMsgRequest & { readonly seq: number } = { seq: Math.max(1, sequence), next_by_subj: filter };
  return (await manager.streams.getMessage(stream, query)) ?? undefined;
}

/** The part of a stream's state that {@link findSequenceAt} needs. */
export interface StreamBounds {
  readonly first_seq: number;
  readonly last_seq: number;
}

/** The sequence from which on all messages of the stream were stored at `sinceMs` or later, epoch milliseconds. */
export async function findSequenceAt(
  session: Session,
  { stream, bounds }: { readonly stream: string; readonly bounds: StreamBounds },
  sinceMs: number,
): Promise<number> {
  let [low, high] = [bounds.first_seq, bounds.last_seq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const message = await findMessage(session, { stream, sequence: middle, filter: '>' });
    if (message === undefined || message.time.getTime() >= sinceMs) high = middle;
    else low = message.seq + 1;
  }
  return low;
}

/** Sequences that one chain of requests reads, and how many chains run side by side. */
const SPAN = 64;
const TOGETHER = 32;

export interface ReadingOptions {
  readonly stream: string;
  /** A filter of subjects; `>` for all. */
  readonly filter: string;
  /** Begins with messages stored at that time, epoch milliseconds; default with the first. */
  readonly sinceMs?: number | undefined;
  /** Begins with that sequence, instead. */
  readonly fromSequence?: number | undefined;
  /** Ends with that sequence; default with the last that the stream has now. */
  readonly toSequence?: number | undefined;
}

/** Yields the messages that are in the stream now, in order. Rejects without the stream. */
export async function* readMessages(session: Session, options: ReadingOptions): AsyncGenerator<StoredMsg> {
  const { stream, filter } = options;
  const [from, last] = await findEnds(session, options);
  let sequence = from;
  while (sequence <= last) {
    // Steps over sequences without a match.
    const first = await findMessage(session, { stream, sequence, filter });
    if (first === undefined || first.seq > last) return;
    yield first;
    const count = Math.min(TOGETHER, Math.ceil((last - first.seq) / SPAN));
    const spans = Array.from({ length: count }, (_, index) => {
      const begin = first.seq + 1 + index * SPAN;
      return readSpan(session, { stream, filter, sequence: begin }, Math.min(begin + SPAN - 1, last));
    });
    for (const span of await Promise.all(spans)) yield* span;
    sequence = first.seq + 1 + TOGETHER * SPAN;
  }
}

/** The first and the last sequence. */
async function findEnds(session: Session, options: ReadingOptions): Promise<readonly [number, number]> {
  const { stream, sinceMs, fromSequence, toSequence } = options;
  if (fromSequence !== undefined && toSequence !== undefined) return [fromSequence, toSequence];
  const { state } = await session.manager.streams.info(stream);
  const since = async (): Promise<number> =>
    sinceMs === undefined ? state.first_seq : findSequenceAt(session, { stream, bounds: state }, sinceMs);
  return [fromSequence ?? (await since()), toSequence ?? state.last_seq];
}

async function readSpan(session: Session, place: ReadingPlace, end: number): Promise<StoredMsg[]> {
  const found: StoredMsg[] = [];
  for (let { sequence } = place; sequence <= end;) {
    const message = await findMessage(session, { ...place, sequence });
    if (message === undefined || message.seq > end) break;
    found.push(message);
    sequence = message.seq + 1;
  }
  return found;
}

import type { CloudEvent, Session } from '@sandlot/bus';
import { EVENT_STREAM, followEvents, parseAnyCloudEvent, readMessages } from '@sandlot/bus';
import { systemClock } from '@sandlot/std';

export interface Reading {
  /** How far back to start. Undefined starts at the beginning of the stream, or with the next event when following. */
  readonly sinceMs: number | undefined;
  readonly nowMs: number;
  readonly follow: boolean;
  readonly isWanted: (event: CloudEvent) => boolean;
  readonly filter: string;
  readonly signal: AbortSignal;
}

/** Yields events from the stream, oldest first, each id once. Ends with the stream, or with the signal when following. */
export async function* readEvents(session: Session, reading: Reading): AsyncGenerator<CloudEvent> {
  const seen = new Set<string>();
  const isNew = (event: CloudEvent): boolean => seen.size < seen.add(event.id).size;
  for await (const event of reading.follow ? follow(session, reading) : list(session, reading)) {
    if (isNew(event) && reading.isWanted(event)) yield event;
  }
}

async function* list(session: Session, { filter, signal, ...reading }: Reading): AsyncGenerator<CloudEvent> {
  for await (const message of readMessages(session, { stream: EVENT_STREAM, filter, sinceMs: findStartMs(reading) })) {
    if (signal.aborted) return;
    const event = parseAnyCloudEvent(message.string());
    if (event !== undefined) yield event;
  }
}

async function* follow(session: Session, { filter, signal, ...reading }: Reading): AsyncGenerator<CloudEvent> {
  const { connection } = session;
  // Rejects without a stream; a follower would wait for one.
  await session.manager.streams.info(EVENT_STREAM);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  void connection.closed().then(end);
  const options = { filter, sinceMs: findStartMs(reading), signal: ended.signal };
  for await (const { event } of followEvents({ session: () => session, clock: systemClock }, options)) yield event;
  signal.removeEventListener('abort', end);
}

function findStartMs({ sinceMs, nowMs }: Pick<Reading, 'sinceMs' | 'nowMs'>): number | undefined {
  return sinceMs === undefined ? undefined : nowMs - sinceMs;
}

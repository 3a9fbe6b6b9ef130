import type { CloudEvent } from '../events/cloudevent.ts';
import { parseAnyCloudEvent } from '../events/cloudevent.ts';
import type { Session } from '../streams/ledger.ts';
import { findSequenceAt, readMessages } from '../streams/read-messages.ts';
import { EVENT_STREAM } from '../streams/streams.ts';

/** Reads a part of the event stream again and again, each time what came since. */
export interface EventReader {
  /**
   * Yields the events that are in the stream now and were not yielded before; of a stream made anew all of them. The caller reads to the
   * end, or the rest comes with the next reading. One reading at a time. Rejects while the server is away.
   */
  readNew(): AsyncGenerator<CloudEvent>;
}

export interface ReaderOptions {
  /** A filter of subjects: `sandlot.team-a.sandbox.deleted`. */
  readonly filter: string;
  /** Begins with events stored since that time, epoch milliseconds. */
  readonly sinceMs: number;
}

/** `session` throws while the server is away. */
export function openReader(session: () => Session, { filter, sinceMs }: ReaderOptions): EventReader {
  /** Which sequence comes next, in the stream that was created at that time. */
  let place: { readonly created: string; readonly next: number } | undefined;
  return {
    async *readNew() {
      const current = session();
      const { created, state } = await current.manager.streams.info(EVENT_STREAM);
      const next =
        place === undefined ? await findSequenceAt(current, { stream: EVENT_STREAM, bounds: state }, sinceMs) : 1;
      place = place?.created === created ? place : { created, next };
      const messages = readMessages(current, { stream: EVENT_STREAM, filter, fromSequence: place.next });
      for await (const message of messages) {
        place = { created, next: message.seq + 1 };
        const event = parseAnyCloudEvent(message.string());
        if (event !== undefined) yield event;
      }
      place = { created, next: Math.max(place.next, state.last_seq + 1) };
    },
  };
}

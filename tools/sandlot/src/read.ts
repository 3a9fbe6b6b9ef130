import { DeliverPolicy } from '@nats-io/jetstream';
import type { JsMsg, OrderedConsumerOptions } from '@nats-io/jetstream';
import type { CloudEvent, Session } from '@sandlot/bus';
import { EVENT_STREAM, parseAnyCloudEvent } from '@sandlot/bus';

export interface Reading {
  /** Events of the last so many milliseconds; undefined: what is in the stream, or only what comes when following. */
  readonly sinceMs: number | undefined;
  readonly nowMs: number;
  readonly follow: boolean;
  readonly wanted: (event: CloudEvent) => boolean;
  readonly filter: string;
  readonly signal: AbortSignal;
}

/** Events from the stream, the oldest first; each once by its id. Ends with the stream, or by the signal when following. */
export async function* readEvents({ js, manager }: Session, reading: Reading): AsyncGenerator<CloudEvent> {
  const { follow, signal, wanted } = reading;
  const consumer = await js.consumers.get(EVENT_STREAM, startOf(reading));
  const { num_pending: waiting } = await consumer.info();
  const { state } = await manager.streams.info(EVENT_STREAM);
  if (!follow && waiting === 0) return;
  const messages = await consumer.consume({ max_messages: 500 });
  const stop = (): void => messages.stop();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  const seen = new Set<string>();
  const isNews = (event: CloudEvent): boolean => seen.size < seen.add(event.id).size;
  for await (const message of messages as AsyncIterable<JsMsg>) {
    const event = parseAnyCloudEvent(message.string());
    if (event !== undefined && isNews(event) && wanted(event)) yield event;
    if (!follow && isLast(message, state.last_seq)) break;
  }
  signal.removeEventListener('abort', stop);
}

function isLast({ info, seq }: JsMsg, lastSeq: number): boolean {
  return info.pending === 0 || seq >= lastSeq;
}

function startOf({ sinceMs, nowMs, follow, filter }: Reading): Partial<OrderedConsumerOptions> {
  if (sinceMs !== undefined) {
    const opt_start_time = new Date(nowMs - sinceMs).toISOString();
    return { filter_subjects: filter, deliver_policy: DeliverPolicy.StartTime, opt_start_time };
  }
  return { filter_subjects: filter, deliver_policy: follow ? DeliverPolicy.New : DeliverPolicy.All };
}

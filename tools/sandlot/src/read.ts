import { DeliverPolicy } from '@nats-io/jetstream';
import type { JsMsg, OrderedConsumerOptions } from '@nats-io/jetstream';
import type { CloudEvent, Session } from '@sandlot/bus';
import { EVENT_STREAM, parseAnyCloudEvent } from '@sandlot/bus';

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
export async function* readEvents({ js, manager }: Session, reading: Reading): AsyncGenerator<CloudEvent> {
  const { follow, signal, isWanted } = reading;
  const consumer = await js.consumers.get(EVENT_STREAM, buildConsumerOptions(reading));
  const { num_pending: waiting } = await consumer.info();
  const { state } = await manager.streams.info(EVENT_STREAM);
  if (!follow && waiting === 0) return;
  const messages = await consumer.consume({ max_messages: 500 });
  const stop = (): void => messages.stop();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  const seen = new Set<string>();
  const isNew = (event: CloudEvent): boolean => seen.size < seen.add(event.id).size;
  for await (const message of messages as AsyncIterable<JsMsg>) {
    const event = parseAnyCloudEvent(message.string());
    if (event !== undefined && isNew(event) && isWanted(event)) yield event;
    if (!follow && isLast(message, state.last_seq)) break;
  }
  signal.removeEventListener('abort', stop);
}

function isLast({ info, seq }: JsMsg, lastSeq: number): boolean {
  return info.pending === 0 || seq >= lastSeq;
}

function buildConsumerOptions({ sinceMs, nowMs, follow, filter }: Reading): Partial<OrderedConsumerOptions> {
  if (sinceMs !== undefined) {
    const opt_start_time = new Date(nowMs - sinceMs).toISOString();
    return { filter_subjects: filter, deliver_policy: DeliverPolicy.StartTime, opt_start_time };
  }
  return { filter_subjects: filter, deliver_policy: follow ? DeliverPolicy.New : DeliverPolicy.All };
}

import { z } from 'zod';
import type { EventData, EventType } from './catalogue.ts';
import { eventData, isEventType } from './catalogue.ts';
import { escapeToken } from './subjects.ts';

/** A lifecycle event before its envelope. */
export interface OutgoingEvent<T extends EventType = EventType> {
  readonly type: T;
  /** From {@link formatEventId}: two publishers of one transition must produce one id. */
  readonly id: string;
  /** When the transition happened according to the object, epoch milliseconds; not the time of publishing. */
  readonly timeMs: number;
  readonly data: EventData[T];
}

/** CloudEvents 1.0 in JSON, with the W3C trace context as the distributed tracing extension. */
export interface CloudEvent<T extends EventType = EventType> {
  readonly specversion: '1.0';
  readonly id: string;
  /** `/sandlot/namespaces/<namespace>`, from the object, so that source and id identify one transition. */
  readonly source: string;
  readonly type: T;
  /** `<kind>/<name>` of the object. */
  readonly subject: string;
  /** RFC 3339. */
  readonly time: string;
  readonly datacontenttype: 'application/json';
  /** Name and version of the schema of `data`. */
  readonly dataschema: string;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly data: EventData[T];
}

export interface Transition {
  readonly uid: string;
  readonly type: EventType;
  /** Distinguishes this occurrence of the transition from the next: a generation, a transition time, a count. */
  readonly marker: string | number;
}

/** Id of a transition, derived only from the state of its object. Different transitions never share one. */
export function formatEventId({ uid, type, marker }: Transition): string {
  return `${escapeToken(uid)}/${type}/${escapeToken(String(marker))}`;
}

/** Headers of the W3C trace context. */
export interface TraceHeaders {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** Name of the published schema of an event's data, or of the envelope. */
export function formatSchemaUrl(name: EventType | 'cloudevent'): string {
  return `https://sandlot.dev/events/v1/${name}.json`;
}

/** The envelope of `event`. */
export function toCloudEvent<T extends EventType>(event: OutgoingEvent<T>, trace: TraceHeaders = {}): CloudEvent<T> {
  const { namespace, name }: { namespace: string; name: string } = event.data;
  const [kind = ''] = event.type.split('.');
  return {
    specversion: '1.0',
    id: event.id,
    source: `/sandlot/namespaces/${encodeURIComponent(namespace)}`,
    type: event.type,
    subject: `${kind}/${name}`,
    time: new Date(event.timeMs).toISOString(),
    datacontenttype: 'application/json',
    dataschema: formatSchemaUrl(event.type),
    ...(trace.traceparent === undefined ? {} : { traceparent: trace.traceparent }),
    ...(trace.tracestate === undefined ? {} : { tracestate: trace.tracestate }),
    data: event.data,
  };
}

/** The envelope around the data. */
export const envelope = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string(),
  type: z.string(),
  subject: z.string(),
  time: z.iso.datetime({ offset: true }),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string(),
  traceparent: z.string().optional(),
  tracestate: z.string().optional(),
  data: z.unknown(),
});

/** Parses an event of `type`; undefined when `json` is none. Unknown fields are dropped. */
export function parseCloudEvent<T extends EventType>(type: T, json: string): CloudEvent<T> | undefined {
  const parsed = envelope.safeParse(parseJson(json));
  if (!parsed.success || parsed.data.type !== type || !isEventType(parsed.data.type)) return undefined;
  const data = eventData[type].safeParse(parsed.data.data);
  if (!data.success) return undefined;
  return { ...parsed.data, type, data: data.data as EventData[T] };
}

/** Parses an event of any type in the catalogue; undefined when `json` is none. */
export function parseAnyCloudEvent(json: string): CloudEvent | undefined {
  const parsed = envelope.pick({ type: true }).safeParse(parseJson(json));
  return parsed.success && isEventType(parsed.data.type) ? parseCloudEvent(parsed.data.type, json) : undefined;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api';
import type { EventType } from '../events/catalogue.ts';
import type { OutgoingEvent, TraceHeaders } from '../events/cloudevent.ts';

/** The trace of one publish: what travels with the event, and the span that ends with its acknowledgement. */
export interface PublishTrace {
  readonly headers: TraceHeaders;
  /** Ends the span; with a reason it ends as an error. */
  end(failure?: string): void;
}

/** Messaging conventions are not stable yet: their names are in this file alone. */
function attributesOf(event: OutgoingEvent): Record<string, string> {
  return {
    'messaging.system': 'nats',
    'messaging.operation.type': 'send',
    'messaging.operation.name': 'publish',
    'messaging.destination.template': `sandlot.{namespace}.${event.type}`,
    'messaging.message.id': event.id,
  };
}

function spanName(type: EventType): string {
  return `publish sandlot.${type}`;
}

/** Starts the span of a publish in the caller's trace. Without one there is no span: an event is not an operation. */
export function tracePublish(event: OutgoingEvent): PublishTrace {
  const parent = context.active();
  if (trace.getSpanContext(parent) === undefined) return { headers: {}, end: () => undefined };
  const span = trace
    .getTracer('sandlot')
    .startSpan(spanName(event.type), { kind: SpanKind.PRODUCER, attributes: attributesOf(event) }, parent);
  const headers: Record<string, string> = {};
  propagation.inject(trace.setSpan(parent, span), headers);
  return {
    headers,
    end: (failure) => {
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
      span.end();
    },
  };
}

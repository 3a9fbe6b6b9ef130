import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api';
import type { EventType } from '../events/catalogue.ts';
import type { OutgoingEvent, TraceHeaders } from '../events/cloudevent.ts';

/** The trace of one publish: the headers of the event, and the span that ends with its acknowledgement. */
export interface PublishTrace {
  readonly headers: TraceHeaders;
  /** Ends the span; a reason makes it an error. */
  end(failure?: string): void;
}

/** The messaging conventions are not stable yet, so their names are only in this file. */
function buildAttributes(event: OutgoingEvent): Record<string, string> {
  return {
    'messaging.system': 'nats',
    'messaging.operation.type': 'send',
    'messaging.operation.name': 'publish',
    'messaging.destination.template': `sandlot.{namespace}.${event.type}`,
    'messaging.message.id': event.id,
  };
}

function formatSpanName(type: EventType): string {
  return `publish sandlot.${type}`;
}

/** Starts the span of a publish in the caller's trace. Without a trace there is no span: an event is not an operation. */
export function tracePublish(event: OutgoingEvent): PublishTrace {
  const parent = context.active();
  if (trace.getSpanContext(parent) === undefined) return { headers: {}, end: () => undefined };
  const span = trace
    .getTracer('sandlot')
    .startSpan(formatSpanName(event.type), { kind: SpanKind.PRODUCER, attributes: buildAttributes(event) }, parent);
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

import { InvalidArgumentError, RequestError } from '@nats-io/nats-core';
import type { MsgHdrs } from '@nats-io/nats-core';
import { headers } from '@nats-io/nats-core';
import type { OutgoingEvent, TraceHeaders } from '../events/cloudevent.ts';
import { toCloudEvent } from '../events/cloudevent.ts';
import { formatSubject } from '../events/subjects.ts';

/** Subject, JSON body and headers of an event (CloudEvents structured mode; trace context also as headers). */
export function encode(event: OutgoingEvent, trace: TraceHeaders): { subject: string; body: string; head: MsgHdrs } {
  const head = headers();
  head.set('Content-Type', 'application/cloudevents+json');
  const { traceparent, tracestate } = trace;
  if (traceparent !== undefined) head.set('traceparent', traceparent);
  if (tracestate !== undefined) head.set('tracestate', tracestate);
  const body = JSON.stringify(toCloudEvent(event, trace));
  return { subject: formatSubject(event.type, event.data.namespace), body, head };
}

/** Whether no stream listens on the subject, which the cause of JetStream's error says. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof RequestError && error.cause.isNoResponders();
}

/** Whether no server will ever accept the message, for example because of its size. */
export function isUnsendable(error: unknown): boolean {
  return error instanceof InvalidArgumentError;
}

import { ROOT_CONTEXT, context, isSpanContextValid, propagation, trace } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';

/** Annotation that carries the trace of an operation from object to object; reserved, never copied to pods. */
const TRACE_ANNOTATION = 'opentelemetry.io/trace-context';

/** A carrier of `traceparent` and `tracestate` has at most about 600 characters; longer values are ignored. */
const LONGEST_CARRIER = 2_048;

/** The trace of `from` as the text of the annotation; undefined outside a trace. */
function inject(from: Context = context.active()): string | undefined {
  const headers: Record<string, string> = {};
  propagation.inject(from, headers);
  return headers['traceparent'] === undefined ? undefined : JSON.stringify(headers);
}

/** The context in the text of an annotation; undefined when it is missing or malformed: the caller starts a new root. */
function extract(text: string | undefined): Context | undefined {
  if (text === undefined || text.length > LONGEST_CARRIER) return undefined;
  const headers = parseHeaders(text);
  if (headers === undefined) return undefined;
  const extracted = propagation.extract(ROOT_CONTEXT, headers);
  const span = trace.getSpanContext(extracted);
  return span !== undefined && isSpanContextValid(span) ? extracted : undefined;
}

function parseHeaders(text: string): Record<string, string> | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  const entries = Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(entries);
}

/** Trace context in object annotations: a JSON map with `traceparent` and, when there is one, `tracestate`. */
export const carrier = { annotation: TRACE_ANNOTATION, inject, extract } as const;

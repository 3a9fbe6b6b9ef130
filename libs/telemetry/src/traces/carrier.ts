import { ROOT_CONTEXT, context, isSpanContextValid, propagation, trace } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';

/** Annotation that carries the trace of an operation from object to object; reserved, never copied to pods. */
const TRACE_ANNOTATION = 'opentelemetry.io/trace-context';

/** Longer values are not ours: a carrier of `traceparent` and `tracestate` is at most about 600 characters. */
const LONGEST_CARRIER = 2_048;

/** `from`'s trace as the text of the annotation; undefined outside of a trace. */
function inject(from: Context = context.active()): string | undefined {
  const headers: Record<string, string> = {};
  propagation.inject(from, headers);
  return headers['traceparent'] === undefined ? undefined : JSON.stringify(headers);
}

/** The context in an annotation's text; undefined when it is missing or malformed, which means a new root. */
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

import { TraceFlags, trace } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';
import { carrier } from '../traces/carrier.ts';
import { tracingState } from '../traces/tracing-state.ts';

/** Of a measured operation: where a click on its exemplar leads. */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId: string;
}

/** A measured operation. */
export interface Traced {
  /** Its span, or the one it belongs to. */
  readonly span: SpanContext | undefined;
  /** By the limit that decides about its trace (`isSlow`): whoever looks for the cause of a peak wants this one. */
  readonly isSlow: boolean;
}

/** The exemplar of an operation, if its trace is exported. That of a slow one then is, however it ends. */
export function exemplarOf({ span, isSlow }: Traced): Exemplar | undefined {
  if (span === undefined || (!isSampledIn(span) && !isSlow)) return undefined;
  if (!isSampledIn(span)) tracingState()?.decide(span.traceId, true);
  return { traceId: span.traceId, spanId: span.spanId };
}

/** The span that an object carries as the text of its annotation; undefined without one. */
export function carriedSpan(text: string | undefined): SpanContext | undefined {
  const context = carrier.extract(text);
  return context === undefined ? undefined : trace.getSpanContext(context);
}

/** The exemplar of what is measured inside a span. */
export function activeExemplar(): Exemplar | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  return span !== undefined && isSampledIn(span) ? { traceId: span.traceId, spanId: span.spanId } : undefined;
}

function isSampledIn({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

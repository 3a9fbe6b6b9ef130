import { TraceFlags, trace } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';
import { carrier } from '../traces/carrier.ts';
import { buildTracingState } from '../traces/tracing-state.ts';

/** The trace that an exemplar leads to. */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId: string;
}

/** A measured operation. */
export interface Traced {
  /** The span of the operation, or the one around it. */
  readonly span: SpanContext | undefined;
  /** By the limit that decides about its trace (`isSlow`): a slow operation explains a peak. */
  readonly isSlow: boolean;
}

/** The exemplar of an operation, if its trace is exported. For a slow operation the trace is then kept, however it ends. */
export function findExemplar({ span, isSlow }: Traced): Exemplar | undefined {
  if (span === undefined || (!isSampledIn(span) && !isSlow)) return undefined;
  if (!isSampledIn(span)) buildTracingState()?.decide(span.traceId, true);
  return { traceId: span.traceId, spanId: span.spanId };
}

/** The span in the annotation of an object; undefined without one. */
export function parseCarriedSpan(text: string | undefined): SpanContext | undefined {
  const context = carrier.extract(text);
  return context === undefined ? undefined : trace.getSpanContext(context);
}

/** The exemplar of a measurement inside a span. */
export function findActiveExemplar(): Exemplar | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  return span !== undefined && isSampledIn(span) ? { traceId: span.traceId, spanId: span.spanId } : undefined;
}

function isSampledIn({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

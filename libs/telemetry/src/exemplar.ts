import { TraceFlags, trace } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';
import { carrier } from './carrier.ts';
import { tracingState } from './tracing-state.ts';

/** Of a measured operation: where a click on its exemplar leads. */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId: string;
}

/** A measured operation whose trace travels with an object. */
export interface Traced {
  /** Text of the object's annotation. */
  readonly carried: string | undefined;
  /** By the limit that decides about its trace (`isSlow`): whoever looks for the cause of a peak wants this one. */
  readonly isSlow: boolean;
}

/** The exemplar of an operation, if its trace is exported. That of a slow one then is, however it ends. */
export function exemplarOf({ carried, isSlow }: Traced): Exemplar | undefined {
  const context = carrier.extract(carried);
  const span = context === undefined ? undefined : trace.getSpanContext(context);
  if (span === undefined || (!isSampledIn(span) && !isSlow)) return undefined;
  if (!isSampledIn(span)) tracingState()?.decide(span.traceId, true);
  return { traceId: span.traceId, spanId: span.spanId };
}

/** The exemplar of what is measured inside a span. */
export function activeExemplar(): Exemplar | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  return span !== undefined && isSampledIn(span) ? { traceId: span.traceId, spanId: span.spanId } : undefined;
}

function isSampledIn({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

import { TraceFlags } from '@opentelemetry/api';
import type { ExportResult } from '@opentelemetry/core';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Clock } from '@sandlot/std';
import { PatientExporter } from './patient-exporter.ts';

/**
 * Why spans were lost: the queue was full, the backend refused them or was away for too long, or no operation ever decided
 * about their unsampled trace.
 */
export const SPAN_LOSSES = ['queue_full', 'export_failed', 'undecided'] as const;
export type SpanLoss = (typeof SPAN_LOSSES)[number];

export interface SpanBufferOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  readonly maxQueueSize: number;
  /** Spans kept beside the queue while the backend is away. */
  readonly maxKeptSpans: number;
  readonly exportTimeoutMs: number;
  readonly onLost: (spans: number, reason: SpanLoss) => void;
}

/** Creates a batch processor that never blocks and counts every lost span. */
export function createSpanBuffer({
  maxQueueSize,
  exportTimeoutMs,
  onLost,
  maxKeptSpans,
  ...options
}: SpanBufferOptions): SpanProcessor {
  let queued = 0;
  const exporter = new PatientExporter({
    ...options,
    maxSpans: maxKeptSpans,
    onLost: (spans) => onLost(spans, 'export_failed'),
  });
  const counting: SpanExporter = {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
      queued -= spans.length;
      exporter.export(spans, done);
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor({ exporter: counting, maxQueueSize, exportTimeoutMillis: exportTimeoutMs });
  return {
    onStart: () => undefined,
    onEnd(span: ReadableSpan): void {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (queued >= maxQueueSize) {
        onLost(1, 'queue_full');
        return;
      }
      queued += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

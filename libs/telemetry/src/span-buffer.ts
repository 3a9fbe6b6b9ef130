import { TraceFlags } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';

/**
 * Why spans were lost: the queue was full, the backend did not take them, or nobody ever said whether a trace that was
 * not sampled is worth keeping.
 */
export const SPAN_LOSSES = ['queue_full', 'export_failed', 'undecided'] as const;
export type SpanLoss = (typeof SPAN_LOSSES)[number];

export interface SpanBufferOptions {
  readonly exporter: SpanExporter;
  readonly maxQueueSize: number;
  readonly exportTimeoutMs: number;
  readonly onLost: (spans: number, reason: SpanLoss) => void;
}

/** A batch processor that never blocks and accounts for every span it loses. */
export function createSpanBuffer({
  exporter,
  maxQueueSize,
  exportTimeoutMs,
  onLost,
}: SpanBufferOptions): SpanProcessor {
  let queued = 0;
  const counting: SpanExporter = {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
      queued -= spans.length;
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) onLost(spans.length, 'export_failed');
        done(result);
      });
    },
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

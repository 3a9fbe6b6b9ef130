import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { expect, it } from 'vitest';
import { spanNames, startTracing, withChildSpan, withSpan } from '../index.ts';

const nanoseconds = ([seconds, rest]: ReadableSpan['endTime']): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(rest);

it('a span never starts before or ends after the one around it, however short both are', async () => {
  const exporter = new InMemorySpanExporter();
  const tracing = startTracing({ service: 'test', exporter });
  for (let i = 0; i < 200; i += 1) {
    await withSpan({ name: spanNames.poolRefill }, () =>
      withChildSpan({ name: spanNames.claimBind }, () => new Promise((resolve) => setImmediate(() => resolve(i)))),
    );
  }
  await tracing.flush();
  const spans = exporter.getFinishedSpans();
  await tracing.shutDown();
  const outside = spans.filter((span) => {
    const around = spans.find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId);
    if (around === undefined) return false;
    const isEarly = nanoseconds(span.startTime) < nanoseconds(around.startTime);
    return isEarly || nanoseconds(span.endTime) > nanoseconds(around.endTime);
  });
  expect([spans.length, outside.length]).toEqual([400, 0]);
});

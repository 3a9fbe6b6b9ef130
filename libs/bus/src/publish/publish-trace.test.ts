import { SpanKind, context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutgoingEvent } from '../events/cloudevent.ts';
import { tracePublish } from './publish-trace.ts';

const poolReady: OutgoingEvent<'pool.ready'> = {
  type: 'pool.ready',
  id: 'u/pool.ready/1',
  timeMs: 0,
  data: { namespace: 'team-a', name: 'p', uid: 'u', desired: 1, ready: 1 },
};
const exporter = new InMemorySpanExporter();
const operation = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
const inOperation = <T>(fn: () => T): T => context.with(trace.setSpanContext(context.active(), operation), fn);

describe('tracePublish', () => {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  });
  beforeEach(() => exporter.reset());
  afterAll(() => {
    context.disable();
    propagation.disable();
    trace.disable();
  });

  it('creates a producer span in the trace of the caller and sends its context along', () => {
    const published = inOperation(() => tracePublish(poolReady));
    published.end();
    const [span] = exporter.getFinishedSpans();
    expect(span).toMatchObject({ name: 'publish sandlot.pool.ready', kind: SpanKind.PRODUCER });
    expect(span?.parentSpanContext?.spanId).toBe(operation.spanId);
    expect(span?.attributes).toMatchObject({
      'messaging.system': 'nats',
      'messaging.destination.template': 'sandlot.{namespace}.pool.ready',
    });
    expect(published.headers).toEqual({
      traceparent: `00-${operation.traceId}-${span?.spanContext().spanId ?? ''}-01`,
    });
  });

  it('ends the span of a dropped event as an error with its reason', () => {
    inOperation(() => tracePublish(poolReady)).end('buffer full');
    expect(exporter.getFinishedSpans()[0]?.status.message).toBe('buffer full');
  });

  it('starts no trace of its own', () => {
    const published = tracePublish(poolReady);
    published.end();
    expect(published.headers).toEqual({});
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

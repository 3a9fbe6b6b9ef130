import { ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { carrier, endOperation, isSampled, isSlow, linkTo, findOperation, recordSpan, startTracing } from '../index.ts';
import type { Operation, Tracing, TracingOptions } from '../index.ts';
import { getSpanId, buildTraceId } from './identity.ts';

const UID = '6f8a3f0e-8d2b-4c7e-9a53-0d1c2b3a4f5e';
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
/** A whole second: OpenTelemetry takes small numbers for `performance.now()`. */
const T = 1_700_000_000_000;
const T_SECONDS = T / 1_000;
const carried = JSON.stringify({ traceparent });

let tracing: Tracing | undefined;
afterEach(async () => {
  await tracing?.shutDown();
  tracing = undefined;
});

function start(options: Partial<TracingOptions> = {}): () => Promise<ReadableSpan[]> {
  const exporter = new InMemorySpanExporter();
  const started = startTracing({ service: 'test', exporter, ...options });
  tracing = started;
  return async () => {
    await started.flush();
    return exporter.getFinishedSpans();
  };
}

function operation(input: Partial<Parameters<typeof findOperation>[0]> = {}): Operation {
  const found = findOperation({ name: 'claim.create', uid: UID, ...input });
  if (found === undefined) throw new Error('tracing is off');
  return found;
}

describe('ids', () => {
  it('of a trace come from the object', () => {
    expect(buildTraceId(UID)).toBe('6f8a3f0e8d2b4c7e9a530d1c2b3a4f5e');
  });

  it('are valid for any UID, and differ for two operations on one object', () => {
    fc.assert(
      fc.property(fc.string(), (uid) => {
        const span = { traceId: buildTraceId(uid), spanId: getSpanId(uid, 'a'), traceFlags: 0 };
        expect(trace.isSpanContextValid(span)).toBe(true);
        expect(getSpanId(uid, 'b')).not.toBe(span.spanId);
      }),
    );
  });
});

describe('findOperation', () => {
  it('is undefined while tracing is off', () => {
    expect(findOperation({ name: 'claim.create', uid: UID })).toBeUndefined();
    expect(isSlow('warmMs', Infinity)).toBe(false);
  });

  it('continues the carried context as its child', () => {
    start();
    const found = operation({ carried });
    expect(found.span).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', traceFlags: TraceFlags.SAMPLED });
    expect(trace.getSpanContext(found.parent)?.spanId).toBe('b7ad6b7169203331');
  });

  it.each([undefined, 'not a trace'])('has a trace of its own when the object carries %s', (text) => {
    start();
    const found = operation({ carried: text });
    expect(found.span.traceId).toBe(buildTraceId(UID));
    expect(found.parent).toBe(ROOT_CONTEXT);
  });

  it('is the same in every process, also after its own context is written to the object', () => {
    start();
    const first = operation();
    const second = operation({ carried: carrier.inject(first.context) });
    expect(second.span).toMatchObject({ traceId: first.span.traceId, spanId: first.span.spanId });
    expect(second.parent).toBe(ROOT_CONTEXT);
  });

  it('has a new trace each time it happens', () => {
    start();
    const traces = ['1', '2'].map((marker) => operation({ name: 'sandbox.resume', marker }).span.traceId);
    expect(new Set([...traces, operation().span.traceId]).size).toBe(3);
  });

  it.each([
    ['sampled', '01', true],
    ['not sampled', '00', false],
  ])('is %s when its parent is, whatever the ratio says', (_, flags, expected) => {
    start({ sampleRatio: expected ? 0 : 1 });
    const text = JSON.stringify({ traceparent: traceparent.replace(/..$/, flags) });
    expect(isSampled(operation({ carried: text }))).toBe(expected);
  });

  it('passes its start time on and keeps the tracestate of others', () => {
    start();
    const text = JSON.stringify({ traceparent, tracestate: 'vendor=1' });
    const first = operation({ carried: text, startMs: 1_700_000_000_123.9 });
    const handedOn = carrier.inject(first.context);
    expect(operation({ uid: 'other', carried: handedOn }).carriedStartMs).toBe(1_700_000_000_123);
    expect(handedOn).toContain('vendor=1');
    expect(operation({ carried: JSON.stringify({ traceparent, tracestate: 'sandlot=x' }) }).carriedStartMs).toBe(
      undefined,
    );
  });
});

describe('spans of past work', () => {
  it('have their real times, under an operation whose span is created last', async () => {
    const spans = start();
    const op = operation({ carried });
    recordSpan({ name: 'pod.schedule', parent: op.context, startMs: T + 1_000, endMs: T + 2_500 });
    endOperation(op, {
      startMs: T + 500.5,
      endMs: T + 4_000,
      isSlow: false,
      links: linkTo(operation({ uid: 'pool-member' })),
    });
    const [child, root] = await spans();
    expect(child).toMatchObject({ startTime: [T_SECONDS + 1, 0], endTime: [T_SECONDS + 2, 500_000_000] });
    expect(child?.parentSpanContext?.spanId).toBe(root?.spanContext().spanId);
    expect(root).toMatchObject({
      name: 'claim.create',
      startTime: [T_SECONDS, 500_500_000],
      endTime: [T_SECONDS + 4, 0],
    });
    expect(root?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(root?.links[0]?.context.traceId).toBe(buildTraceId('pool-member'));
  });

  it('never end before they start', async () => {
    const spans = start();
    recordSpan({ name: 'image.pull', parent: operation().context, startMs: T + 2_000, endMs: T + 1_000 });
    expect((await spans())[0]).toMatchObject({ startTime: [T_SECONDS + 2, 0], endTime: [T_SECONDS + 2, 0] });
  });

  it.each([
    ['slow', { isSlow: true }, 2],
    ['failed', { isSlow: false, error: 'no warm sandbox' }, 2],
    ['neither', { isSlow: false }, 0],
  ])('of an unsampled operation that was %s are kept or dropped accordingly', async (_, ending, count) => {
    const spans = start({ sampleRatio: 0 });
    const op = operation();
    recordSpan({ name: 'pod.schedule', parent: op.context, startMs: T + 1_000, endMs: T + 2_000 });
    endOperation(op, { startMs: T, endMs: T + 3_000, ...ending });
    expect(await spans()).toHaveLength(count);
  });
});

import { ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { spanNames, startTracing, withChildSpan, withSpan } from '../index.ts';
import type { Tracing, TracingOptions } from '../index.ts';
import { tracer } from '../traces/spans.ts';
import { TailBuffer } from './tail-buffer.ts';
import { buildTracingState } from '../traces/tracing-state.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

let tracing: Tracing | undefined;
afterEach(async () => {
  await tracing?.shutDown();
  tracing = undefined;
});

function start(options: Partial<TracingOptions> = {}): { exported: () => Promise<string[]>; lost: string[] } {
  const exporter = new InMemorySpanExporter();
  const lost: string[] = [];
  const onLost = (spans: number, reason: string): number => lost.push(`${spans} ${reason}`);
  const started = startTracing({ service: 'test', exporter, sampleRatio: 0, onLost, ...options });
  tracing = started;
  const exported = async (): Promise<string[]> => {
    await started.flush();
    return exporter.getFinishedSpans().map(({ name }) => name);
  };
  return { exported, lost };
}

/** Ends a span of an unsampled trace. */
function unsampledSpan(traceId = TRACE_ID): void {
  const parent = { traceId, spanId: 'b7ad6b7169203331', traceFlags: TraceFlags.NONE };
  tracer().startSpan(spanNames.claimAdopt, {}, trace.setSpanContext(ROOT_CONTEXT, parent)).end();
}

/** A processor that accepts every span. */
function counting(): { readonly next: SpanProcessor } {
  const nothing = (): Promise<void> => Promise.resolve();
  return { next: { onStart: () => undefined, onEnd: () => undefined, forceFlush: nothing, shutdown: nothing } };
}

describe('an unsampled trace', () => {
  it.each([
    ['exported when it is worth keeping', true, ['claim.adopt', 'claim.adopt']],
    ['dropped when it is not', false, []],
  ])('is held until its operation ends, and %s, with what ends after it', async (_, keep, expected) => {
    const { exported } = start();
    unsampledSpan();
    expect(await exported()).toEqual([]);
    buildTracingState()?.decide(TRACE_ID, keep);
    unsampledSpan();
    expect(await exported()).toEqual(expected);
  });

  it('is exported a little later, in pieces, with the spans that end after the decision', async () => {
    const clock = new FakeClock();
    const left: number[] = [];
    const { next } = counting();
    const buffer = new TailBuffer({ next, clock, maxSpans: 1_000, onUndecided: () => undefined });
    for (let i = 0; i < 100; i += 1) buffer.hold(TRACE_ID, () => left.push(i));
    buffer.decide(TRACE_ID, true);
    buffer.hold(TRACE_ID, () => left.push(100));
    expect(left).toEqual([]);
    await clock.advance(2_000);
    expect(left).toHaveLength(64);
    await clock.advance(20);
    expect(left).toEqual(Array.from({ length: 101 }, (_, i) => i));
  });

  it('is exported at once when there is no more room', () => {
    const left: number[] = [];
    const { next } = counting();
    const buffer = new TailBuffer({ next, clock: new FakeClock(), maxSpans: 10, onUndecided: () => undefined });
    buffer.decide(TRACE_ID, true);
    for (let i = 0; i < 15; i += 1) buffer.hold(TRACE_ID, () => left.push(i));
    expect(left).toEqual([0, 1, 2, 3, 4]);
  });

  it.each(['forceFlush', 'shutdown'] as const)('is exported by %s', async (how) => {
    const left: number[] = [];
    const { next } = counting();
    const buffer = new TailBuffer({ next, clock: new FakeClock(), maxSpans: 10, onUndecided: () => undefined });
    buffer.decide(TRACE_ID, true);
    buffer.hold(TRACE_ID, () => left.push(1));
    await buffer[how]();
    expect(left).toEqual([1]);
  });

  it('stays kept when a later operation in it is fast and successful', async () => {
    const { exported } = start();
    buildTracingState()?.decide(TRACE_ID, true);
    buildTracingState()?.decide(TRACE_ID, false);
    unsampledSpan();
    expect(await exported()).toEqual(['claim.adopt']);
  });

  it('is dropped and counted, oldest first, when there is no room', async () => {
    const { exported, lost } = start({ maxHeldSpans: 3 });
    const traces = ['1', '2', '3', '4'].map((digit) => digit.repeat(32));
    for (const traceId of traces) unsampledSpan(traceId);
    expect(lost).toEqual(['1 undecided']);
    for (const traceId of traces) buildTracingState()?.decide(traceId, true);
    expect(await exported()).toHaveLength(3);
  });

  it('is dropped when no operation decides about it', async () => {
    const clock = new FakeClock();
    const { lost } = start({ clock });
    unsampledSpan('1'.repeat(32));
    await clock.advance(16 * 60_000);
    unsampledSpan('2'.repeat(32));
    expect(lost).toEqual(['1 undecided']);
  });

  it('never takes all the room', () => {
    const { lost } = start();
    for (let index = 0; index < 300; index += 1) unsampledSpan();
    expect(lost).toHaveLength(300 - 256);
  });
});

describe('work outside of an operation', () => {
  it('is exported with its children when it fails', async () => {
    const { exported } = start();
    const child = withChildSpan.bind(undefined, { name: spanNames.claimAdopt });
    await withSpan({ name: spanNames.poolRefill }, () => child(async () => undefined));
    const failing = withSpan({ name: spanNames.poolRefill }, () => child(async () => Promise.reject(new Error('no'))));
    await expect(failing).rejects.toThrow('no');
    expect(await exported()).toEqual(['claim.adopt', 'pool.refill']);
  });

  it('is exported when it is slow', async () => {
    const { exported } = start({ slow: { warmMs: 0, coldMs: 0 } });
    await withSpan({ name: spanNames.poolRefill }, async () => undefined);
    expect(await exported()).toEqual(['pool.refill']);
  });
});

describe('withChildSpan', () => {
  it('creates no span outside of an operation', async () => {
    const { exported } = start({ sampleRatio: 1 });
    await withChildSpan({ name: spanNames.claimAdopt }, async (span) => expect(span.isRecording()).toBe(false));
    expect(await exported()).toEqual([]);
  });
});

import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, it } from 'vitest';
import { parseCarriedSpan, findExemplar } from './exemplar.ts';
import { carrier, endOperation, findOperation, startTracing } from '../index.ts';
import type { Tracing } from '../index.ts';

const UID = '6f8a3f0e-8d2b-4c7e-9a53-0d1c2b3a4f5e';
const T = 1_700_000_000_000;

let tracing: Tracing | undefined;
afterEach(async () => {
  await tracing?.shutDown();
  tracing = undefined;
});

/** Measures and ends an operation; returns its exported spans. */
async function measured({ sampleRatio, isSlow }: { sampleRatio: number; isSlow: boolean }) {
  const exporter = new InMemorySpanExporter();
  tracing = startTracing({ service: 'test', exporter, sampleRatio });
  const operation = findOperation({ name: 'claim.create', uid: UID });
  if (operation === undefined) throw new Error('tracing is off');
  const exemplar = findExemplar({ span: parseCarriedSpan(carrier.inject(operation.context)), isSlow });
  endOperation(operation, { startMs: T, endMs: T + 1, isSlow: false });
  await tracing.flush();
  return { exemplar, exported: exporter.getFinishedSpans().map((span) => span.spanContext()), span: operation.span };
}

describe('the exemplar of an operation', () => {
  it('is its span when its trace is sampled', async () => {
    const { exemplar, exported, span } = await measured({ sampleRatio: 1, isSlow: false });
    expect(exemplar).toEqual({ traceId: span.traceId, spanId: span.spanId });
    expect(exported).toMatchObject([exemplar]);
  });

  it('is absent when its trace is neither sampled nor slow', async () => {
    const { exemplar, exported } = await measured({ sampleRatio: 0, isSlow: false });
    expect(exemplar).toBeUndefined();
    expect(exported).toEqual([]);
  });

  it('of a slow operation leads to an exported trace, however the operation ends', async () => {
    const { exemplar, exported, span } = await measured({ sampleRatio: 0, isSlow: true });
    expect(exemplar).toEqual({ traceId: span.traceId, spanId: span.spanId });
    expect(exported).toMatchObject([exemplar]);
  });

  it.each([undefined, 'not a trace'])('of an object that carries %s is absent', (carried) => {
    expect(findExemplar({ span: parseCarriedSpan(carried), isSlow: true })).toBeUndefined();
  });
});

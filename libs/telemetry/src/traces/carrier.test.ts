import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';
import { TraceState } from '@opentelemetry/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { carrier } from './carrier.ts';
import { startTracing } from './tracing.ts';
import type { Tracing } from './tracing.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;
const within = (extra: object = {}): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, ...extra });

describe('carrier', () => {
  let tracing: Tracing;
  beforeAll(() => {
    tracing = startTracing({ service: 'test' });
  });
  afterAll(() => tracing.shutDown());

  it('writes a JSON map with traceparent', () => {
    expect(JSON.parse(carrier.inject(within()) ?? '')).toEqual({ traceparent });
  });

  it('carries tracestate too', () => {
    const text = carrier.inject(within({ traceState: new TraceState('vendor=1') }));
    expect(JSON.parse(text ?? '')).toEqual({ traceparent, tracestate: 'vendor=1' });
  });

  it('returns undefined outside a trace', () => {
    expect(carrier.inject(ROOT_CONTEXT)).toBeUndefined();
  });

  it('reads back what it wrote, as a remote parent', () => {
    const extracted = carrier.extract(carrier.inject(within()));
    expect(extracted && trace.getSpanContext(extracted)).toMatchObject({ traceId, spanId, isRemote: true });
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', 'traceparent'],
    ['a bare header', traceparent],
    ['null', 'null'],
    ['a list', `["${traceparent}"]`],
    ['a map without traceparent', '{"tracestate":"a=b"}'],
    ['a traceparent that is no text', '{"traceparent":1}'],
    ['an invalid trace id', `{"traceparent":"00-${'0'.repeat(32)}-${spanId}-01"}`],
    ['a cut traceparent', '{"traceparent":"00-0af7"}'],
    ['more text than a carrier has', JSON.stringify({ traceparent, tracestate: `a=${'x'.repeat(3_000)}` })],
  ])('ignores %s', (_what, text) => {
    expect(carrier.extract(text)).toBeUndefined();
  });

  it('never throws, whatever an annotation holds', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(carrier.extract(text)).toBeUndefined();
      }),
    );
  });

  it('ignores baggage', () => {
    const text = JSON.stringify({ traceparent, baggage: 'user=1' });
    expect(JSON.parse(carrier.inject(carrier.extract(text)) ?? '')).toEqual({ traceparent });
  });
});

import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterEach, expect, it } from 'vitest';
import { endOperation, runInContext, linkActiveSpan, findOperation, startTracing, withChildSpan } from '../index.ts';
import type { Operation, Tracing } from '../index.ts';

const UID = '6f8a3f0e-8d2b-4c7e-9a53-0d1c2b3a4f5e';
const T = 1_700_000_000_000;

let tracing: Tracing | undefined;
afterEach(async () => {
  await tracing?.shutDown();
  tracing = undefined;
});

function operation(uid: string): Operation {
  const found = findOperation({ name: 'claim.create', uid });
  if (found === undefined) throw new Error('tracing is off');
  return found;
}

/** Creates a failed operation with every feature of our spans. */
async function failed(sampleRatio: number): Promise<readonly ReadableSpan[]> {
  const exporter = new InMemorySpanExporter();
  const started = startTracing({ service: 'test', exporter, sampleRatio });
  tracing = started;
  const whole = operation(UID);
  await runInContext(whole.context, async () => {
    await withChildSpan({ name: 'claim.bind', attributes: { 'sandlot.pool': 'boxes' } }, async (span) => {
      span.setAttribute('sandlot.adopt.attempts', 2).setAttributes({ 'sandlot.cause': 'User' });
      linkActiveSpan(() => operation('another'));
      const child = withChildSpan({ name: 'claim.adopt' }, async () => Promise.reject(new Error('taken')));
      await child.catch(() => undefined);
    });
  });
  endOperation(whole, { startMs: T, endMs: T + 5, error: 'no stock', isSlow: false });
  await started.flush();
  const spans = [...exporter.getFinishedSpans()];
  await started.shutDown();
  return spans;
}

/** The exported spans with names in place of random ids. */
function getShape(spans: readonly ReadableSpan[]) {
  const getName = (spanId = ''): string | undefined =>
    spans.find((span) => span.spanContext().spanId === spanId)?.name ?? (spanId === '' ? undefined : spanId);
  return spans
    .map((span) => ({
      name: span.name,
      attributes: span.attributes,
      status: span.status,
      links: span.links.map(({ context }) => context.spanId),
      events: span.events.map(({ name, attributes }) => [name, attributes?.['exception.message']]),
      parent: getName(span.parentSpanContext?.spanId),
      traceId: span.spanContext().traceId,
      flags: span.spanContext().traceFlags,
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

it('a kept unsampled trace equals a sampled one', async () => {
  const [sampled, held] = [await failed(1), await failed(0)];
  expect(sampled).toHaveLength(3);
  expect(getShape(held)).toEqual(getShape(sampled));
});

it('its spans keep their own start and end times', async () => {
  const spans = await failed(0);
  const ms = ([seconds, nanos]: readonly [number, number]): number => seconds * 1_000 + nanos / 1e6;
  const [bind = [], adopt = []] = ['claim.bind', 'claim.adopt'].map((wanted) =>
    spans.filter(({ name }) => name === wanted).flatMap(({ startTime, endTime }) => [ms(startTime), ms(endTime)]),
  );
  const inOrder = [bind[0], adopt[0], adopt[1], bind[1]];
  expect(inOrder).toEqual(inOrder.toSorted((a = NaN, b = NaN) => a - b));
  expect(inOrder.every((time = NaN) => time > T)).toBe(true);
});

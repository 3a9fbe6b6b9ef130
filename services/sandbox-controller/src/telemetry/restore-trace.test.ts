import { annotations } from '@sandlot/api-types';
import { startTracing, withSpan } from '@sandlot/telemetry';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Tracing } from '@sandlot/telemetry';
import { InMemorySpanExporter } from '@sandlot/telemetry/testing';
import { withRestoreTrace } from './restore-trace.ts';

let tracing: Tracing;
beforeAll(() => {
  tracing = startTracing({ service: 'test', exporter: new InMemorySpanExporter() });
});
afterAll(() => tracing.shutDown());

const podWith = (notes: Record<string, string>) => ({ metadata: { annotations: notes }, spec: { containers: [] } });
const marked = podWith({ [annotations.restoreSnapshot]: 'uid' });

it('gives a Pod that is to be restored the trace of the pass', async () => {
  const [pod, traceId] = await withSpan({ name: 'sandbox.resume' }, (span) =>
    Promise.resolve([withRestoreTrace(marked), span.spanContext().traceId] as const),
  );
  expect(pod.metadata.annotations?.[annotations.restoreTrace]).toContain(traceId);
  expect(pod.metadata.annotations?.[annotations.restoreSnapshot]).toBe('uid');
});

it('leaves other Pods, and passes without a trace, as they are', async () => {
  expect(withRestoreTrace(marked)).toBe(marked);
  const other = podWith({ note: 'mine' });
  expect(await withSpan({ name: 'sandbox.resume' }, () => Promise.resolve(withRestoreTrace(other)))).toBe(other);
});

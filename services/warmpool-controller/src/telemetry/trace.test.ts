import { pool, sandbox, template } from '@sandlot/api-types/testing';
import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { InMemorySpanExporter } from '@sandlot/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inRefill, linkToMember } from './trace.ts';

const UID = '6f8a3f0e-8d2b-4c7e-9a53-0d1c2b3a4f5e';
const refill = { pool: pool(), template: template(), count: 2 };

let exporter: InMemorySpanExporter;
let tracing: Tracing;
beforeEach(() => {
  exporter = new InMemorySpanExporter();
  tracing = startTracing({ service: 'test', exporter, sampleRatio: 0 });
});
afterEach(() => tracing.shutdown());

describe('a refill', () => {
  it('that fails is told, with the members that it made before, and gives its result', async () => {
    const failure = new Error('quota');
    const result = await inRefill(refill, async () => {
      linkToMember(sandbox({ metadata: { uid: UID } }));
      return { asked: 2, failure };
    });
    expect(result).toEqual({ asked: 2, failure });
    await tracing.flush();
    const [span, ...more] = exporter.getFinishedSpans();
    expect(more).toEqual([]);
    expect(span).toMatchObject({ name: 'pool.refill', status: { message: 'quota' } });
    expect(span?.attributes).toMatchObject({ 'sandlot.count': 2 });
    expect(span?.links.map(({ context }) => context.traceId)).toEqual([UID.replaceAll('-', '')]);
  });

  it('that is quick and goes well is told only as often as is sampled', async () => {
    await inRefill(refill, async () => ({ asked: 2 }));
    await tracing.flush();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('throws what was thrown', async () => {
    await expect(inRefill(refill, () => Promise.reject(new Error('aborted')))).rejects.toThrow('aborted');
  });
});

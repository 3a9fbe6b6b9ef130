import { pool, sandbox, template } from '@sandlot/api-types/testing';
import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { InMemorySpanExporter } from '@sandlot/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { traceRefill, linkToMember } from './trace.ts';

const UID = '6f8a3f0e-8d2b-4c7e-9a53-0d1c2b3a4f5e';
const refill = { pool: pool(), template: template(), count: 2 };

let exporter: InMemorySpanExporter;
let tracing: Tracing;
beforeEach(() => {
  exporter = new InMemorySpanExporter();
  tracing = startTracing({ service: 'test', exporter, sampleRatio: 0 });
});
afterEach(() => tracing.shutDown());

describe('the trace of a refill', () => {
  it('is exported when the refill fails, with links to the members created before, and returns the result', async () => {
    const failure = new Error('quota');
    const result = await traceRefill(refill, async () => {
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

  it('is sampled when the refill succeeds', async () => {
    await traceRefill(refill, async () => ({ asked: 2 }));
    await tracing.flush();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('rethrows an error of the work', async () => {
    await expect(traceRefill(refill, () => Promise.reject(new Error('aborted')))).rejects.toThrow('aborted');
  });
});

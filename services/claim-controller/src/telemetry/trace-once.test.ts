import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { InMemorySpanExporter } from '@sandlot/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

let exporter: InMemorySpanExporter;
let tracing: Tracing;
beforeEach(() => {
  exporter = new InMemorySpanExporter();
  tracing = startTracing({ service: 'test', exporter });
});
afterEach(() => tracing.shutDown());

/** Ids and status codes of all spans `claim.create` so far. */
async function roots(): Promise<{ spanId: string; code: number }[]> {
  await tracing.flush();
  const found = exporter.getFinishedSpans().filter(({ name }) => name === 'claim.create');
  return found.map((span) => ({ spanId: span.spanContext().spanId, code: span.status.code }));
}

const getNotes = (harness: ClaimHarness): number => Object.keys(harness.getAnnotations('job')).length;

describe('the span of a claim', () => {
  it('is recorded once, even when another process takes over afterwards', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const first = harness.startController();
    harness.claim('job');
    await harness.eventually(() => expect(getNotes(harness)).toBeGreaterThan(3));
    await harness.elapse(100);
    await harness.kill(first);
    harness.startController();
    await harness.watching();
    await harness.elapse(2_000);
    expect(await roots()).toMatchObject([{ code: 0 }]);
  });

  it('is the same when the process dies before it annotates the claim', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const noted = harness.failBookkeeping();
    const first = harness.startController();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.kill(first);
    noted.end();
    harness.startController();
    await harness.eventually(() => expect(getNotes(harness)).toBeGreaterThan(3));
    await harness.elapse(500);
    const ids = (await roots()).map(({ spanId }) => spanId);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(1);
  });

  it('is recorded once, as a failure, when the claim is refused', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController();
    harness.claim('job', { inplaceUpdate: { image: 'forbidden' } });
    await harness.eventually(() => expect(harness.getStatus('job').phase).toBe('Failed'));
    await harness.elapse(2_000);
    expect(await roots()).toMatchObject([{ code: 2 }]);
  });
});

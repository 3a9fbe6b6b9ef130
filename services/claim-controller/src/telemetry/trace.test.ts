import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const TRACE = 'opentelemetry.io/trace-context';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;

/** Accepts every span and drops it. */
const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
let tracing: Tracing;
beforeAll(() => new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve)));
beforeEach(() => {
  const { port } = collector.address() as AddressInfo;
  tracing = startTracing({ service: 'test', endpoint: `http://127.0.0.1:${port}` });
});
afterEach(() => tracing.shutDown());
afterAll(() => {
  collector.closeAllConnections();
  collector.close();
});

/** The parsed `traceparent` of an annotation. */
function buildParts(text: string | undefined): { traceId: string; spanId: string } {
  const { traceparent: value = '' } = JSON.parse(text ?? '{}') as { traceparent?: string };
  const [, traceId = '', spanId = ''] = value.split('-');
  return { traceId, spanId };
}

describe.each([
  ['warm', 1],
  ['cold', 0],
] as const)('the trace of a %s bind', (_, members) => {
  async function bind(
    annotation: string | undefined,
  ): Promise<{ claim: string | undefined; sandbox: string | undefined }> {
    await using harness = await ClaimHarness.start({ members });
    harness.makeAllReady();
    harness.startController();
    harness.claim('job', {}, annotation === undefined ? {} : { [TRACE]: annotation });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() => expect(Object.keys(harness.getAnnotations('job')).length).toBeGreaterThan(3));
    const sandbox = harness.sandbox(harness.getStatus('job').sandbox?.name ?? '');
    return { claim: harness.getAnnotations('job')[TRACE], sandbox: sandbox?.metadata.annotations?.[TRACE] };
  }

  it('continues from the claim through the bind to its Sandbox', async () => {
    const { claim, sandbox } = await bind(JSON.stringify({ traceparent }));
    expect(claim).toBe(JSON.stringify({ traceparent }));
    expect(buildParts(sandbox).traceId).toBe(TRACE_ID);
    expect(buildParts(sandbox).spanId).not.toBe(buildParts(claim).spanId);
  });

  it.each([
    ['is missing', undefined],
    ['is malformed', 'not a trace'],
  ])('starts when the claim’s annotation %s, and both objects carry it', async (__, annotation) => {
    const { claim, sandbox } = await bind(annotation);
    expect(buildParts(sandbox).traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(claim).toBe(sandbox);
  });
});

describe('a trace that is not sampled', () => {
  /** The annotations of claim and Sandbox once the claim is served. */
  async function served(members: number, annotation?: string) {
    await tracing.shutDown();
    const { port } = collector.address() as AddressInfo;
    tracing = startTracing({ service: 'test', endpoint: `http://127.0.0.1:${port}`, sampleRatio: 0 });
    await using harness = await ClaimHarness.start({ members });
    harness.makeAllReady();
    harness.startController();
    harness.claim('job', {}, annotation === undefined ? {} : { [TRACE]: annotation });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() => expect(Object.keys(harness.getAnnotations('job')).length).toBeGreaterThan(3));
    const sandbox = harness.sandbox(harness.getStatus('job').sandbox?.name ?? '');
    return { claim: harness.getAnnotations('job')[TRACE], sandbox: sandbox?.metadata.annotations?.[TRACE] };
  }

  it('stays on the claim, since no other process takes part in the adoption', async () => {
    const { claim, sandbox } = await served(1);
    expect(buildParts(claim).traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(sandbox).toBeUndefined();
  });

  it('reaches a Sandbox that starts for the claim, since others record its start', async () => {
    const { claim, sandbox } = await served(0);
    expect(buildParts(sandbox).traceId).toBe(buildParts(claim).traceId);
  });

  it('reaches a warm Sandbox when a client began it', async () => {
    const { sandbox } = await served(1, JSON.stringify({ traceparent: traceparent.replace(/01$/, '00') }));
    expect(buildParts(sandbox).traceId).toBe(TRACE_ID);
  });
});

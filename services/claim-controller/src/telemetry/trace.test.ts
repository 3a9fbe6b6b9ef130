import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const TRACE = 'opentelemetry.io/trace-context';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;

/** Takes every span and keeps none. */
const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
let tracing: Tracing;
beforeAll(() => new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve)));
beforeEach(() => {
  const { port } = collector.address() as AddressInfo;
  tracing = startTracing({ service: 'test', endpoint: `http://127.0.0.1:${port}` });
});
afterEach(() => tracing.shutdown());
afterAll(() => {
  collector.closeAllConnections();
  collector.close();
});

/** `traceparent` of an annotation, taken apart. */
function partsOf(text: string | undefined): { traceId: string; spanId: string } {
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
    await using world = await ClaimWorld.start({ members });
    world.makeAllReady();
    world.startController();
    world.claim('job', {}, annotation === undefined ? {} : { [TRACE]: annotation });
    await world.eventually(() => expect(Object.keys(world.annotationsOf('job')).length).toBeGreaterThan(3));
    const sandbox = world.sandbox(world.statusOf('job').sandbox?.name ?? '');
    return { claim: world.annotationsOf('job')[TRACE], sandbox: sandbox?.metadata.annotations?.[TRACE] };
  }

  it('goes on from the claim to its Sandbox, by way of the bind', async () => {
    const { claim, sandbox } = await bind(JSON.stringify({ traceparent }));
    expect(claim).toBe(JSON.stringify({ traceparent }));
    expect(partsOf(sandbox).traceId).toBe(TRACE_ID);
    expect(partsOf(sandbox).spanId).not.toBe(partsOf(claim).spanId);
  });

  it.each([
    ['is missing', undefined],
    ['is malformed', 'not a trace'],
  ])('begins anew where the one of the claim %s, and both objects carry it', async (__, annotation) => {
    const { claim, sandbox } = await bind(annotation);
    expect(partsOf(sandbox).traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(claim).toBe(sandbox);
  });
});

describe('a trace that is not sampled', () => {
  /** What claim and Sandbox carry once the claim is served. */
  async function served(members: number, annotation?: string) {
    await tracing.shutdown();
    const { port } = collector.address() as AddressInfo;
    tracing = startTracing({ service: 'test', endpoint: `http://127.0.0.1:${port}`, sampleRatio: 0 });
    await using world = await ClaimWorld.start({ members });
    world.makeAllReady();
    world.startController();
    world.claim('job', {}, annotation === undefined ? {} : { [TRACE]: annotation });
    await world.eventually(() => expect(Object.keys(world.annotationsOf('job')).length).toBeGreaterThan(3));
    const sandbox = world.sandbox(world.statusOf('job').sandbox?.name ?? '');
    return { claim: world.annotationsOf('job')[TRACE], sandbox: sandbox?.metadata.annotations?.[TRACE] };
  }

  it('stays on the claim, as nobody else has a part in the adoption', async () => {
    const { claim, sandbox } = await served(1);
    expect(partsOf(claim).traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(sandbox).toBeUndefined();
  });

  it('goes on to a Sandbox that is started for the claim, as others tell of its start', async () => {
    const { claim, sandbox } = await served(0);
    expect(partsOf(sandbox).traceId).toBe(partsOf(claim).traceId);
  });

  it('goes on to a warm Sandbox when a client began it', async () => {
    const { sandbox } = await served(1, JSON.stringify({ traceparent: traceparent.replace(/01$/, '00') }));
    expect(partsOf(sandbox).traceId).toBe(TRACE_ID);
  });
});

import { fetchTrace, startTraceBackend } from '@sandlot/local-cluster';
import type { ReceivedSpan, TraceBackend } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import type { Echo } from '../../test/client.ts';
import { GatewayHarness, eventually } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const CLIENT_SPAN = 'b7ad6b7169203331';

let harness: GatewayHarness;
let backend: TraceBackend;
let sandbox: TestSandbox;
beforeAll(async () => {
  backend = await startTraceBackend();
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: backend.otlpEndpoint, TRACE_SAMPLE_RATIO: '0' };
  harness = await GatewayHarness.start({ ...tracing, CLIENT_TRACES: 'parent', HOLD_TIMEOUT: '300ms' });
  sandbox = await harness.createSandbox();
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await backend.stop();
});

/** Sends a request as part of a trace that the client samples or not. */
function askTraced(of: TestSandbox, traceId: string, sampled: '00' | '01' = '01') {
  const headers = { Host: harness.buildHost(of, 8080), traceparent: `00-${traceId}-${CLIENT_SPAN}-${sampled}` };
  return ask(harness.port, { headers });
}

const fetchSpans = (traceId: string): Promise<readonly ReceivedSpan[]> => fetchTrace(backend.url, traceId);

async function waitForSpan(traceId: string, name: string): Promise<ReceivedSpan | undefined> {
  let found: ReceivedSpan | undefined;
  await eventually(async () => {
    found = (await fetchSpans(traceId)).find((span) => span.name === name);
    return found !== undefined;
  });
  return found;
}

describe('spans of the gateway with CLIENT_TRACES=parent', () => {
  it('are recorded for each request of a sampled trace, with the status, and the sandbox gets the trace context', async () => {
    await startSandboxServer(sandbox.address, echo);
    const traceId = '1'.repeat(32);
    const reply = await askTraced(sandbox, traceId);
    expect((reply.json as Echo).headers['traceparent']).toBe(`00-${traceId}-${CLIENT_SPAN}-01`);
    expect(await waitForSpan(traceId, 'gateway.request')).toMatchObject({
      service: 'gateway',
      parentSpanId: CLIENT_SPAN,
      attributes: { 'http.response.status_code': 200 },
      status: 'unset',
    });
  });

  it('have the status error when the request failed', async () => {
    const traceId = '2'.repeat(32);
    expect((await askTraced(await harness.createSandbox(), traceId)).status).toBe(502);
    expect(await waitForSpan(traceId, 'gateway.request')).toMatchObject({
      attributes: { 'http.response.status_code': 502 },
      status: 'error',
      statusMessage: 'answered by 502',
    });
  });

  it('include the wait for the sandbox', async () => {
    const starting = await harness.createSandbox({ ready: false });
    const traceId = '3'.repeat(32);
    expect((await askTraced(starting, traceId)).status).toBe(409);
    const wait = await waitForSpan(traceId, 'gateway.wait');
    const whole = await waitForSpan(traceId, 'gateway.request');
    expect([wait?.parentSpanId, whole?.parentSpanId]).toEqual([CLIENT_SPAN, CLIENT_SPAN]);
  });

  it('are not recorded without a sampled trace', async () => {
    await startSandboxServer(sandbox.address, echo);
    const [unkept, kept] = ['4'.repeat(32), '5'.repeat(32)];
    await askTraced(sandbox, unkept, '00');
    await ask(harness.port, { headers: { Host: harness.buildHost(sandbox, 8080) } });
    // Spans are exported in order: when the last one is there, an earlier one would be too.
    await askTraced(sandbox, kept);
    await waitForSpan(kept, 'gateway.request');
    expect(await fetchSpans(unkept)).toEqual([]);
  });
});

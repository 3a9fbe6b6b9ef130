import { receivedTrace, startTraceBackend } from '@sandlot/local-cluster';
import type { ReceivedSpan, TraceBackend } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, startTenant } from '../../test/client.ts';
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

/** One request on behalf of a trace, which the client keeps or does not. */
function asked(of: TestSandbox, traceId: string, sampled: '00' | '01' = '01') {
  const headers = { Host: harness.hostOf(of, 8080), traceparent: `00-${traceId}-${CLIENT_SPAN}-${sampled}` };
  return ask(harness.port, { headers });
}

const traceOf = (traceId: string): Promise<readonly ReceivedSpan[]> => receivedTrace(backend.url, traceId);

async function arrived(traceId: string, name: string): Promise<ReceivedSpan | undefined> {
  let found: ReceivedSpan | undefined;
  await eventually(async () => {
    found = (await traceOf(traceId)).find((span) => span.name === name);
    return found !== undefined;
  });
  return found;
}

describe('spans of the gateway, where clients may be parents', () => {
  it('are one for each request of a trace that its client keeps, with the status, and the sandbox sees the trace', async () => {
    await startTenant(sandbox.address, echo);
    const traceId = '1'.repeat(32);
    const reply = await asked(sandbox, traceId);
    expect((reply.json as Echo).headers['traceparent']).toBe(`00-${traceId}-${CLIENT_SPAN}-01`);
    expect(await arrived(traceId, 'gateway.request')).toMatchObject({
      service: 'gateway',
      parentSpanId: CLIENT_SPAN,
      attributes: { 'http.response.status_code': 200 },
      status: 'unset',
    });
  });

  it('say that a request failed, and how', async () => {
    const traceId = '2'.repeat(32);
    expect((await asked(await harness.createSandbox(), traceId)).status).toBe(502);
    expect(await arrived(traceId, 'gateway.request')).toMatchObject({
      attributes: { 'http.response.status_code': 502 },
      status: 'error',
      statusMessage: 'answered by 502',
    });
  });

  it('show how long a request waited for its sandbox', async () => {
    const starting = await harness.createSandbox({ ready: false });
    const traceId = '3'.repeat(32);
    expect((await asked(starting, traceId)).status).toBe(409);
    const wait = await arrived(traceId, 'gateway.wait');
    const whole = await arrived(traceId, 'gateway.request');
    expect([wait?.parentSpanId, whole?.parentSpanId]).toEqual([CLIENT_SPAN, CLIENT_SPAN]);
  });

  it('are none for a trace that its client does not keep, nor for a request without one', async () => {
    await startTenant(sandbox.address, echo);
    const [unkept, kept] = ['4'.repeat(32), '5'.repeat(32)];
    await asked(sandbox, unkept, '00');
    await ask(harness.port, { headers: { Host: harness.hostOf(sandbox, 8080) } });
    // What is exported after it shows that it was not held back.
    await asked(sandbox, kept);
    await arrived(kept, 'gateway.request');
    expect(await traceOf(unkept)).toEqual([]);
  });
});

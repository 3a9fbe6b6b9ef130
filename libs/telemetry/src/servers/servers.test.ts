import { context, trace } from '@opentelemetry/api';
import { Counter } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  parseCarriedSpan,
  createBusMetrics,
  createLatencyHistogram,
  createMetrics,
  serveProbes,
  startTracing,
} from '../index.ts';
import type { HttpListener, Tracing } from '../index.ts';

const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5';
const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };

let listener: HttpListener | undefined;
afterEach(() => listener?.close());

async function get(path: string, accept = '*/*') {
  const response = await fetch(`http://127.0.0.1:${listener?.port ?? 0}${path}`, { headers: { accept } });
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() };
}

describe('serveProbes', () => {
  const broken = (): boolean => {
    throw new Error('broken');
  };

  it.each([
    ['/livez', true, false, 200],
    ['/healthz', true, false, 200],
    ['/readyz', true, false, 503],
    ['/livez', false, true, 503],
    ['/healthz?verbose', false, true, 503],
    ['/readyz', false, true, 200],
    ['/metrics', true, true, 404],
    ['/toString', true, true, 404],
  ])('answers %s with live=%s ready=%s by %i', async (...[path, live, ready, status]) => {
    listener = await serveProbes({ port: 0, isLive: () => live, isReady: () => ready });
    expect((await get(path)).status).toBe(status);
  });

  it('treats a check that throws as failed', async () => {
    listener = await serveProbes({ port: 0, isLive: broken, isReady: broken });
    expect(await get('/readyz')).toMatchObject({ status: 503, body: 'not ok\n' });
  });

  it('adds remarks to the answer of /readyz alone, and keeps its status', async () => {
    const listRemarks = (): readonly string[] => ['namespace team-b is not served'];
    listener = await serveProbes({ port: 0, isLive: () => true, isReady: () => true, listRemarks });
    expect(await get('/readyz')).toMatchObject({ status: 200, body: 'ok\nnamespace team-b is not served\n' });
    expect(await get('/livez')).toMatchObject({ status: 200, body: 'ok\n' });
  });

  it('rejects when the port is taken', async () => {
    listener = await serveProbes({ port: 0, host: '127.0.0.1', isLive: () => true, isReady: () => true });
    const again = serveProbes({ port: listener.port, host: '127.0.0.1', isLive: () => true, isReady: () => true });
    await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('can be closed twice and refuses connections afterwards', async () => {
    listener = await serveProbes({ port: 0, isLive: () => true, isReady: () => true });
    await get('/livez');
    await Promise.all([listener.close(), listener.close()]);
    await expect(get('/livez')).rejects.toThrow('fetch failed');
  });
});

describe('metrics', () => {
  let tracing: Tracing;
  beforeAll(() => {
    tracing = startTracing({ service: 'test' });
  });
  afterAll(() => tracing.shutDown());

  async function serveAll() {
    const metrics = createMetrics({ build: { version: '0.1.0', commit: 'abc', date: '2030-01-01T00:00:00Z' } });
    const bind = createLatencyHistogram({
      registry: metrics.registry,
      name: 'sandlot_claim_bind_seconds',
      help: 'Time from first sight of a claim to its binding.',
      labelNames: ['path'],
    });
    createBusMetrics(metrics.registry).countHint('claim.bound', 'handled');
    listener = await metrics.serve({ port: 0 });
    return { metrics, bind };
  }

  it('puts the trace of an observation on the wire as an exemplar', async () => {
    const { bind } = await serveAll();
    context.with(trace.setSpanContext(context.active(), span), () => bind.observe({ path: 'warm' }, 0.004));
    bind.observe({ path: 'warm' }, 0.2);
    const { type, body } = await get('/metrics', OPEN_METRICS);
    expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(body).toContain(
      `sandlot_claim_bind_seconds_bucket{le="0.005",path="warm"} 1 # {trace_id="${span.traceId}",span_id="${span.spanId}"} 0.004 `,
    );
    expect(body).toMatch(/_bucket\{le="0\.25",path="warm"\} 2\n/);
    expect(body.endsWith('# EOF\n')).toBe(true);
  });

  it('has no exemplar for an unsampled span', async () => {
    const { bind } = await serveAll();
    const unsampled = { ...span, traceFlags: 0 };
    context.with(trace.setSpanContext(context.active(), unsampled), () => bind.observe({ path: 'warm' }, 0.004));
    expect((await get('/metrics', OPEN_METRICS)).body).not.toContain('trace_id=');
  });

  it('takes the exemplar from the trace that an object carries, and ignores a malformed carrier', async () => {
    const { bind } = await serveAll();
    const traceparent = `00-${span.traceId}-${span.spanId}-01`;
    bind.observeTraced({ path: 'warm' }, 0.004, {
      span: parseCarriedSpan(JSON.stringify({ traceparent })),
      isSlow: false,
    });
    bind.observeTraced({ path: 'cold' }, 0.004, { span: parseCarriedSpan('no carrier'), isSlow: false });
    bind.observeTraced({ path: 'cold' }, 0.004, { span: undefined, isSlow: true });
    const { body } = await get('/metrics', OPEN_METRICS);
    expect(body).toContain(`{le="0.005",path="warm"} 1 # {trace_id="${span.traceId}"`);
    expect(body).toContain('{le="0.005",path="cold"} 2\n');
  });

  it('keeps the names of counters when scrapers of both formats take turns', async () => {
    const { metrics } = await serveAll();
    new Counter({ name: 'sandlot_things_total', help: 'Things.', registers: [metrics.registry] }).inc(2);
    const answers = await Promise.all([1, 2, 3, 4].map((n) => get('/metrics', n % 2 === 0 ? OPEN_METRICS : '*/*')));
    for (const { body } of answers) expect(body).toMatch(/^sandlot_things_total 2$/m);
    expect(answers.map(({ type }) => type?.split(';')[0])).toEqual([
      'text/plain',
      'application/openmetrics-text',
      'text/plain',
      'application/openmetrics-text',
    ]);
    expect(answers[0]?.body).toContain('# TYPE sandlot_things_total counter');
    expect(answers[3]?.body).toContain('# TYPE sandlot_things counter');
  });

  it('serves build information, the process, the bus and lost spans from the first scrape', async () => {
    await serveAll();
    const { body } = await get('/metrics');
    expect(body).toMatch(/agent_sandbox_build_info\{git_version="0\.1\.0",git_commit="abc",.*go_version="v24.*\} 1/);
    expect(body).toContain('nodejs_eventloop_lag_seconds');
    expect(body).toContain('sandlot_bus_connected 0');
    expect(body).toContain('sandlot_bus_hints_total{type="claim.bound",outcome="handled"} 1');
    expect(body).toContain('sandlot_telemetry_spans_lost_total{reason="queue_full"} 0');
  });

  it('answers 404 for other paths', async () => {
    await serveAll();
    expect((await get('/')).status).toBe(404);
  });
});

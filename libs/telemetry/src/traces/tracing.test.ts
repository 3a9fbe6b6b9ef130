import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, trace } from '@opentelemetry/api';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { spanNames, startTracing, withSpan } from '../index.ts';
import type { Tracing, TracingOptions } from '../index.ts';
import { tracer } from './spans.ts';

interface Received {
  readonly path: string;
  readonly contentType: string | undefined;
  /** Names are plain UTF-8 inside protobuf, so the test only searches for them. */
  readonly body: string;
}

const cleanUps: (() => Promise<unknown>)[] = [];

async function receiver(status = 200): Promise<{ endpoint: string; requests: Received[] }> {
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      requests.push({ path: request.url ?? '', contentType: request.headers['content-type'], body });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
  cleanUps.push(async () => server.closeAllConnections());
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

function start(options: Partial<TracingOptions>): Tracing {
  const tracing = startTracing({ service: 'claim-controller', ...options });
  cleanUps.push(() => tracing.shutDown());
  return tracing;
}

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

describe('startTracing', () => {
  it('sends spans with the resource of the process to the OTLP receiver', async () => {
    const { endpoint, requests } = await receiver();
    const tracing = start({ endpoint, version: '1.2.3', resource: { 'k8s.pod.name': 'pod-7' } });
    tracer().startSpan(spanNames.claimBind).end();
    await tracing.shutDown();
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ path: '/v1/traces', contentType: 'application/x-protobuf' });
    for (const text of ['claim.bind', 'claim-controller', '1.2.3', 'pod-7']) expect(requests[0]?.body).toContain(text);
  });

  it('records nothing without an endpoint, but still passes the context on', async () => {
    start({});
    const parent = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
    await context.with(trace.setSpanContext(context.active(), parent), () =>
      withSpan({ name: spanNames.claimBind }, async (span) => {
        expect(span.isRecording()).toBe(false);
        expect(trace.getActiveSpan()?.spanContext().traceId).toBe(parent.traceId);
      }),
    );
  });

  it('drops and counts spans beyond a full queue without waiting', async () => {
    const { endpoint, requests } = await receiver();
    const lost: string[] = [];
    const tracing = start({ endpoint, maxQueueSize: 10, onLost: (spans, reason) => lost.push(`${spans} ${reason}`) });
    for (let index = 0; index < 23; index += 1) tracer().startSpan(spanNames.poolRefill).end();
    expect(lost).toEqual(['1 queue_full', '1 queue_full', '1 queue_full']);
    await tracing.shutDown();
    expect(requests.map(({ body }) => body.split('pool.refill').length - 1).reduce((a, b) => a + b)).toBe(20);
  });

  it('counts spans that the receiver refuses', async () => {
    const { endpoint } = await receiver(400);
    const lost: string[] = [];
    const tracing = start({ endpoint, onLost: (spans, reason) => lost.push(`${spans} ${reason}`) });
    tracer().startSpan(spanNames.claimBind).end();
    await tracing.shutDown();
    expect(lost).toEqual(['1 export_failed']);
  });

  it('shuts down in bounded time when the receiver hangs', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUps.push(async () => server.closeAllConnections());
    cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
    const clock = new FakeClock();
    const tracing = startTracing({
      service: 'x',
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      clock,
    });
    tracer().startSpan(spanNames.claimBind).end();
    let ended = false;
    const shutdown = tracing.shutDown().then(() => (ended = true));
    await clock.advance(2_999);
    expect(ended).toBe(false);
    await clock.advance(1);
    await shutdown;
    server.closeAllConnections();
  });

  it('samples the configured share of new traces', async () => {
    const { endpoint } = await receiver();
    start({ endpoint, sampleRatio: 0 });
    expect(tracer().startSpan(spanNames.claimBind).spanContext().traceFlags).toBe(0);
  });
});

describe('withSpan', () => {
  it('returns the result of the work and ends the span after it', async () => {
    const { endpoint } = await receiver();
    start({ endpoint });
    const end = vi.fn();
    const result = await withSpan({ name: spanNames.claimBind, attributes: { 'sandlot.pool': 'p' } }, async (span) => {
      expect(trace.getActiveSpan()).toBe(span);
      vi.spyOn(span, 'end').mockImplementation(end);
      return 7;
    });
    expect(result).toBe(7);
    expect(end).toHaveBeenCalledOnce();
  });

  it('records the error of work that throws, and rethrows it', async () => {
    const { endpoint, requests } = await receiver();
    const tracing = start({ endpoint });
    const work = withSpan({ name: spanNames.claimBind }, async () => Promise.reject(new Error('no warm sandbox')));
    await expect(work).rejects.toThrow('no warm sandbox');
    await tracing.shutDown();
    expect(requests[0]?.body).toContain('no warm sandbox');
  });
});

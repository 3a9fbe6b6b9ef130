import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTempFolder, removeTempFolder } from '../process/temp-folder.ts';
import { waitFor } from '../process/wait.ts';
import { promExemplars, promQuery } from './prometheus-api.ts';
import { runPromtool, startPrometheus } from './prometheus.ts';
import { startTraceBackend } from './trace-backend.ts';
import { fetchTrace, fetchTraces } from './traces.ts';

const traceId = '5b8efff798038103d269b633813fc60c';
const timeoutMs = 30_000;

const openMetrics = `# TYPE demo_seconds histogram
demo_seconds_bucket{le="1.0"} 1 # {trace_id="${traceId}"} 0.25 1.0e9
demo_seconds_bucket{le="+Inf"} 1
demo_seconds_count 1
demo_seconds_sum 0.25
# EOF
`;

const rules = `groups:
  - name: demo
    rules:
      - record: demo:twice
        expr: 2 * demo_seconds_count
`;

const ruleTest = (value: number) => `rule_files: [demo.rules.yml]
tests:
  - interval: 1m
    input_series: [{ series: demo_seconds_count, values: '4 4' }]
    promql_expr_test:
      - { expr: 'demo:twice', eval_time: 1m, exp_samples: [{ labels: 'demo:twice', value: ${value} }] }
`;

describe('a Prometheus server', () => {
  it('scrapes OpenMetrics, evaluates rules and returns exemplars with their trace ids', async () => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    await using target = await serve(openMetrics.replace('1.0e9', String(nowSeconds)));
    const scrapeTargets = [{ job: 'demo', addresses: [target.address], labels: { team: 'a' } }];
    await using server = await startPrometheus({ scrapeTargets, rules: [rules] });
    const [recorded] = await waitFor(async () => nonEmpty(await promQuery(server.url, 'demo:twice{team="a"}')), {
      what: 'a recorded series',
      timeoutMs,
    });
    expect(recorded).toMatchObject({ labels: { job: 'demo', instance: target.address }, value: 2 });
    const range = { start: nowSeconds - 60, end: nowSeconds + 60 };
    const exemplars = await promExemplars(server.url, 'demo_seconds_bucket', range);
    expect(exemplars).toEqual([
      {
        series: expect.objectContaining({ __name__: 'demo_seconds_bucket', le: '1.0', job: 'demo' }) as unknown,
        labels: { trace_id: traceId },
        value: 0.25,
        timestamp: nowSeconds,
      },
    ]);
  });

  it('explains why it rejects a query', async () => {
    await using server = await startPrometheus();
    await expect(promQuery(server.url, 'sum(')).rejects.toThrow(/parse error/);
    await expect(promQuery(server.url, 'up[1m]')).rejects.toThrow(/matrix, not a vector/);
  });

  it('does not start with rules that it cannot parse, and says why', async () => {
    const wrong = rules.replace('2 *', '2 * * ');
    await expect(startPrometheus({ rules: [wrong] })).rejects.toThrow(/parse error|unexpected/);
  });

  it('has a promtool that passes a correct rule test and fails a wrong one', async () => {
    const folder = await createTempFolder();
    try {
      await writeFile(join(folder, 'demo.rules.yml'), rules);
      await writeFile(join(folder, 'right.yml'), ruleTest(8));
      await writeFile(join(folder, 'wrong.yml'), ruleTest(9));
      expect(await runPromtool(['check', 'rules', 'demo.rules.yml'], { cwd: folder })).toMatchObject({ code: 0 });
      expect(await runPromtool(['test', 'rules', 'right.yml'], { cwd: folder })).toMatchObject({ code: 0 });
      const wrong = await runPromtool(['test', 'rules', 'wrong.yml'], { cwd: folder });
      expect(wrong.code).not.toBe(0);
      expect(`${wrong.stdout}${wrong.stderr}`).toContain('demo:twice');
    } finally {
      await removeTempFolder(folder);
    }
  });
});

describe('a trace backend', () => {
  it('receives a span over OTLP and returns it by trace and by service', async () => {
    await using backend = await startTraceBackend();
    expect(await fetchTrace(backend.url, traceId)).toEqual([]);
    const startNs = BigInt(Date.now()) * 1_000_000n;
    await send(backend.otlpEndpoint, { traceId, startNs, durationMs: 250, failed: true });
    const spans = await fetchTrace(backend.url, traceId);
    expect(spans).toEqual([
      {
        traceId,
        spanId: 'eee19b7ec3c1b174',
        parentSpanId: '',
        name: 'demo',
        service: 'tests',
        kind: 'server',
        startNs,
        endNs: startNs + 250_000_000n,
        attributes: { text: 'a', whole: 3, part: 0.5, yes: true, list: ['x', 'y'] },
        events: [{ name: 'halfway', timeNs: startNs, attributes: { n: 1 } }],
        links: [{ traceId: 'f'.repeat(32), spanId: 'f'.repeat(16), attributes: { why: 'warm' } }],
        status: 'error',
        statusMessage: 'broken',
        warnings: [],
      },
    ]);
    expect(await fetchTraces(backend.url, { service: 'tests', operation: 'demo' })).toEqual(spans);
    expect(await fetchTraces(backend.url, { service: 'tests', operation: 'other' })).toEqual([]);
  });

  it('reports a span without duration as a warning, apart from its attributes', async () => {
    await using backend = await startTraceBackend();
    const startNs = BigInt(Date.now()) * 1_000_000n;
    await send(backend.otlpEndpoint, { traceId, startNs, durationMs: 0, failed: false });
    const [span] = await fetchTrace(backend.url, traceId);
    expect(span).toMatchObject({ startNs, endNs: startNs + 1n, warnings: [expect.stringMatching(/duration/)] });
    expect(Object.keys(span?.attributes ?? {})).toEqual(['text', 'whole', 'part', 'yes', 'list']);
  });

  it('keeps only slow and failed traces with tail sampling', async () => {
    const tailSampling = { slowMs: 1_000, othersPercent: 0, decisionWaitMs: 500 };
    await using backend = await startTraceBackend({ tailSampling });
    const startNs = BigInt(Date.now()) * 1_000_000n;
    const id = (digit: string): string => digit.repeat(32);
    await send(backend.otlpEndpoint, { traceId: id('1'), startNs, durationMs: 5, failed: false });
    await send(backend.otlpEndpoint, { traceId: id('2'), startNs, durationMs: 2_000, failed: false });
    await send(backend.otlpEndpoint, { traceId: id('3'), startNs, durationMs: 5, failed: true });
    // Jaeger decides in the order of arrival: once the last trace is there, it has decided about the first.
    await waitFor(async () => nonEmpty(await fetchTrace(backend.url, id('3'))), {
      what: 'the failed trace',
      timeoutMs,
    });
    const kept = await fetchTraces(backend.url, { service: 'tests' });
    expect(kept.map((span) => span.traceId).toSorted()).toEqual([id('2'), id('3')]);
  });
});

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** Serves this text as OpenMetrics on every path. */
async function serve(text: string): Promise<AsyncDisposable & { address: string }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}

interface Demo {
  traceId: string;
  startNs: bigint;
  durationMs: number;
  failed: boolean;
}

async function send(endpoint: string, { traceId: id, startNs, durationMs, failed }: Demo): Promise<void> {
  const attribute = (key: string, value: object) => ({ key, value });
  const span = {
    traceId: id,
    spanId: 'eee19b7ec3c1b174',
    name: 'demo',
    kind: 2,
    startTimeUnixNano: String(startNs),
    endTimeUnixNano: String(startNs + BigInt(durationMs) * 1_000_000n),
    attributes: [
      attribute('text', { stringValue: 'a' }),
      attribute('whole', { intValue: '3' }),
      attribute('part', { doubleValue: 0.5 }),
      attribute('yes', { boolValue: true }),
      attribute('list', { arrayValue: { values: [{ stringValue: 'x' }, { stringValue: 'y' }] } }),
    ],
    events: [{ name: 'halfway', timeUnixNano: String(startNs), attributes: [attribute('n', { intValue: '1' })] }],
    links: [
      { traceId: 'f'.repeat(32), spanId: 'f'.repeat(16), attributes: [attribute('why', { stringValue: 'warm' })] },
    ],
    status: failed ? { code: 2, message: 'broken' } : {},
  };
  const resource = { attributes: [attribute('service.name', { stringValue: 'tests' })] };
  const response = await fetch(`${endpoint}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }),
  });
  expect(response.status).toBe(200);
}

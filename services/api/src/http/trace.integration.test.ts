import { carrier } from '@sandlot/telemetry';
import { fileURLToPath } from 'node:url';
import { formatRfc3339, sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { fetchTrace, startControlPlane, startNats, startTraceBackend } from '@sandlot/local-cluster';
import type { ControlPlane, ReceivedSpan, Server, TraceBackend } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { systemClock } from '@sandlot/std';
import { createKey } from '@sandlot/tenancy';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startApiProcess } from '../../test/api-process.ts';
import type { ApiProcess } from '../../test/api-process.ts';
import { apiEnvironment, KEYS_NAMESPACE } from '../../test/stack.ts';

const PATIENCE = { timeout: 60_000, interval: 100 };
const CRDS = fileURLToPath(new URL('../../../../charts/sandlot/files/crds', import.meta.url));
const CONTROLLER = new URL('../../../claim-controller/src/main.ts', import.meta.url);
const namespace = 'team-a';
const CLIENT_SPAN = 'b7ad6b7169203331';

const open = new AsyncDisposableStack();
let plane: ControlPlane;
let nats: Server;
let backend: TraceBackend;
let client: KubeClient;
let key: string;
const apis = new Map<string, ApiProcess>();

beforeAll(async () => {
  [plane, nats, backend] = await Promise.all([startControlPlane({ crds: [CRDS] }), startNats(), startTraceBackend()]);
  for (const server of [plane, nats, backend]) open.defer(() => server.stop());
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  open.defer(() => client.close());
  for (const name of [namespace, KEYS_NAMESPACE]) await client.create(namespaces, { metadata: { name } });
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  // Without a warmpool-controller no NetworkPolicy comes.
  const spec = { podTemplate, networkPolicyManagement: 'Unmanaged' } as const;
  await client.create(sandboxTemplates, { metadata: { namespace, name: 'base' }, spec });
  const input = { namespace, team: namespace, role: 'tenant', description: '', limits: {} } as const;
  key = (await createKey({ client, namespace: KEYS_NAMESPACE }, input)).text;
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: backend.otlpEndpoint, TRACE_SAMPLE_RATIO: '1' };
  const common = { KUBECONFIG: plane.kubeconfigPath, NATS_URL: nats.url, ...traced };
  open.use(await startServiceProcess(CONTROLLER, { ...common, ENVD_TOKEN_KEY: apiEnvironment.ENVD_TOKEN_KEY }));
  for (const traces of ['parent', 'link']) {
    apis.set(traces, open.use(await startApiProcess({ plane, nats }, { ...traced, CLIENT_TRACES: traces })));
  }
});
afterAll(() => open.disposeAsync());

/** Makes new Sandboxes Ready, like the sandbox-controller. */
async function makeSandboxesReady(): Promise<void> {
  await vi.waitFor(async () => {
    const { items } = await client.listAll(sandboxes, { namespace });
    const waiting = items.filter(({ status }) => status === undefined);
    expect(waiting).not.toEqual([]);
    for (const { metadata } of waiting) {
      const at = { lastTransitionTime: formatRfc3339(systemClock.now()) };
      const ready = { type: 'Ready', status: 'True', reason: 'DependenciesReady', message: 'Pod is Ready', ...at };
      const status = { conditions: [ready], podIPs: ['10.1.2.3'], phase: 'Running' };
      await client.mergePatch(
        sandboxes,
        { namespace, name: metadata.name ?? '' },
        { status },
        { subresource: 'status' },
      );
    }
  }, PATIENCE);
}

async function create(traces: string, traceId: string): Promise<{ readonly id: string; readonly token: string }> {
  const request = fetch(`${apis.get(traces)?.url ?? ''}/v2/sandboxes`, {
    method: 'POST',
    headers: { 'X-API-KEY': key, traceparent: `00-${traceId}-${CLIENT_SPAN}-01` },
    body: JSON.stringify({ templateID: 'base', metadata: { note: 'hunter2' } }),
  });
  await makeSandboxesReady();
  const response = await request;
  expect(response.status).toBe(201);
  const { sandboxID, envdAccessToken } = (await response.json()) as { sandboxID: string; envdAccessToken: string };
  return { id: sandboxID, token: envdAccessToken };
}

function getText(spans: readonly ReceivedSpan[]): string {
  return JSON.stringify(spans, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

async function waitForTrace(id: string, names: readonly string[]): Promise<readonly ReceivedSpan[]> {
  return vi.waitFor(async () => {
    const spans = await fetchTrace(backend.url, id);
    for (const name of names) expect(spans.map((span) => span.name)).toContain(name);
    return spans;
  }, PATIENCE);
}

it('joins the client’s trace, from the request through the API to the bind, without secrets', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const { id, token } = await create('parent', traceId);
  const spans = await waitForTrace(traceId, ['api.request', 'claim.create', 'claim.bind']);
  const named = (name: string): ReceivedSpan | undefined => spans.find((span) => span.name === name);
  const request = named('api.request');
  expect(request).toMatchObject({ parentSpanId: CLIENT_SPAN });
  expect(named('claim.create')?.parentSpanId).toBe(request?.spanId);
  expect(request?.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/v2/sandboxes',
    'http.response.status_code': 201,
  });
  const claim = await client.get(sandboxClaims, { namespace, name: id });
  expect(claim.metadata.annotations?.[carrier.annotation]).toContain(traceId);
  for (const secret of [key, token, 'hunter2']) expect(getText(spans)).not.toContain(secret);
});

it('starts its own trace with a link to the client’s if CLIENT_TRACES is link', async () => {
  const traceId = '1af7651916cd43dd8448eb211c80319d';
  const { id } = await create('link', traceId);
  const claim = await client.get(sandboxClaims, { namespace, name: id });
  const [, own = ''] = /00-([0-9a-f]{32})-/.exec(claim.metadata.annotations?.[carrier.annotation] ?? '') ?? [];
  expect(own).not.toBe(traceId);
  const spans = await waitForTrace(own, ['api.request', 'claim.create']);
  expect(spans.find(({ name }) => name === 'api.request')?.links).toMatchObject([{ traceId, spanId: CLIENT_SPAN }]);
  expect(await fetchTrace(backend.url, traceId)).toEqual([]);
});

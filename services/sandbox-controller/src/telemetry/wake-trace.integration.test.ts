import { fileURLToPath } from 'node:url';
import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { findFreePort, fetchTrace, startControlPlane, startNats, startTraceBackend } from '@sandlot/local-cluster';
import type { ControlPlane, ReceivedSpan, TraceBackend } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const PATIENCE = { timeout: 60_000, interval: 100 };
const NAMESPACE = 'team-a';
const CRDS = fileURLToPath(new URL('../../../../charts/sandlot/files/crds', import.meta.url));
const TRACE = 'opentelemetry.io/trace-context';
const CLIENT_SPAN = 'b7ad6b7169203331';
const PUBLISH = 'publish sandlot.sandbox.wake.requested';
/** The spans of a wake. */
const WAKE = ['gateway.wait', PUBLISH, 'sandbox.resume', 'pod.create', 'pod.schedule', 'pod.ready'];

const open = new AsyncDisposableStack();
let plane: ControlPlane;
let backend: TraceBackend;
let client: KubeClient;
let natsUrl: string;

beforeAll(async () => {
  const nodes = { kwokNodes: 1, scheduler: true, controllerManager: true };
  const [control, nats, jaeger] = await Promise.all([
    startControlPlane({ crds: [CRDS], ...nodes }),
    startNats(),
    startTraceBackend(),
  ]);
  for (const one of [control, nats, jaeger]) open.defer(() => one.stop());
  plane = control;
  backend = jaeger;
  natsUrl = nats.url;
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  open.defer(() => client.close());
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  open.use(await startServiceProcess(new URL('../main.ts', import.meta.url), common()));
});
afterAll(() => open.disposeAsync());

const common = (): Readonly<Record<string, string>> => ({
  KUBECONFIG: plane.kubeconfigPath,
  NATS_URL: natsUrl,
  OTEL_EXPORTER_OTLP_ENDPOINT: backend.otlpEndpoint,
  TRACE_SAMPLE_RATIO: '1',
});

/** The gateway, for agent-sandbox clients alone; the port that it serves them on. */
async function startGateway(traces: 'parent' | 'link'): Promise<number> {
  const [port, routerPort] = [await findFreePort(), await findFreePort()];
  const main = new URL('../../../gateway/src/main.ts', import.meta.url);
  const own = { PORT: String(port), ROUTER_PORT: String(routerPort), CLIENT_TRACES: traces, CONNECT_TIMEOUT: '500ms' };
  const gateway = open.use(await startServiceProcess(main, { ...common(), ...own }));
  await vi.waitFor(async () => {
    expect((await fetch(`http://127.0.0.1:${gateway.probePort}/readyz`)).ok).toBe(true);
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    expect(metrics).toContain('sandlot_bus_connected 1');
  }, PATIENCE);
  return routerPort;
}

const until = (name: string, phase: string): Promise<Sandbox> =>
  vi.waitFor(async () => {
    const sandbox = await client.get(sandboxes, { namespace: NAMESPACE, name });
    expect(sandbox.status?.phase).toBe(phase);
    return sandbox;
  }, PATIENCE);

/** A Sandbox that the API suspended, as it does at the end of a session. */
async function asleep(name: string): Promise<Sandbox> {
  const spec = { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } };
  const key = { namespace: NAMESPACE, name };
  await client.create(sandboxes, { metadata: key, spec });
  await until(name, 'Running');
  const annotations = { 'sandlot.dev/suspended-by': 'API' };
  await client.mergePatch(sandboxes, key, { metadata: { annotations }, spec: { operatingMode: 'Suspended' } });
  return until(name, 'Suspended');
}

/** Somebody asks for it. What answers behind the address of a simulated pod, if anything, is the affair of this network. */
async function ask(routerPort: number, name: string, traceId: string): Promise<void> {
  const headers = {
    'X-Sandbox-ID': name,
    'X-Sandbox-Namespace': NAMESPACE,
    'X-Sandbox-Port': '8080',
    traceparent: `00-${traceId}-${CLIENT_SPAN}-01`,
  };
  await fetch(`http://127.0.0.1:${routerPort}/`, { headers });
  await until(name, 'Running');
}

async function arrived(traceId: string): Promise<readonly ReceivedSpan[]> {
  return vi.waitFor(async () => {
    const spans = await fetchTrace(backend.url, traceId);
    for (const name of WAKE) expect(spans.map((span) => span.name)).toContain(name);
    return spans;
  }, PATIENCE);
}

const named = (spans: readonly ReceivedSpan[], name: string): readonly ReceivedSpan[] =>
  spans.filter((span) => span.name === name);

/** The trace goes from the gateway through the header of the message to the resume and the start of its pod. */
function expectChain(spans: readonly ReceivedSpan[], sandbox: Sandbox): ReceivedSpan {
  const [wait] = named(spans, 'gateway.wait');
  const publishes = named(spans, PUBLISH);
  const [resume, ...more] = named(spans, 'sandbox.resume');
  if (wait === undefined || resume === undefined) throw new Error('there is no wake');
  expect(more).toEqual([]);
  expect(wait.service).toBe('gateway');
  for (const publish of publishes) {
    expect(publish).toMatchObject({ service: 'gateway', kind: 'producer', parentSpanId: wait.spanId });
  }
  expect(resume.service).toBe('sandbox-controller');
  expect(publishes.map(({ spanId }) => spanId)).toContain(resume.parentSpanId);
  for (const name of ['pod.create', 'pod.schedule', 'pod.ready']) {
    expect(named(spans, name).map(({ parentSpanId }) => parentSpanId)).toEqual([resume.spanId]);
  }
  const made = (sandbox.metadata.uid ?? '').replaceAll('-', '');
  expect(resume.links.map(({ traceId }) => traceId)).toEqual([made]);
  return wait;
}

it('a wake is part of the trace of the client where the gateway takes clients for parents', async () => {
  const routerPort = await startGateway('parent');
  const sandbox = await asleep('trusted');
  const traceId = 'a'.repeat(32);
  await ask(routerPort, 'trusted', traceId);
  const wait = expectChain(await arrived(traceId), sandbox);
  expect(wait.parentSpanId).toBe(CLIENT_SPAN);
  const { metadata } = await until('trusted', 'Running');
  expect(metadata.annotations?.[TRACE]).toContain(traceId);
});

it('a wake is a trace of its own that links to that of the client where the gateway does not', async () => {
  const routerPort = await startGateway('link');
  const sandbox = await asleep('unknown');
  const clientTrace = 'b'.repeat(32);
  await ask(routerPort, 'unknown', clientTrace);
  const { metadata } = await until('unknown', 'Running');
  const [, traceId = ''] = /00-([0-9a-f]{32})-/.exec(metadata.annotations?.[TRACE] ?? '') ?? [];
  expect(traceId).not.toBe(clientTrace);
  const wait = expectChain(await arrived(traceId), sandbox);
  expect(wait.parentSpanId).toBe('');
  expect(wait.links).toMatchObject([{ traceId: clientTrace, spanId: CLIENT_SPAN }]);
  expect(await fetchTrace(backend.url, clientTrace)).toEqual([]);
});

import { findCondition, sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { defineResource } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import { fetchTrace, startTraceBackend } from '@sandlot/local-cluster';
import type { ReceivedSpan, TraceBackend } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

const NAMESPACE = 'traced';
const CLIENT_SPAN = 'b7ad6b7169203331';

interface Volume extends KubeObject {
  readonly spec: object;
}

const volumes = defineResource<Volume>({
  kind: 'PersistentVolume',
  group: '',
  version: 'v1',
  plural: 'persistentvolumes',
  namespaced: false,
});

let platform: Platform;
let backend: TraceBackend;
beforeAll(async () => {
  platform = await Platform.start();
  backend = await startTraceBackend();
  await platform.startControllers({ OTEL_EXPORTER_OTLP_ENDPOINT: backend.otlpEndpoint, TRACE_SAMPLE_RATIO: '0' });
  await platform.fillPool(NAMESPACE, 1);
  await addTemplateWithDisk();
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await backend.stop();
});

/** Nothing provisions volumes here: the disk binds to an existing one. */
async function addTemplateWithDisk(): Promise<void> {
  const size = { storage: '1Gi' };
  await platform.client.create(volumes, {
    metadata: { name: 'disk' },
    spec: { capacity: size, accessModes: ['ReadWriteOnce'], storageClassName: '', hostPath: { path: '/tmp/disk' } },
  });
  await platform.client.create(sandboxTemplates, {
    metadata: { namespace: NAMESPACE, name: 'with-disk' },
    spec: {
      podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } },
      volumeClaimTemplates: [
        {
          metadata: { name: 'work' },
          spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: size } },
        },
      ],
    },
  });
}

const repeatDigit = (digit: string): string => digit.repeat(32);
const uidTrace = (uid = ''): string => uid.replaceAll('-', '');

/** A Ready claim, with the client's trace or without one. */
async function served(name: string, spec: SandboxClaim['spec'], traceId?: string): Promise<SandboxClaim> {
  const carried = JSON.stringify({ traceparent: `00-${traceId ?? ''}-${CLIENT_SPAN}-01` });
  const annotations = traceId === undefined ? {} : { 'opentelemetry.io/trace-context': carried };
  await platform.client.create(sandboxClaims, { metadata: { namespace: NAMESPACE, name, annotations }, spec });
  const key = { namespace: NAMESPACE, name };
  await platform.until(async () => {
    const { status } = await platform.client.get(sandboxClaims, key);
    return findCondition(status?.conditions, 'Ready')?.status === 'True';
  });
  return platform.client.get(sandboxClaims, key);
}

/** The trace once spans of all these names have arrived. */
async function arrived(traceId: string, names: readonly string[]): Promise<readonly ReceivedSpan[]> {
  let spans: readonly ReceivedSpan[] = [];
  await platform.until(async () => {
    spans = await fetchTrace(backend.url, traceId);
    return names.every((name) => spans.some((span) => span.name === name));
  });
  return spans;
}

function only(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  const [span] = found;
  if (span === undefined || found.length > 1) throw new Error(`${found.length} spans ${name}`);
  return span;
}

/** Names of the parents of all spans of this name. */
function listParents(spans: readonly ReceivedSpan[], name: string): string[] {
  const names = new Map(spans.map((span) => [span.spanId, span.name]));
  const parents = spans.filter((span) => span.name === name).map(({ parentSpanId }) => names.get(parentSpanId) ?? '');
  return [...new Set(parents)];
}

function expectInside(spans: readonly ReceivedSpan[], names: readonly string[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans.filter(({ name }) => names.includes(name))) {
    const parent = byId.get(span.parentSpanId);
    if (parent === undefined) throw new Error(`${span.name} has no parent`);
    expect(span.startNs, `${span.name} in ${parent.name}`).toBeGreaterThanOrEqual(parent.startNs);
    // Jaeger stores an empty span as one nanosecond.
    expect(span.endNs, `${span.name} in ${parent.name}`).toBeLessThanOrEqual(parent.endNs + 1n);
  }
}

const WARM = ['claim.create', 'claim.queue', 'claim.bind', 'claim.adopt', 'claim.commit', 'claim.status'];
const CHAIN = ['pod.create', 'pod.schedule', 'container.start', 'pod.ready'];

describe('the trace of a warm claim', () => {
  it('continues the client’s trace and links to the one in which the pool warmed its Sandbox', async () => {
    const [member] = await platform.sandboxes(NAMESPACE);
    await served('warm', { warmPoolRef: { name: 'pool' } }, repeatDigit('a'));
    const spans = await arrived(repeatDigit('a'), WARM);
    expect(only(spans, 'claim.create')).toMatchObject({
      parentSpanId: CLIENT_SPAN,
      service: 'claim-controller',
      attributes: { 'sandlot.launch_type': 'warm', 'sandlot.claim.name': 'warm', 'sandlot.pool': 'pool' },
    });
    for (const name of ['claim.queue', 'claim.bind']) expect(listParents(spans, name)).toEqual(['claim.create']);
    for (const name of ['claim.adopt', 'claim.status']) expect(listParents(spans, name)).toEqual(['claim.bind']);
    expect(listParents(spans, 'claim.commit')).toEqual(['claim.adopt']);
    expect(only(spans, 'claim.adopt').links).toMatchObject([{ traceId: uidTrace(member?.metadata.uid) }]);
    expect(only(spans, 'claim.commit').attributes).toMatchObject({ 'sandlot.commit.result': 'committed' });
    expectInside(spans, WARM.slice(1));
    expect(only(spans, 'claim.queue').startNs).toBe(only(spans, 'claim.create').startNs);
  });
});

describe('the trace of a cold claim with a disk', () => {
  it('covers the start of the Sandbox without gaps', async () => {
    await served('cold', { sandboxTemplateRef: { name: 'with-disk' } }, repeatDigit('b'));
    const names = [
      'claim.create',
      'claim.cold_start',
      'sandbox.create',
      'pvc.provision',
      'sandbox.reconcile',
      ...CHAIN,
    ];
    const spans = await arrived(repeatDigit('b'), names);
    expect(only(spans, 'claim.create')).toMatchObject({ parentSpanId: CLIENT_SPAN });
    expect(listParents(spans, 'sandbox.create')).toEqual(['claim.create']);
    expect(only(spans, 'sandbox.create').service).toBe('sandbox-controller');
    for (const name of ['pvc.provision', 'sandbox.reconcile', ...CHAIN]) {
      expect(listParents(spans, name)).toEqual(['sandbox.create']);
    }
    expect(only(spans, 'pvc.provision').attributes).toMatchObject({ 'k8s.persistentvolumeclaim.name': 'work-cold' });
    expectInside(spans, ['claim.queue', 'claim.bind', 'claim.cold_start', 'claim.status', 'pvc.provision', ...CHAIN]);
    expectChain(spans);
  });
});

/** Each phase starts where the one before it ends, and together they cover the creation. */
function expectChain(spans: readonly ReceivedSpan[]): void {
  const phases = spans.filter(({ name }) => /^(pod|image|container)\./.test(name));
  const creation = only(spans, 'sandbox.create');
  const sorted = [...phases].sort((a, b) => Number(a.endNs - b.endNs));
  expect(sorted.at(-1)?.endNs).toBe(creation.endNs);
  const total = phases.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0n);
  const added = total - (creation.endNs - creation.startNs);
  // One nanosecond for each empty phase.
  expect(added).toBeGreaterThanOrEqual(0n);
  expect(added).toBeLessThanOrEqual(BigInt(phases.length));
}

describe('an operation that is not sampled', () => {
  it('is dropped when it succeeds, and kept when it fails', async () => {
    const quiet = await served('quiet', { sandboxTemplateRef: { name: 'template' }, warmpool: 'none' });
    const key = { namespace: NAMESPACE, name: 'hopeless' };
    const spec = { sandboxTemplateRef: { name: 'with-disk' }, inplaceUpdate: { image: 'forbidden' } };
    const { metadata } = await platform.client.create(sandboxClaims, { metadata: key, spec });
    const spans = await arrived(uidTrace(metadata.uid), ['claim.create']);
    expect(only(spans, 'claim.create')).toMatchObject({ parentSpanId: '', status: 'error' });
    // Spans are exported in order: an earlier one would be there by now.
    expect(await fetchTrace(backend.url, uidTrace(quiet.metadata.uid))).toEqual([]);
  });
});

describe('a suspension and a resume', () => {
  it('are traces of their own, linked to the creation, or continue the trace of the requester', async () => {
    const key = { namespace: NAMESPACE, name: 'cold' };
    const turn = (operatingMode: string, digit: string) =>
      platform.client.mergePatch(sandboxes, key, {
        metadata: {
          annotations: {
            'opentelemetry.io/trace-context': JSON.stringify({
              traceparent: `00-${repeatDigit(digit)}-${CLIENT_SPAN}-01`,
            }),
          },
        },
        spec: { operatingMode },
      });
    await turn('Suspended', 'c');
    const suspension = await arrived(repeatDigit('c'), ['sandbox.suspend']);
    expect(only(suspension, 'sandbox.suspend')).toMatchObject({
      parentSpanId: CLIENT_SPAN,
      attributes: { 'sandlot.cause': 'User' },
    });
    expect(listParents(suspension, 'sandbox.reconcile')).toEqual(['sandbox.suspend']);
    await turn('Running', 'd');
    const resume = await arrived(repeatDigit('d'), ['sandbox.resume', ...CHAIN]);
    expect(only(resume, 'sandbox.resume').links).toHaveLength(1);
    for (const name of CHAIN) expect(listParents(resume, name)).toEqual(['sandbox.resume']);
    // The disk existed already.
    expect(resume.filter(({ name }) => name === 'pvc.provision')).toEqual([]);
  });
});

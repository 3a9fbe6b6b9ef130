import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { fetchTraces } from '@sandlot/local-cluster';
import { observability, tracesUrl } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { createBox, waitForSandbox } from '../support/lifecycle.ts';
import { findReadyCondition, getSandboxName, waitForFullPool, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';
import { startClientTrace, Trace, turn } from '../support/traces.ts';

const manifests = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: traced}
spec:
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: agent, image: "ubuntu:24.04", command: [sleep, infinity], volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}
  volumeClaimTemplates:
  - {metadata: {name: scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: traced-pool}
spec: {replicas: 1, sandboxTemplateRef: {name: traced}}
`;

const CHAIN = ['pod.create', 'pod.schedule', 'pod.prepare', 'image.pull', 'container.start', 'pod.ready'];
const uidTrace = (uid = ''): string => uid.replaceAll('-', '');

let team: Team;
beforeAll(async () => {
  team = await createTeam('traces');
  await team.apply(manifests);
  await waitForFullPool(team, 'traced-pool');
});
afterAll(() => team[Symbol.asyncDispose]());

/** Creates a claim with the trace context of a client, and waits until it is Ready. */
async function claimSandbox(
  name: string,
  spec: SandboxClaim['spec'],
): Promise<{ claim: SandboxClaim; traceId: string }> {
  const { traceId, annotations } = startClientTrace();
  const metadata = { namespace: team.namespace, name, annotations };
  await team.client.create(sandboxClaims, { metadata, spec });
  return { claim: await waitForReadyClaim(team, name), traceId };
}

describe('a warm claim', () => {
  it('is one trace below the span of its client, linked to the trace that created its Sandbox', async () => {
    const { claim, traceId } = await claimSandbox('warm', { warmPoolRef: { name: 'traced-pool' } });
    const trace = await Trace.waitFor(traceId, ['claim.create', 'claim.bind', 'claim.queue', 'sandbox.reconcile']);
    expect(trace.shape().filter((pair) => !pair.startsWith('publish'))).toEqual([
      'claim.adopt < claim.bind',
      'claim.bind < claim.create',
      'claim.commit < claim.adopt',
      'claim.create < client',
      'claim.queue < claim.create',
      'claim.status < claim.bind',
      'sandbox.reconcile < claim.create',
    ]);
    // The Pod gets its labels later, outside the span of the claim.
    trace.expectNested(['sandbox.reconcile']);
    const [member] = (await team.client.listAll(sandboxes, { namespace: team.namespace })).items.filter(
      ({ metadata }) => metadata.name === getSandboxName(claim),
    );
    const warming = uidTrace(member?.metadata.uid);
    expect(trace.only('claim.adopt').links.map((link) => link.traceId)).toEqual([warming]);
    const prewarm = await Trace.waitFor(warming, ['sandbox.create', 'pvc.provision', ...CHAIN]);
    expect(prewarm.only('sandbox.create')).toMatchObject({ parentSpanId: '' });
    expect(trace.only('claim.adopt').links[0]?.spanId).toBe(prewarm.only('sandbox.create').spanId);
    prewarm.expectChain('sandbox.create', CHAIN);
  });
});

describe('a cold claim with a disk', () => {
  it('is one trace that shows where the time went', async () => {
    const { traceId } = await claimSandbox('cold', { sandboxTemplateRef: { name: 'traced' }, warmpool: 'none' });
    const trace = await Trace.waitFor(traceId, ['claim.create', 'sandbox.create', 'pvc.provision', ...CHAIN]);
    expect(trace.shape().filter((pair) => !pair.startsWith('publish'))).toEqual(
      [
        'claim.bind < claim.create',
        'claim.cold_start < claim.bind',
        'claim.create < client',
        'claim.queue < claim.create',
        'claim.status < claim.bind',
        'claim.status < claim.create',
        'pvc.provision < sandbox.create',
        'sandbox.create < claim.create',
        'sandbox.reconcile < sandbox.create',
        ...CHAIN.map((name) => `${name} < sandbox.create`),
      ].sort(),
    );
    // Two processes end these spans, each by its own clock and its own watch.
    trace.expectNested(['sandbox.reconcile', 'sandbox.create']);
    trace.expectChain('sandbox.create', CHAIN);
    expect(trace.only('pvc.provision').attributes).toMatchObject({ 'k8s.persistentvolumeclaim.name': 'scratch-cold' });
    expect(trace.only('image.pull').attributes).toHaveProperty(['sandlot.image.cached']);
    expect(trace.spans.filter(({ status }) => status === 'error')).toEqual([]);
  });

  it('is suspended and resumed in traces of their own, below the span of the client', async () => {
    const suspension = await Trace.waitFor(await turn(team, 'cold', 'Suspended'), [
      'sandbox.suspend',
      'sandbox.reconcile',
    ]);
    expect(suspension.shape()).toEqual(['sandbox.reconcile < sandbox.suspend', 'sandbox.suspend < client']);
    const resume = await Trace.waitFor(await turn(team, 'cold', 'Running'), ['sandbox.resume', ...CHAIN]);
    resume.expectChain('sandbox.resume', CHAIN);
    expect(resume.spans.filter(({ name }) => name === 'pvc.provision')).toEqual([]);
    expect(resume.only('sandbox.resume').links).toHaveLength(1);
  });

  it('is deleted in a trace that ends when its Pod is gone', async () => {
    const { metadata } = await team.client.get(sandboxes, { namespace: team.namespace, name: 'cold' });
    await team.kubectl('delete', 'sandboxclaims', 'cold');
    const deletion = await eventually('the trace of the deletion arrives', async () => {
      const spans = await fetchTraces(tracesUrl, { service: 'sandbox-controller', operation: 'sandbox.delete' });
      return spans.find(({ attributes }) => attributes['sandlot.sandbox.uid'] === metadata.uid);
    });
    expect(deletion).toMatchObject({ name: 'sandbox.delete', parentSpanId: '' });
    expect(deletion.links).toHaveLength(1);
  });
});

describe('a Sandbox that hibernates', () => {
  it('has its save in the trace of its suspension, and its restore in that of its resume', async () => {
    const pod = { terminationGracePeriodSeconds: 0, runtimeClassName: 'gvisor' };
    await createBox(team, 'asleep', { pod, spec: { suspensionStrategy: { type: 'Hibernate' } } });
    await waitForSandbox(team, 'asleep', (sandbox) => findReadyCondition(sandbox)?.status === 'True');
    const suspension = await Trace.waitFor(await turn(team, 'asleep', 'Suspended'), [
      'sandbox.suspend',
      'snapshot.save',
    ]);
    expect(suspension.spans.filter(({ name }) => name === 'snapshot.restore')).toEqual([]);
    const resume = await Trace.waitFor(await turn(team, 'asleep', 'Running'), ['sandbox.resume', 'snapshot.restore']);
    expect(resume.spans.filter(({ name }) => name === 'snapshot.save')).toEqual([]);
    const about = { 'k8s.namespace.name': team.namespace, 'sandlot.sandbox.name': 'asleep' };
    for (const span of [suspension.only('snapshot.save'), resume.only('snapshot.restore')])
      expect(span).toMatchObject({ status: 'unset', attributes: about });
  });
});

describe('a claim that is created while the trace backend is down', () => {
  const JAEGER = 'deployment/jaeger';
  const kubectl = (...args: readonly string[]): Promise<string> =>
    runKubectlOrFail(['--namespace', observability.namespace, ...args]);
  afterAll(async () => {
    await kubectl('scale', JAEGER, '--replicas=1');
    await kubectl('rollout', 'status', JAEGER, '--timeout=110s');
  });

  it('has its trace when the backend is back', async () => {
    await kubectl('scale', JAEGER, '--replicas=0');
    await kubectl('wait', '--for=delete', 'pod', '--selector=app.kubernetes.io/component=jaeger', '--timeout=60s');
    const { traceId } = await claimSandbox('unheard', { sandboxTemplateRef: { name: 'traced' }, warmpool: 'none' });
    // Longer than an export is retried: without a buffer the spans would be lost.
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    await kubectl('scale', JAEGER, '--replicas=1');
    const names = ['claim.create', 'claim.bind', 'claim.queue', 'sandbox.create', 'pvc.provision', ...CHAIN];
    await Trace.waitFor(traceId, names);
  });
});

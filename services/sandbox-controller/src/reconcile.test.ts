import { sandboxes } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { TestController } from '@sandlot/service-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../test/harness.ts';
import { STRANGER, WORK } from '../test/builders.ts';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

/** A Ready Sandbox with one disk, and its controller. */
async function startReady(spec: Parameters<Harness['create']>[0] = {}): Promise<TestController> {
  const controller = await h.startController();
  h.create({ volumeClaimTemplates: [WORK], ...spec });
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  await h.untilReady();
  return controller;
}

const summary = (): string[] =>
  (h.status().conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
const message = (type: string): string | undefined =>
  h.status().conditions?.find((condition) => condition.type === type)?.message;

/** Every value of Ready that a watcher sees from now on, repetitions left out. */
function watchReady(): string[] {
  const seen: string[] = [];
  h.api.onChange(sandboxes, () => {
    const ready = h.status().conditions?.find((condition) => condition.type === 'Ready')?.status ?? 'none';
    if (seen.at(-1) !== ready) seen.push(ready);
  });
  return seen;
}

describe('a Sandbox', () => {
  it('is Ready after three writes: its Pod, the name of the Pod and one status', async () => {
    await h.startController();
    h.create();
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.runPod();
    await h.untilReady();
    expect(h.writes()).toEqual(['create pods', 'patch sandboxes', 'patch sandboxes/status']);
    expect(h.sandbox().metadata.annotations).toEqual({ 'agents.x-k8s.io/pod-name': 'notebook' });
  });

  it('never shows Ready before the name of its Pod', async () => {
    const namesAtReady = new Set<string | undefined>();
    h.api.onChange(sandboxes, () => {
      const { metadata, status } = h.sandbox();
      const isReady = status?.conditions?.some(
        (condition) => condition.type === 'Ready' && condition.status === 'True',
      );
      if (isReady === true) namesAtReady.add(metadata.annotations?.['agents.x-k8s.io/pod-name']);
    });
    await startReady();
    expect([...namesAtReady]).toEqual(['notebook']);
  });

  it('gets its Pod back on the same disk, and is visibly not Ready in between', async () => {
    await startReady();
    const [disk] = h.api.objects(persistentVolumeClaims);
    const suspendedBefore = h.status().conditions?.find((condition) => condition.type === 'Suspended');
    const firstUid = h.pod()?.metadata.uid;
    const seen = watchReady();
    h.removePod();
    await h.until(() => h.pod() !== undefined, 'there is a new Pod');
    h.runPod('10.0.0.8');
    await h.until(() => h.status().podIPs?.[0] === '10.0.0.8', 'the new address is shown');
    await h.untilReady();
    expect(seen).toEqual(['False', 'True']);
    expect(h.pod()?.metadata.uid).not.toBe(firstUid);
    expect(h.api.objects(persistentVolumeClaims).map((disk) => disk.metadata.uid)).toEqual([disk?.metadata.uid]);
    expect(h.status().conditions?.find((condition) => condition.type === 'Suspended')).toEqual(suspendedBefore);
  });

  it('waits for a terminating Pod and creates nothing meanwhile', async () => {
    await startReady();
    h.api.change(pods, KEY, ({ metadata }) => {
      metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      metadata.finalizers = ['example.com/hold'];
    });
    await h.until(() => message('Ready') === 'Pod is Running but not Ready', 'Ready is lost');
    h.api.clearRequests();
    h.removePod();
    await h.until(() => h.pod() !== undefined, 'there is a new Pod');
    expect(h.writes()[0]).toBe('create pods');
  });

  it('is suspended and resumed by operatingMode, with Service and disk kept', async () => {
    await startReady({ service: true });
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined || h.pod() === undefined, 'the Pod goes');
    h.removePod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect(summary()).toEqual(['Ready=False/SandboxSuspended', 'Suspended=True/PodTerminated']);
    expect(h.sandbox().metadata.annotations).toEqual({});
    expect([h.serviceNames(), h.diskNames()]).toEqual([['notebook'], ['work-notebook']]);
    expect(h.status()).toMatchObject({ service: 'notebook', suspendedBy: 'User' });
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await h.until(() => h.pod() !== undefined, 'there is a Pod again');
    h.runPod();
    await h.untilReady();
    expect(h.status().resumedAt).toBeDefined();
  });

  it('is counted under the names of agent-sandbox when it is suspended, resumed and over', async () => {
    const { registry } = await startReady();
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined || h.pod() === undefined, 'the Pod goes');
    h.removePod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await h.until(() => h.pod() !== undefined, 'there is a Pod again');
    h.runPod();
    await h.untilReady();
    h.edit((spec) => (spec.shutdownTime = '2020-01-01T00:00:00Z'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined || h.pod() === undefined, 'it is over');
    const lines = (await registry.metrics()).split('\n');
    const labels = 'namespace="team-a",sandbox_template="unknown",owned_by="None"';
    expect(
      lines.filter((line) => /^agent_sandbox_(suspend|resume|expired)_(total|latency_ms_count)/.test(line)),
    ).toEqual([
      `agent_sandbox_suspend_total{${labels},result="requested"} 1`,
      `agent_sandbox_suspend_total{${labels},result="pod_terminated"} 1`,
      `agent_sandbox_resume_total{${labels},result="requested"} 1`,
      `agent_sandbox_resume_total{${labels},result="ready"} 1`,
      `agent_sandbox_suspend_latency_ms_count{${labels}} 1`,
      `agent_sandbox_resume_latency_ms_count{${labels}} 1`,
      `agent_sandbox_expired_total{${labels},shutdown_policy="Retain"} 1`,
    ]);
  });

  it('is suspended by replicas 0', async () => {
    await startReady({ replicas: 1 });
    h.edit((spec) => (spec.replicas = 0));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined || h.pod() === undefined, 'the Pod goes');
    h.removePod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect(h.status().replicas).toBeUndefined();
  });

  it('that is suspended leaves a foreign Pod of its name alone', async () => {
    const foreign = { metadata: { ...KEY, ownerReferences: [STRANGER] }, spec: { containers: [] } };
    h.api.seed(pods, foreign);
    h.create({ operatingMode: 'Suspended' });
    await h.startController();
    await h.until(() => h.status().conditions !== undefined, 'there is a status');
    expect(summary()).toEqual(['Ready=False/SandboxSuspended', 'Suspended=False/PodNotOwned']);
    expect(h.status().selector).toBeDefined();
    expect(h.pod()?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('reports a foreign Pod of its name', async () => {
    h.api.seed(pods, { metadata: { ...KEY, ownerReferences: [STRANGER] }, spec: { containers: [] } });
    h.create();
    await h.startController();
    await h.until(() => h.status().conditions !== undefined, 'there is a status');
    expect(summary()).toEqual([
      'PodScheduled=Unknown/PodSchedulingUnknown',
      'Ready=False/ReconcilerError',
      'Suspended=False/NotSuspended',
    ]);
    expect(message('Ready')).toBe(
      'Error seen: pod "notebook" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "notebook"',
    );
  });

  it('takes over an adoptable Pod that its cache cannot show', async () => {
    const labels = { 'agents.x-k8s.io/adoptable': 'true' };
    h.api.seed(pods, { metadata: { ...KEY, labels }, spec: { containers: [] } });
    h.create();
    await h.startController();
    await h.until(() => h.pod()?.metadata.ownerReferences?.length === 1, 'the Pod is ours');
    h.runPod();
    await h.untilReady();
  });

  it('reports why the API server rejects its Pod', async () => {
    const answer = { status: 422, reason: 'Invalid', message: 'spec.containers[0].image: Required value' };
    h.api.faults.failNext({ match: { verb: 'create', resource: 'pods' }, answer, times: 2 });
    await h.startController();
    h.create();
    await h.until(() => h.status().conditions !== undefined, 'there is a status');
    expect(message('Ready')).toMatch(/^Error seen: .*spec\.containers\[0\]\.image: Required value/);
    await h.until(() => h.pod() !== undefined, 'the next try creates the Pod');
  });

  it('with two Pods reports them once and touches neither', async () => {
    await startReady();
    const first = h.pod();
    const metadata = { ...first?.metadata, name: 'other', uid: 'uid-other', resourceVersion: undefined };
    h.api.clearRequests();
    h.api.seed(pods, { ...first, metadata, spec: { containers: [] } });
    await h.until(() => summary().includes('Ready=False/MultiplePods'), 'MultiplePods is shown');
    expect(message('Ready')).toBe(
      'multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod',
    );
    expect(h.writes()).toEqual(['patch sandboxes/status']);
    await h.until(() => h.api.objects(events).length === 1, 'there is an Event');
    h.api.remove(pods, { ...KEY, name: 'other' });
    await h.untilReady();
  });

  it('keeps the metadata of its Pod up to date with its template', async () => {
    await startReady();
    h.edit((spec) => (spec.podTemplate.metadata = { labels: { team: 'a' } }));
    await h.until(() => h.pod()?.metadata.labels?.['team'] === 'a', 'the label is there');
    h.edit((spec) => (spec.podTemplate.metadata = {}));
    await h.until(() => h.pod()?.metadata.labels?.['team'] === undefined, 'the label is gone');
  });

  it('reports a disk that lost its volume, and keeps running', async () => {
    await startReady();
    h.api.change(persistentVolumeClaims, { ...KEY, name: 'work-notebook' }, (disk) => {
      disk.status = { phase: 'Lost' };
    });
    const warned = (): boolean => h.api.objects(events).some(({ reason }) => reason === 'VolumeLost');
    await h.until(warned, 'there is an Event');
    expect(summary()).toContain('Ready=True/DependenciesReady');
  });

  it('gets its Service back, and loses it when it no longer wants it', async () => {
    await startReady({ service: true });
    expect(message('Ready')).toBe('Pod is Ready; Service Exists');
    h.api.remove(services, KEY);
    await h.until(() => h.serviceNames().length === 1, 'the Service is back');
    h.api.change(services, KEY, (service) => (service.spec = { ...service.spec, selector: { app: 'stolen' } }));
    const selector = (): object | undefined => h.api.object(services, KEY)?.spec?.selector;
    await h.until(() => Object.keys(selector() ?? {})[0] === 'agents.x-k8s.io/sandbox-name-hash', 'it selects the Pod');
    expect(Object.keys(selector() ?? {})).toHaveLength(1);
    h.edit((spec) => (spec.service = false));
    await h.until(() => h.serviceNames().length === 0 && h.status().service === undefined, 'the Service is gone');
    expect(message('Ready')).toBe('Pod is Ready');
  });
});

describe('an expiry', () => {
  it('that retains the Sandbox keeps its conditions and its disk', async () => {
    await startReady({ service: true });
    const seen: string[] = [];
    h.api.onChange(sandboxes, () => {
      const ready = h.status().conditions?.find((condition) => condition.type === 'Ready')?.reason ?? '';
      seen.push(`${ready} pod:${h.pod()?.metadata.deletionTimestamp === undefined ? 'there' : 'going'}`);
    });
    h.edit((spec) => (spec.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.status().startedAt === undefined, 'the status is cleared');
    expect(seen).toContain('SandboxExpired pod:there');
    expect(Object.keys(h.status()).sort()).toEqual(['conditions', 'observedGeneration', 'phase']);
    expect(summary()).toEqual(['Ready=False/SandboxExpired', 'Suspended=False/NotSuspended']);
    expect([h.serviceNames(), h.diskNames()]).toEqual([[], ['work-notebook']]);
    h.removePod();
    h.edit((spec) => delete spec.shutdownTime);
    await h.until(() => h.pod() !== undefined, 'it is brought back');
  });

  it('that retains the Sandbox deletes the disk when whenExpired is Delete', async () => {
    await startReady({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenExpired: 'Delete' } });
    expect(h.api.objects(persistentVolumeClaims)[0]?.metadata.ownerReferences).toBeUndefined();
    h.edit((spec) => (spec.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'the Pod goes');
    h.removePod();
    await h.until(() => h.diskNames().length === 0, 'the disk is gone');
    expect(h.sandbox().status?.phase).toBe('Expired');
  });

  it('with Delete deletes everything', async () => {
    await startReady({ shutdownPolicy: 'Delete' });
    h.edit((spec) => (spec.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.api.object(sandboxes, KEY) === undefined, 'the Sandbox is gone');
    h.removePod();
    await h.until(() => h.diskNames().length === 0, 'the disk is gone');
  });

  it('with Delete keeps retained disks for the next Sandbox of the name', async () => {
    const persistentVolumeClaimRetentionPolicy = { whenExpired: 'Retain' } as const;
    await startReady({ shutdownPolicy: 'Delete', persistentVolumeClaimRetentionPolicy });
    const [disk] = h.api.objects(persistentVolumeClaims);
    h.edit((spec) => (spec.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.api.object(sandboxes, KEY) === undefined, 'the Sandbox is gone');
    h.removePod();
    h.create({ volumeClaimTemplates: [WORK] });
    await h.until(() => h.api.objects(persistentVolumeClaims)[0]?.metadata.ownerReferences?.length === 1, 'it is ours');
    expect(h.api.objects(persistentVolumeClaims).map((disk) => disk.metadata.uid)).toEqual([disk?.metadata.uid]);
  });
});

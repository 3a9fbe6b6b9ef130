import { nameHash, sandboxes } from '@sandlot/api-types';
import { events, leases, persistentVolumeClaims, persistentVolumes, pods, services } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NAMESPACE,
  READY,
  RealCluster,
  SUSPENDED,
  at,
  container,
  eventually,
  getSummary,
  work,
} from '../test/real-cluster.ts';

const LEASE = { namespace: 'default', name: 'sandlot-sandbox-controller' };
const ACCOUNT = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: NAMESPACE, name: 'notebook' } };

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ kwokNodes: 1, scheduler: true });
  await cluster.apply(ACCOUNT);
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A volume that the claim `name` binds to: the control plane has no provisioner. */
const offerVolume = (name: string): Promise<void> =>
  cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { namespace: NAMESPACE, name },
      hostPath: { path: `/tmp/${name}` },
      storageClassName: '',
    },
  });

describe('on a real API server, a Sandbox', () => {
  it('becomes Ready with the documented status', async () => {
    const created = await cluster.create('whole', { service: true });
    const { status } = await cluster.until('whole', READY);
    const text: unknown = expect.any(String);
    const time: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const common = { observedGeneration: 1, lastTransitionTime: time };
    expect(status).toEqual({
      conditions: [
        { type: 'PodScheduled', status: 'True', reason: 'PodScheduled', message: '', ...common },
        {
          type: 'Ready',
          status: 'True',
          reason: 'DependenciesReady',
          message: 'Pod is Ready; Service Exists',
          ...common,
        },
        { type: 'Suspended', status: 'False', reason: 'NotSuspended', message: 'Sandbox is not suspended', ...common },
      ],
      service: 'whole',
      serviceFQDN: 'whole.team-a.svc.cluster.local',
      selector: `agents.x-k8s.io/sandbox-name-hash=${nameHash('whole')}`,
      podIPs: [text],
      nodeName: text,
      replicas: 1,
      observedGeneration: 1,
      phase: 'Running',
      startedAt: created.metadata.creationTimestamp,
    });
  });

  it('gets its Pod back under its name on the same disk', async () => {
    await offerVolume('work-keeper');
    await cluster.create('keeper', { volumeClaimTemplates: [work] });
    await cluster.until('keeper', READY);
    const pod = await cluster.pod('keeper');
    await cluster.client.delete(pods, at('keeper'), { gracePeriodSeconds: 0 });
    const successor = await cluster.untilPod('keeper', pod);
    await cluster.until('keeper', READY);
    expect(successor.spec.volumes?.map((volume) => volume.persistentVolumeClaim?.claimName)).toContain('work-keeper');
    expect((await cluster.client.get(persistentVolumes, { name: 'work-keeper' })).status?.phase).toBe('Bound');
  });

  it('is suspended and resumed, and its Service stays', async () => {
    await cluster.create('sleeper', { service: true });
    await cluster.until('sleeper', READY);
    await cluster.client.mergePatch(sandboxes, at('sleeper'), { spec: { operatingMode: 'Suspended' } });
    const asleep = await cluster.until('sleeper', SUSPENDED);
    expect(getSummary(asleep)).toEqual(['Ready=False/SandboxSuspended', 'Suspended=True/PodTerminated']);
    expect(asleep.metadata.annotations ?? {}).not.toHaveProperty(['agents.x-k8s.io/pod-name']);
    expect(await cluster.isGone(pods, 'sleeper')).toBe(true);
    expect(await cluster.isGone(services, 'sleeper')).toBe(false);
    await cluster.client.mergePatch(sandboxes, at('sleeper'), { spec: { operatingMode: 'Running' } });
    const awake = await cluster.until('sleeper', READY);
    expect(awake.status?.resumedAt).toBeDefined();
    const reasons = await eventually(
      async () => (await cluster.client.list(events, { namespace: NAMESPACE })).items.map((event) => event.reason),
      (found) => found.includes('Suspended') && found.includes('Resumed'),
    );
    expect(reasons).toEqual(expect.arrayContaining(['Suspended', 'Resumed']));
  });

  it('authored in v1alpha1 gets a Service it does not set, and is scaled by kubectl', async () => {
    await offerVolume('work-notebook');
    await cluster.apply({
      apiVersion: 'agents.x-k8s.io/v1alpha1',
      kind: 'Sandbox',
      metadata: at('notebook'),
      spec: {
        podTemplate: {
          metadata: { labels: { team: 'a' }, annotations: { owner: 'ana' } },
          spec: { serviceAccountName: 'notebook', containers: [{ ...container, ports: [{ containerPort: 8080 }] }] },
        },
        volumeClaimTemplates: [work],
      },
    });
    const { status } = await cluster.until('notebook', READY);
    expect(status?.serviceFQDN).toBe('notebook.team-a.svc.cluster.local');
    const service = await cluster.client.get(services, at('notebook'));
    expect(service.spec?.ports).toEqual([{ name: 'p-8080-tcp', port: 8080, targetPort: 8080, protocol: 'TCP' }]);
    await cluster.kubectl(['scale', 'sandbox', 'notebook', '--replicas=0']);
    const asleep = await cluster.until('notebook', SUSPENDED);
    expect(asleep.spec.replicas).toBe(0);
    expect(await cluster.isGone(persistentVolumeClaims, 'work-notebook')).toBe(false);
  });

  it('authored in v1beta1 gets no Service it does not set', async () => {
    await cluster.create('plain');
    const { status } = await cluster.until('plain', READY);
    expect(status?.service).toBeUndefined();
    expect(await cluster.isGone(services, 'plain')).toBe(true);
  });

  it('does not take an unowned Pod, and reports why', async () => {
    await cluster.client.create(pods, {
      metadata: at('taken'),
      spec: { containers: [{ name: 'c', image: 'busybox' }] },
    });
    await cluster.create('taken');
    const { status } = await cluster.until('taken', 'Ready=False/ReconcilerError');
    expect(status?.conditions?.find((condition) => condition.type === 'Ready')?.message).toBe(
      'Error seen: cannot adopt unowned pod "taken": missing required pool authorization label ' +
        '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
    );
  });

  it('reports why the API server rejects its template', async () => {
    await cluster.create('imageless', { podTemplate: { spec: { containers: [{ name: 'main' }] } } });
    const { status } = await cluster.until('imageless', 'Ready=False/InvalidConfiguration');
    expect(status?.conditions?.find((condition) => condition.type === 'Ready')?.message).toMatch(
      /^Error seen: .*spec\.containers\[0\]\.image: Required value/,
    );
  });

  it('expires on the second, and a retained one can be brought back', async () => {
    const shutdownTime = new Date(Date.now() + 4_000).toISOString();
    await cluster.create('brief', { shutdownTime });
    const expired = await cluster.until('brief', 'Ready=False/SandboxExpired');
    const at0 = expired.status?.conditions?.find((condition) => condition.type === 'Ready')?.lastTransitionTime ?? '';
    expect(Date.parse(at0)).toBeGreaterThanOrEqual(Math.floor(Date.parse(shutdownTime) / 1_000) * 1_000);
    await cluster.untilGone(pods, 'brief');
    await cluster.client.mergePatch(sandboxes, at('brief'), { spec: { shutdownTime: null } });
    await cluster.until('brief', READY);
  });

  it('is deleted with its children, in the foreground too', async () => {
    await offerVolume('work-doomed');
    await cluster.create('doomed', { service: true, volumeClaimTemplates: [work] });
    await cluster.until('doomed', READY);
    await cluster.client.delete(sandboxes, at('doomed'), { propagationPolicy: 'Foreground' });
    await cluster.untilGone(sandboxes, 'doomed');
    expect(await Promise.all([cluster.isGone(pods, 'doomed'), cluster.isGone(services, 'doomed')])).toEqual([
      true,
      true,
    ]);
    await cluster.untilGone(persistentVolumeClaims, 'work-doomed');
  });

  it('that retains its disks leaves them to the next Sandbox of its name', async () => {
    await offerVolume('work-heir');
    const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Retain' } as const;
    const spec = { volumeClaimTemplates: [work], persistentVolumeClaimRetentionPolicy };
    await cluster.create('heir', spec);
    await cluster.until('heir', READY);
    const { uid } = (await cluster.client.get(persistentVolumeClaims, at('work-heir'))).metadata;
    await cluster.client.delete(sandboxes, at('heir'), { propagationPolicy: 'Foreground' });
    await cluster.untilGone(sandboxes, 'heir');
    await cluster.create('heir', spec);
    await cluster.until('heir', READY);
    expect((await cluster.client.get(persistentVolumeClaims, at('work-heir'))).metadata.uid).toBe(uid);
    expect((await cluster.client.get(persistentVolumes, { name: 'work-heir' })).status?.phase).toBe('Bound');
  });
});

describe('the process', () => {
  it('is ready and live, and serves its metrics', async () => {
    const get = (port: number, path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    expect((await get(cluster.controller.probePort, '/readyz')).status).toBe(200);
    expect((await get(cluster.controller.probePort, '/livez')).status).toBe(200);
    const lines = (await (await get(cluster.controller.metricsPort, '/metrics')).text()).split('\n');
    const value = (start: string): number =>
      Number(
        lines
          .find((line) => line.startsWith(start))
          ?.split(' ')
          .at(-1),
      );
    expect(value('agent_sandbox_creation_latency_ms_count')).toBeGreaterThan(0);
    expect(value('sandlot_controller_leader')).toBe(1);
  });

  it('releases its lease when it stops, and the next process takes over', async () => {
    expect((await cluster.client.get(leases, LEASE)).spec?.holderIdentity).toBe('first');
    expect(await cluster.controller.stop()).toBe(0);
    expect((await cluster.client.get(leases, LEASE)).spec?.holderIdentity ?? '').toBe('');
    await cluster.create('handed');
    await cluster.startController('second');
    await cluster.until('handed', READY);
    expect((await cluster.client.get(leases, LEASE)).spec?.holderIdentity).toBe('second');
  });
});

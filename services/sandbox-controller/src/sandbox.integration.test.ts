import { fileURLToPath } from 'node:url';
import { nameHash, sandboxes, sandboxesV1Alpha1 } from '@sandlot/api-types';
import type { Sandbox, SandboxSpec } from '@sandlot/api-types';
import {
  apiVersionOf,
  createKubeClient,
  events,
  isNotFound,
  leases,
  loadCredentials,
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
} from '@sandlot/kube';
import type { KubeClient, KubeObject, Resource } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service/testing';
import type { ServiceProcess } from '@sandlot/service/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MAIN = new URL('main.ts', import.meta.url);
const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const USER = 'sandbox-controller';
const NAMESPACE = 'team-a';
const LEASE = { namespace: 'default', name: 'sandlot-sandbox-controller' };

/** All the controller may do: a verb it needs and does not have here fails the tests. */
const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes/status'], verbs: ['patch'] },
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes/finalizers'], verbs: ['update'] },
    {
      apiGroups: [''],
      resources: ['pods', 'services', 'persistentvolumeclaims'],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
  ],
};
const BINDING = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: USER },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: USER },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
};
const ACCOUNT = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: NAMESPACE, name: 'notebook' } };

let plane: ControlPlane;
let client: KubeClient;
let controller: ServiceProcess;
let env: Record<string, string>;

beforeAll(async () => {
  plane = await startControlPlane({ crds: [CRDS], kwokNodes: 1, scheduler: true, controllerManager: true });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await applyYaml(ROLE, BINDING, ACCOUNT);
  env = { KUBECONFIG: await plane.kubeconfigFor(USER), POD_NAME: 'first', LOG_LEVEL: 'info' };
  controller = await startServiceProcess(MAIN, env);
});
afterAll(async () => {
  await controller.stop();
  await client.close();
  await plane.stop();
});

async function applyYaml(...manifests: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: manifests };
  const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], JSON.stringify(list));
  if (code !== 0) throw new Error(stderr);
}

const at = (name: string) => ({ namespace: NAMESPACE, name });
const container = { name: 'main', image: 'busybox', command: ['sleep', 'infinity'] };
const create = (name: string, spec: Partial<SandboxSpec> = {}, resource = sandboxes): Promise<Sandbox> =>
  client.create(resource, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: at(name),
    spec: { podTemplate: { spec: { containers: [container] } }, ...spec },
  });
const sandbox = (name: string): Promise<Sandbox> => client.get(sandboxes, at(name));
const summaryOf = ({ status }: Sandbox): string[] =>
  (status?.conditions ?? []).map((condition) => `${condition.type}=${condition.status}/${condition.reason}`);

/** Looks again and again for what `read` finds; fails after 30 s with what it saw last. */
async function eventually<T>(read: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const found = await read();
    if (holds(found)) return found;
    if (performance.now() > deadline) throw new Error(`last seen: ${JSON.stringify(found, undefined, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const until = (name: string, condition: string): Promise<Sandbox> =>
  eventually(
    () => sandbox(name),
    (found) => summaryOf(found).includes(condition),
  );
const READY = 'Ready=True/DependenciesReady';

/** Values of Ready that a watcher sees from then on, repetitions left out, until it is lost and back; at most 30 s. */
async function readyHistory({ metadata: { name = '', resourceVersion } }: Sandbox): Promise<string[]> {
  const seen: string[] = [];
  const selection = { namespace: NAMESPACE, fieldSelector: `metadata.name=${name}`, timeoutSeconds: 30 };
  for await (const event of client.watch(sandboxes, { ...selection, resourceVersion })) {
    if (event.type === 'BOOKMARK') continue;
    const ready = event.object.status?.conditions?.find((condition) => condition.type === 'Ready')?.status ?? 'none';
    if (seen.at(-1) !== ready) seen.push(ready);
    if (seen.length === 2) break;
  }
  return seen;
}

async function isGone(resource: Resource<KubeObject>, name: string): Promise<boolean> {
  try {
    await client.get(resource, at(name));
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

/** A volume that the claim `name` binds to: the control plane has no provisioner. */
async function offerVolume(name: string): Promise<void> {
  await applyYaml({
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
}

const work = {
  metadata: { name: 'work' },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
};

describe('on a real API server, a Sandbox', () => {
  it('becomes Ready, and its whole status is what the contract says', async () => {
    const created = await create('whole', { service: true });
    const { status } = await until('whole', READY);
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
    await create('keeper', { volumeClaimTemplates: [work] });
    const known = await until('keeper', READY);
    const [disk, pod] = await Promise.all([
      client.get(persistentVolumeClaims, at('work-keeper')),
      client.get(pods, at('keeper')),
    ]);
    const seen = readyHistory(known);
    await client.delete(pods, at('keeper'), { gracePeriodSeconds: 0 });
    expect(await seen).toEqual(['False', 'True']);
    const successor = await client.get(pods, at('keeper'));
    expect(successor.metadata.uid).not.toBe(pod.metadata.uid);
    expect(successor.spec.volumes?.map((volume) => volume.persistentVolumeClaim?.claimName)).toContain('work-keeper');
    expect((await client.get(persistentVolumeClaims, at('work-keeper'))).metadata.uid).toBe(disk.metadata.uid);
  });

  it('is suspended and resumed, and its Service stays', async () => {
    await create('sleeper', { service: true });
    await until('sleeper', READY);
    await client.mergePatch(sandboxes, at('sleeper'), { spec: { operatingMode: 'Suspended' } });
    const asleep = await until('sleeper', 'Suspended=True/PodTerminated');
    expect(summaryOf(asleep)).toEqual(['Ready=False/SandboxSuspended', 'Suspended=True/PodTerminated']);
    expect(asleep.metadata.annotations ?? {}).not.toHaveProperty(['agents.x-k8s.io/pod-name']);
    expect(await isGone(pods, 'sleeper')).toBe(true);
    expect(await isGone(services, 'sleeper')).toBe(false);
    await client.mergePatch(sandboxes, at('sleeper'), { spec: { operatingMode: 'Running' } });
    const awake = await until('sleeper', READY);
    expect(awake.status?.resumedAt).toBeDefined();
    const reasons = await eventually(
      async () => (await client.list(events, { namespace: NAMESPACE })).items.map((event) => event.reason),
      (found) => found.includes('Suspended') && found.includes('Resumed'),
    );
    expect(reasons).toEqual(expect.arrayContaining(['Suspended', 'Resumed']));
  });

  it('authored in v1alpha1 gets a Service it did not ask for, and is scaled by kubectl', async () => {
    await offerVolume('work-notebook');
    await applyYaml({
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
    const { status } = await until('notebook', READY);
    expect(status?.serviceFQDN).toBe('notebook.team-a.svc.cluster.local');
    const service = await client.get(services, at('notebook'));
    expect(service.spec?.ports).toEqual([{ name: 'p-8080-tcp', port: 8080, targetPort: 8080, protocol: 'TCP' }]);
    const { code } = await plane.kubectl(['scale', 'sandbox', 'notebook', '--replicas=0', '-n', NAMESPACE]);
    expect(code).toBe(0);
    const asleep = await until('notebook', 'Suspended=True/PodTerminated');
    expect(asleep.spec.replicas).toBe(0);
    expect(await isGone(persistentVolumeClaims, 'work-notebook')).toBe(false);
  });

  it('authored in v1beta1 gets no Service it did not ask for', async () => {
    await create('plain');
    const { status } = await until('plain', READY);
    expect(status?.service).toBeUndefined();
    expect(await isGone(services, 'plain')).toBe(true);
  });

  it('written through one version reads the same through the other', async () => {
    await create('both', { replicas: 1 }, sandboxesV1Alpha1);
    await until('both', READY);
    const [alpha, beta] = await Promise.all([client.get(sandboxesV1Alpha1, at('both')), sandbox('both')]);
    expect(alpha.spec).toEqual(beta.spec);
    expect(alpha.status).toEqual(beta.status);
  });

  it('is refused a Pod that belongs to nobody we know, and says so', async () => {
    await client.create(pods, { metadata: at('taken'), spec: { containers: [{ name: 'c', image: 'busybox' }] } });
    await create('taken');
    const { status } = await until('taken', 'Ready=False/ReconcilerError');
    expect(status?.conditions?.find((condition) => condition.type === 'Ready')?.message).toBe(
      'Error seen: cannot adopt unowned pod "taken": missing required pool authorization label ' +
        '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
    );
  });

  it('tells what the API server has against its template', async () => {
    await create('imageless', { podTemplate: { spec: { containers: [{ name: 'main' }] } } });
    const { status } = await until('imageless', 'Ready=False/ReconcilerError');
    expect(status?.conditions?.find((condition) => condition.type === 'Ready')?.message).toMatch(
      /^Error seen: .*spec\.containers\[0\]\.image: Required value/,
    );
  });

  it('expires on the second, and a retained one can be brought back', async () => {
    const shutdownTime = new Date(Date.now() + 4_000).toISOString();
    await create('brief', { shutdownTime });
    const expired = await until('brief', 'Ready=False/SandboxExpired');
    const at0 = expired.status?.conditions?.find((condition) => condition.type === 'Ready')?.lastTransitionTime ?? '';
    expect(Date.parse(at0)).toBeGreaterThanOrEqual(Math.floor(Date.parse(shutdownTime) / 1_000) * 1_000);
    await eventually(
      () => isGone(pods, 'brief'),
      (gone) => gone,
    );
    await client.mergePatch(sandboxes, at('brief'), { spec: { shutdownTime: null } });
    await until('brief', READY);
  });

  it('takes its children with it when it is deleted, in the foreground too', async () => {
    await offerVolume('work-doomed');
    await create('doomed', { service: true, volumeClaimTemplates: [work] });
    await until('doomed', READY);
    await client.delete(sandboxes, at('doomed'), { propagationPolicy: 'Foreground' });
    await eventually(
      () => isGone(sandboxes, 'doomed'),
      (gone) => gone,
    );
    expect(await Promise.all([isGone(pods, 'doomed'), isGone(services, 'doomed')])).toEqual([true, true]);
    await eventually(
      () => isGone(persistentVolumeClaims, 'work-doomed'),
      (gone) => gone,
    );
  });

  it('that retains its disks leaves them to the next Sandbox of its name', async () => {
    await offerVolume('work-heir');
    const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Retain' } as const;
    const spec = { volumeClaimTemplates: [work], persistentVolumeClaimRetentionPolicy };
    await create('heir', spec);
    await until('heir', READY);
    const { uid } = (await client.get(persistentVolumeClaims, at('work-heir'))).metadata;
    await client.delete(sandboxes, at('heir'), { propagationPolicy: 'Foreground' });
    await eventually(
      () => isGone(sandboxes, 'heir'),
      (gone) => gone,
    );
    await create('heir', spec);
    await until('heir', READY);
    expect((await client.get(persistentVolumeClaims, at('work-heir'))).metadata.uid).toBe(uid);
    expect((await client.get(persistentVolumes, { name: 'work-heir' })).status?.phase).toBe('Bound');
  });
});

describe('the process', () => {
  it('is ready and live, and tells what it measures', async () => {
    const get = (port: number, path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    expect((await get(controller.probePort, '/readyz')).status).toBe(200);
    expect((await get(controller.probePort, '/livez')).status).toBe(200);
    const lines = (await (await get(controller.metricsPort, '/metrics')).text()).split('\n');
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

  it('hands its work to the next one when it is told to end', async () => {
    expect((await client.get(leases, LEASE)).spec?.holderIdentity).toBe('first');
    expect(await controller.stop()).toBe(0);
    expect((await client.get(leases, LEASE)).spec?.holderIdentity ?? '').toBe('');
    await create('handed');
    controller = await startServiceProcess(MAIN, { ...env, POD_NAME: 'second' });
    await until('handed', READY);
    expect((await client.get(leases, LEASE)).spec?.holderIdentity).toBe('second');
  });
});

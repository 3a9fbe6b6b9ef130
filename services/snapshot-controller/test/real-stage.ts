import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sandboxes, sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSpec } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces, nodes, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { KubeClient, OwnerReference, Pod } from '@sandlot/kube';
import { readCompleteLines, startControlPlane, startNats } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { systemClock } from '@sandlot/std';
import { writeTlsDir } from './harness.ts';
import { TestAgent } from './test-agent.ts';

const MAIN = new URL('../src/main.ts', import.meta.url);
const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const USER = 'snapshot-controller';
/** Other users with the rights of the controller. */
const GROUP = 'snapshot-controllers';
const SYSTEM = 'sandlot-system';
const PLACE = 'team-a';
const NODE = 'node-1';
const PATIENCE_MS = 30_000;
const MARK = 'sandlot.dev/restore-snapshot';

/** Everything the controller may do: a verb that it needs and that is missing here fails the tests. */
const RULES = [
  { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshots'], verbs: ['delete', 'get', 'list', 'patch', 'watch'] },
  { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshots/status'], verbs: ['patch'] },
  { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshotclasses'], verbs: ['list', 'watch'] },
  { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get'] },
  { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxtemplates'], verbs: ['create', 'get'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['create', 'delete', 'get'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch', 'watch'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'patch', 'watch'] },
];

export interface RealStageOptions {
  /** Whether the API server keeps an audit log. */
  readonly audit?: boolean;
  /** The namespaces of tenants. Methods use the first one unless they take another. */
  readonly places?: readonly string[];
}

/** Processes of the controller on a real API server and a real NATS, and one node whose agent the test plays. */
export class RealStage implements AsyncDisposable {
  readonly client: KubeClient;
  readonly agent: TestAgent;
  readonly nats: Server;
  readonly #plane: ControlPlane;
  readonly #env: Readonly<Record<string, string>>;
  readonly #processes = new Set<ServiceProcess>();

  private constructor(parts: Pick<RealStage, 'client' | 'agent' | 'nats'>, plane: ControlPlane, env: RealStage['env']) {
    this.client = parts.client;
    this.agent = parts.agent;
    this.nats = parts.nats;
    this.#plane = plane;
    this.#env = env;
  }

  get env(): Readonly<Record<string, string>> {
    return this.#env;
  }

  static async start({ audit = false, places = [PLACE] }: RealStageOptions = {}): Promise<RealStage> {
    const [plane, nats, agent, tlsDir] = await Promise.all([
      startControlPlane({ crds: [CRDS], audit }),
      startNats({ jetstream: true }),
      TestAgent.start({ node: NODE, bucket: new Map() }),
      writeTlsDir(),
    ]);
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    const env = {
      KUBECONFIG: await plane.kubeconfigFor(USER),
      POD_NAMESPACE: SYSTEM,
      SNAPSHOT_AGENT_NAMESPACE: SYSTEM,
      NATS_URL: nats.url,
      SNAPSHOT_AGENT_TLS_DIR: tlsDir,
      SNAPSHOT_AGENT_PORT: String(agent.port),
    };
    const stage = new RealStage({ client, agent, nats }, plane, env);
    await stage.#prepare(places);
    return stage;
  }

  async startController(env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    const process = await startServiceProcess(MAIN, { ...this.#env, LOG_LEVEL: 'info', ...env });
    this.#processes.add(process);
    return process;
  }

  /** Path of a kubeconfig of a user with the rights of the controller, for another replica. */
  kubeconfigFor(user: string): Promise<string> {
    return this.#plane.kubeconfigFor(user, [GROUP]);
  }

  /** The audit log so far. */
  readAuditLog(): Promise<readonly string[]> {
    return readCompleteLines(this.#plane.auditLogPath ?? '');
  }

  /** SIGKILL. */
  async kill(process: ServiceProcess): Promise<void> {
    this.#processes.delete(process);
    await process.kill();
  }

  /** A Sandbox that hibernates, its Pod and its hibernation, as the sandbox-controller makes them. */
  async hibernate(name: string, namespace = PLACE): Promise<OwnerReference> {
    const asleep = { operatingMode: 'Suspended', suspensionStrategy: { type: 'Hibernate' } } as const;
    const owner = await this.addSandbox({ namespace, name }, asleep);
    await this.client.create(sandboxSnapshots, {
      metadata: { namespace, name, ownerReferences: [owner] },
      spec: { sandboxName: name, whenSaved: 'StayPaused' },
    });
    return owner;
  }

  /** A Sandbox and its Pod. */
  async addSandbox(key: ObjectKey, spec: Partial<SandboxSpec> = {}): Promise<OwnerReference> {
    const { namespace, name } = key;
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
    const made = await this.client.create(sandboxes, { metadata: { ...key }, spec: { podTemplate, ...spec } });
    const { uid = '' } = made.metadata;
    const owner = { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true };
    await this.addPod(name, { ownerReferences: [owner] }, namespace);
    return owner;
  }

  /** A Sandbox that runs, its Pod and its disk, and a snapshot of it that others may start from. */
  async saveWithDisk(name: string): Promise<void> {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
    const disk = {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '1Gi' } },
    };
    const volumeClaimTemplates = [{ metadata: { name: 'work' }, spec: disk }];
    const made = await this.client.create(sandboxes, {
      metadata: at(name),
      spec: { podTemplate, volumeClaimTemplates },
    });
    const { uid = '' } = made.metadata;
    const ownerReferences = [{ apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true }];
    await this.client.create(persistentVolumeClaims, {
      metadata: { ...at(`work-${name}`), ownerReferences },
      spec: disk,
    });
    await this.bind(`work-${name}`);
    await this.addPod(name, { ownerReferences });
    await this.client.create(sandboxSnapshots, { metadata: at(name), spec: { sandboxName: name } });
  }

  /** The volume binder. */
  async bind(claimName: string): Promise<void> {
    const status = { phase: 'Bound', capacity: { storage: '1Gi' } };
    await this.client.mergePatch(persistentVolumeClaims, at(claimName), { status }, { subresource: 'status' });
  }

  async addPod(name: string, metadata: Pod['metadata'], namespace = PLACE): Promise<Pod> {
    const containers = [{ name: 'main', image: 'busybox' }];
    const spec = { nodeName: NODE, automountServiceAccountToken: false, containers };
    await this.client.create(pods, { metadata: { ...metadata, namespace, name }, spec });
    const status = { phase: 'Running', podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] };
    return this.client.mergePatch(pods, { namespace, name }, { status }, { subresource: 'status' });
  }

  /** Replaces the Pod of the Sandbox by one that is to be restored. */
  async addMarkedPod(name: string, of: SandboxSnapshot, podName = name): Promise<Pod> {
    const mark = { [MARK]: of.metadata.uid ?? '' };
    const { ownerReferences } = of.metadata;
    return this.addPod(podName, { ownerReferences, labels: mark, annotations: mark });
  }

  async removePod(name: string): Promise<void> {
    await this.client.delete(pods, at(name), { gracePeriodSeconds: 0 });
  }

  async deleteSnapshot(name: string): Promise<void> {
    await this.client.delete(sandboxSnapshots, at(name));
  }

  /** The SandboxSnapshot once it is as wanted; undefined when there is none. */
  async until(
    name: string,
    holds: (found: SandboxSnapshot | undefined) => boolean,
  ): Promise<SandboxSnapshot | undefined> {
    const deadlineMs = systemClock.monotonic() + PATIENCE_MS;
    for (;;) {
      const found = await this.client.find(sandboxSnapshots, at(name));
      if (holds(found)) return found;
      if (systemClock.monotonic() > deadlineMs) {
        throw new Error(`last seen: ${JSON.stringify(found?.status)}, asked: ${this.agent.requests.join(', ')}`);
      }
      await systemClock.sleep(50);
    }
  }

  async untilPhase(name: string, phase: string): Promise<SandboxSnapshot> {
    const found = await this.until(name, (object) => object?.status?.phase === phase);
    if (found === undefined) throw new Error(`SandboxSnapshot ${name} is gone`);
    return found;
  }

  async readNodeLabel(): Promise<string | undefined> {
    return (await this.client.get(nodes, { name: NODE })).metadata.labels?.['sandlot.dev/snapshot-fingerprint'];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#processes].map((process) => process.stop()));
    await this.client.close();
    await Promise.all([this.#plane.stop(), this.nats[Symbol.asyncDispose](), this.agent[Symbol.asyncDispose]()]);
    await rm(this.#env['SNAPSHOT_AGENT_TLS_DIR'] ?? '', { recursive: true, force: true });
  }

  async #prepare(places: readonly string[]): Promise<void> {
    for (const name of [SYSTEM, ...places]) await this.client.create(namespaces, { metadata: { name } });
    const account = (namespace: string): object => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace, name: 'default' },
    });
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: USER } };
    const apiGroup = 'rbac.authorization.k8s.io';
    const subjects = [
      { apiGroup, kind: 'User', name: USER },
      { apiGroup, kind: 'Group', name: GROUP },
    ];
    const roleRef = { apiGroup, kind: 'ClusterRole', name: USER };
    await this.#apply([
      ...[SYSTEM, ...places].map(account),
      { ...rbac, kind: 'ClusterRole', rules: RULES },
      { ...rbac, kind: 'ClusterRoleBinding', roleRef, subjects },
    ]);
    await this.client.create(nodes, { metadata: { name: NODE } });
    await this.client.create(sandboxSnapshotClasses, {
      metadata: { name: 'node', annotations: { 'sandlot.dev/is-default-class': 'true' } },
      spec: { store: 'Bucket', disks: { method: 'Clone' } },
    });
    await this.addPod('agent', { labels: { 'app.kubernetes.io/component': 'node' } }, SYSTEM);
  }

  async #apply(items: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, stderr } = await this.#plane.kubectl(['apply', '-f', '-'], list);
    if (code !== 0) throw new Error(stderr);
  }
}

interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

const at = (name: string): ObjectKey => ({ namespace: PLACE, name });

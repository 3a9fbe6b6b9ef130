import { fileURLToPath } from 'node:url';
import { sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxSpec, SandboxStatus } from '@sandlot/api-types';
import {
  getApiVersion,
  createKubeClient,
  defineResource,
  isNotFound,
  loadCredentials,
  namespaces,
  pods,
} from '@sandlot/kube';
import type { JsonObject, KubeClient, KubeObject, ObjectKey, OwnerReference, Pod, Resource } from '@sandlot/kube';
import { readCompleteLines, startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane, ControlPlaneOptions } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { systemClock } from '@sandlot/std';
import { BINDING, ROLE, USER } from './role.ts';

const MAIN = new URL('../src/main.ts', import.meta.url);
const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** Times of a status have whole seconds, so the time of an immediate action may read as the next second. */
const PUNCTUAL_MS = 2_000;

/** Variables of the controller's process. */
type Settings = Readonly<Record<string, string>>;

/** Where every Sandbox of a test lives. */
export const NAMESPACE = 'team-a';

const ACCOUNT = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: NAMESPACE, name: 'default' } };
const LANDLORD = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: NAMESPACE, name: 'landlord' } };

/** The container of every Pod. */
export const container = { name: 'main', image: 'busybox', command: ['sleep', 'infinity'] };

/** A template of one disk. Nothing provisions it. */
export const work = {
  metadata: { name: 'work' },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
};

/** One request in the audit log that succeeded, and when it arrived at the API server. */
export interface AuditedRequest {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Epoch milliseconds, with their fraction. */
  readonly receivedMs: number;
}

/**
 * The controller as its image runs it, with the rights of its role, against a real API server with garbage collection.
 * Without simulated nodes the test plays the kubelet of every Pod.
 */
export class RealCluster implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly client: KubeClient;
  readonly #settings: Settings;
  readonly #over = new AbortController();
  #lagMs = 0;
  #controller: ServiceProcess | undefined;

  private constructor(plane: ControlPlane, client: KubeClient, settings: Settings) {
    this.plane = plane;
    this.client = client;
    this.#settings = settings;
  }

  /** Starts everything; the namespace exists and the controller runs. */
  static async start(options: ControlPlaneOptions = {}, settings: Settings = {}): Promise<RealCluster> {
    const plane = await startControlPlane({ crds: [CRDS], controllerManager: true, ...options });
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    const cluster = new RealCluster(plane, client, { KUBECONFIG: await plane.kubeconfigFor(USER), ...settings });
    await client.create(namespaces, { metadata: { name: NAMESPACE } });
    await cluster.apply(ROLE, BINDING, ACCOUNT, LANDLORD);
    await cluster.startController();
    void cluster.#watchLag();
    return cluster;
  }

  /**
   * The latest time for an action that was due at `dueMs`: within the next second, plus the delay that this machine gives a
   * timer and a request of the test itself.
   */
  latestMs(dueMs: number): number {
    return dueMs + PUNCTUAL_MS + 3 * this.#lagMs;
  }

  async #watchLag(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const beganMs = systemClock.monotonic();
      await systemClock.sleep(LOOK_EVERY_MS, signal);
      const answered = await this.client.get(namespaces, { name: NAMESPACE }, { signal }).catch(() => undefined);
      if (answered === undefined) continue;
      this.#lagMs = Math.max(this.#lagMs, systemClock.monotonic() - beganMs - LOOK_EVERY_MS);
    }
  }

  get controller(): ServiceProcess {
    if (this.#controller === undefined) throw new Error('no controller runs');
    return this.#controller;
  }

  async startController(podName = 'first'): Promise<void> {
    const env = { ...this.#settings, POD_NAME: podName, LOG_LEVEL: 'info' };
    this.#controller = await startServiceProcess(MAIN, env);
  }

  /** SIGKILL: what was queued is left undone. */
  async killController(): Promise<void> {
    await this.controller.kill();
    this.#controller = undefined;
  }

  async apply(...manifests: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: manifests };
    await this.kubectl(['apply', '-f', '-'], JSON.stringify(list));
  }

  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.plane.kubectl(['-n', NAMESPACE, ...args], input);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  create(name: string, spec: Partial<SandboxSpec> = {}, resource: Resource<Sandbox> = sandboxes): Promise<Sandbox> {
    return this.client.create(resource, {
      apiVersion: getApiVersion(resource),
      kind: resource.kind,
      metadata: at(name),
      spec: { podTemplate: { spec: { containers: [container] } }, ...spec },
    });
  }

  sandbox(name: string): Promise<Sandbox> {
    return this.client.get(sandboxes, at(name));
  }

  edit(name: string, spec: JsonObject): Promise<Sandbox> {
    return this.client.mergePatch(sandboxes, at(name), { spec });
  }

  annotate(name: string, annotations: Record<string, string>): Promise<Sandbox> {
    return this.client.mergePatch(sandboxes, at(name), { metadata: { annotations } });
  }

  pod(name: string): Promise<Pod> {
    return this.client.get(pods, at(name));
  }

  /** The object; undefined when there is none. */
  async find<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | undefined> {
    try {
      return await this.client.get(resource, at(name));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async isGone(resource: Resource<KubeObject>, name: string): Promise<boolean> {
    return (await this.find(resource, name)) === undefined;
  }

  async untilGone(resource: Resource<KubeObject>, name: string): Promise<void> {
    await eventually(
      () => this.find(resource, name),
      (found) => found === undefined,
    );
  }

  /** The Sandbox once it has a condition `Type=Status/Reason`. */
  until(name: string, condition: string): Promise<Sandbox> {
    return this.untilSandbox(name, (found) => getSummary(found).includes(condition));
  }

  untilSandbox(name: string, holds: (found: Sandbox) => boolean): Promise<Sandbox> {
    return eventually(() => this.sandbox(name), holds);
  }

  /** The Sandbox once Ready has this message. */
  untilSaid(name: string, message: string): Promise<Sandbox> {
    return this.untilSandbox(name, (found) => findMessage(found, 'Ready') === message);
  }

  /** The Pod of that name, once there is another one than `before`. */
  untilPod(name: string, before?: Pod): Promise<Pod> {
    const found = eventually(
      () => this.find(pods, name),
      (pod) => pod !== undefined && pod.metadata.uid !== before?.metadata.uid,
    );
    return found.then(() => this.pod(name));
  }

  /** The kubelet reports the status of the Pod. */
  report(name: string, status: NonNullable<Pod['status']>): Promise<Pod> {
    return this.client.mergePatch(pods, at(name), { status: json(status) }, { subresource: 'status' });
  }

  /** The kubelet: the Pod runs, has an address and passes its probes, once it exists. */
  async runPod(name: string, before?: Pod): Promise<Pod> {
    await this.untilPod(name, before);
    return this.report(name, running());
  }

  /** Creates a Sandbox and waits until it is Ready. */
  async ready(name: string, spec: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    await this.create(name, spec);
    await this.runPod(name);
    return this.until(name, READY);
  }

  /** The container ends now. */
  endPod(name: string, phase: 'Succeeded' | 'Failed', exitCode = phase === 'Failed' ? 1 : 0): Promise<Pod> {
    const reason = phase === 'Failed' ? 'Error' : 'Completed';
    const times = { startedAt: formatTime(systemClock.now()), finishedAt: formatTime(systemClock.now()) };
    const state = { terminated: { exitCode, reason, ...times } };
    const containerStatus = { name: 'main', image: 'busybox', imageID: '', ready: false, restartCount: 0, state };
    return this.report(name, { ...running(false), phase, containerStatuses: [containerStatus] });
  }

  /** A controller reference to a foreign object. It exists, or garbage collection would delete what it owns. */
  async stranger(): Promise<OwnerReference> {
    const { name } = LANDLORD.metadata;
    const found = await this.client.get(configMaps, at(name));
    return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: found.metadata.uid ?? '', controller: true };
  }

  /** A finalizer that only {@link letGo} removes. */
  async hold(resource: Resource<KubeObject>, name: string): Promise<void> {
    await this.client.mergePatch(resource, at(name), { metadata: { finalizers: ['example.com/hold'] } });
  }

  async letGo(resource: Resource<KubeObject>, name: string): Promise<void> {
    await this.client.mergePatch(resource, at(name), { metadata: { finalizers: null } });
  }

  /** The requests of the controller so far, in the order of arrival. Needs `audit`. */
  async requests(wanted: Partial<AuditedRequest>): Promise<AuditedRequest[]> {
    const lines = await readCompleteLines(this.plane.auditLogPath ?? '');
    return lines
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ user, responseStatus }) => user?.username === USER && (responseStatus?.code ?? 500) < 300)
      .map((event) => readRequest(event))
      .filter((request) =>
        Object.entries({ ...request, ...wanted }).every(([key, value]) => field(request, key) === value),
      )
      .sort((a, b) => a.receivedMs - b.receivedMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#controller?.stop();
    await this.client.close();
    await this.plane.stop();
  }
}

interface AuditEvent {
  readonly verb: string;
  readonly requestReceivedTimestamp: string;
  readonly user?: { readonly username?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
}

function readRequest({ verb, requestReceivedTimestamp, objectRef = {} }: AuditEvent): AuditedRequest {
  const { resource = '', subresource = '', name = '' } = objectRef;
  return { verb, resource, subresource, name, receivedMs: Date.parse(requestReceivedTimestamp) };
}

function field(request: AuditedRequest, key: string): unknown {
  return Object.entries(request).find(([name]) => name === key)?.[1];
}

const configMaps = defineResource<KubeObject>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});

export const READY = 'Ready=True/DependenciesReady';
export const SUSPENDED = 'Suspended=True/PodTerminated';
export const at = (name: string): Required<ObjectKey> => ({ namespace: NAMESPACE, name });

/** The owners that every child of the Sandbox has. */
export function ownedBy({ metadata: { name = '', uid = '' } }: Sandbox): OwnerReference[] {
  const flags = { controller: true, blockOwnerDeletion: true };
  return [{ apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, ...flags }];
}

/** Status of a Pod that runs on a healthy node. */
export function running(ready = true): NonNullable<Pod['status']> {
  const [podIP] = ['10.0.0.7'];
  const conditions = [
    { type: 'PodScheduled', status: 'True' as const },
    { type: 'Ready', status: ready ? ('True' as const) : ('False' as const) },
  ];
  return { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
}

/** `Type=Status/Reason` of every condition. */
export function getSummary({ status }: Sandbox): string[] {
  return (status?.conditions ?? []).map((condition) => `${condition.type}=${condition.status}/${condition.reason}`);
}

export function findMessage({ status }: Sandbox, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.message;
}

/** Epoch milliseconds at which the condition got its status; NaN without the condition. */
export function sinceMs({ status }: Sandbox, type: string): number {
  return Date.parse(status?.conditions?.find((condition) => condition.type === type)?.lastTransitionTime ?? '');
}

/** Stands for a time in {@link wholeStatus}. */
export const TIME = '<time>';

/** The whole status, with {@link TIME} for each text that is exactly a Kubernetes time. */
export function wholeStatus({ status }: Sandbox): unknown {
  return JSON.parse(JSON.stringify(status), (_, value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) ? TIME : value,
  );
}

export type Expected = Omit<SandboxStatus, 'conditions' | 'observedGeneration'> & {
  /** `Type=Status/Reason: message`, in the order of the array. */
  readonly conditions: readonly string[];
  readonly generation?: number;
};

/** What {@link wholeStatus} must equal. */
export function expected({ conditions, generation = 1, ...rest }: Expected): unknown {
  return {
    conditions: conditions.map((text) => buildCondition(text, generation)),
    observedGeneration: generation,
    ...rest,
  };
}

function buildCondition(text: string, observedGeneration: number): unknown {
  const [, type, status, reason, message] = /^(\w+)=(\w+)\/(\w+): (.*)$/s.exec(text) ?? [];
  return { type, status, reason, message, observedGeneration, lastTransitionTime: TIME };
}

const withoutBulk = (key: string, value: unknown): unknown => (key === 'managedFields' ? undefined : value);

/** Polls `read` until `holds`; fails after 30 s with the last value. */
export async function eventually<T>(read: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  const deadlineMs = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const found = await read();
    if (holds(found)) return found;
    if (systemClock.monotonic() > deadlineMs) throw new Error(`last seen: ${JSON.stringify(found, withoutBulk, 1)}`);
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}

/** As Kubernetes writes a time. */
export const formatTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

const json = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;

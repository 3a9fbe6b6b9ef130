import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findCondition,
  labels,
  sandboxes,
  sandboxSnapshotClasses,
  sandboxSnapshots,
  sandboxTemplates,
} from '@sandlot/api-types';
import type {
  SandboxSnapshot,
  SandboxSnapshotClassSpec,
  SandboxSnapshotSpec,
  SandboxSnapshotStatus,
  SandboxSpec,
} from '@sandlot/api-types';
import { nodes, pods } from '@sandlot/kube';
import type { OwnerReference, Pod } from '@sandlot/kube';
import { ControllerHarness, startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { addSnapshotController } from '../src/controller.ts';
import { authority, controllerIdentity } from './certificates.ts';
import { TestAgent } from './test-agent.ts';

export const PLACE = 'team-a';
export const NODE = 'node-1';
const SYSTEM = 'sandlot-system';
export const KEY = { namespace: PLACE, name: 'notebook-1' };
const getAgentPod = (node: string) => ({ namespace: SYSTEM, name: `sandlot-${node}` });

/** Writes the folder by which the controller identifies itself. */
export async function writeTlsDir(
  identity: { readonly cert: string; readonly key: string } = controllerIdentity,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-agent-tls-'));
  const files = { 'tls.crt': identity.cert, 'tls.key': identity.key, 'ca.crt': authority };
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(join(folder, name), content)));
  return folder;
}

/** The whole controller on the in-process API server, one node with its agent, and one Sandbox that hibernates. */
export class Harness extends ControllerHarness {
  readonly agent: TestAgent;
  readonly #tlsDir: string;

  private constructor(environment: Awaited<ReturnType<typeof startTestEnvironment>>, agent: TestAgent, tlsDir: string) {
    super(environment);
    this.agent = agent;
    this.#tlsDir = tlsDir;
  }

  /** Starts everything but the controller. */
  static async start(agent?: TestAgent, tlsDir?: string): Promise<Harness> {
    const environment = await startTestEnvironment([
      sandboxes,
      sandboxSnapshots,
      sandboxSnapshotClasses,
      sandboxTemplates,
    ]);
    const harness = new Harness(environment, agent ?? (await TestAgent.start()), tlsDir ?? (await writeTlsDir()));
    harness.addNode();
    harness.addClass();
    harness.addSandbox();
    return harness;
  }

  async startController(): Promise<TestController> {
    const agents = { tlsDir: this.#tlsDir, port: this.agent.port };
    const places = { namespaces: undefined, agentNamespace: SYSTEM, agentSelector: 'app.kubernetes.io/component=node' };
    const controller = this.run('snapshot-controller', (parts) =>
      addSnapshotController(parts, { concurrency: 4, places, agents }),
    );
    await this.eventually(() => {
      if (!controller.isReady()) throw new Error('the caches are not synced');
    });
    return controller;
  }

  addNode(name = NODE, podIP = '127.0.0.1'): void {
    const conditions = [{ type: 'Ready', status: 'True' as const }];
    this.api.seed(nodes, { metadata: { name }, status: { conditions } });
    this.api.seed(pods, {
      metadata: { ...getAgentPod(name), labels: { 'app.kubernetes.io/component': 'node' } },
      spec: { nodeName: name, containers: [{ name: 'agent', image: 'agent' }] },
      status: { phase: 'Running', podIP },
    });
  }

  /** The node is taken out of the cluster, and its agent with it. */
  removeNode(name = NODE): void {
    this.removeAgent(name);
    this.api.remove(nodes, { name });
  }

  removeAgent(node = NODE): void {
    this.api.remove(pods, getAgentPod(node));
  }

  addClass(spec: SandboxSnapshotClassSpec = {}, name = 'node'): void {
    const annotations = { 'sandlot.dev/is-default-class': 'true' };
    this.api.seed(sandboxSnapshotClasses, { metadata: { name, annotations }, spec });
  }

  removeClass(name = 'node'): void {
    this.api.remove(sandboxSnapshotClasses, { name });
  }

  /** A suspended Sandbox that hibernates, and its Pod, which still runs. */
  addSandbox(name = 'notebook', spec: Partial<SandboxSpec> = {}): OwnerReference {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
    const asleep = { operatingMode: 'Suspended', suspensionStrategy: { type: 'Hibernate' } } as const;
    this.api.seed(sandboxes, {
      metadata: { namespace: PLACE, name },
      spec: { podTemplate, shutdownPolicy: 'Retain', ...asleep, ...spec },
    });
    const owner = this.owner(name);
    this.addPod(name, { owner });
    return owner;
  }

  owner(name = 'notebook'): OwnerReference {
    const { uid = '' } = this.api.object(sandboxes, { namespace: PLACE, name })?.metadata ?? {};
    return { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true };
  }

  addPod(
    name: string,
    parts: { owner?: OwnerReference; namespace?: string; marks?: Partial<Pod['metadata']>; node?: string } = {},
  ): Pod {
    const { owner, namespace = PLACE, marks, node = NODE } = parts;
    const ownerReferences = owner === undefined ? [] : [owner];
    const [pod] = this.api.seed(pods, {
      metadata: { namespace, name, ownerReferences, ...marks },
      spec: { ...(node === '' ? {} : { nodeName: node }), containers: [{ name: 'main', image: 'busybox' }] },
      status: { phase: marks === undefined ? 'Running' : 'Pending' },
    });
    if (pod === undefined) throw new Error('the Pod was not stored');
    return pod;
  }

  /** A Pod that waits to be restored from the snapshot. */
  addMarkedPod(
    name: string,
    parts: {
      owner?: OwnerReference;
      namespace?: string;
      node?: string;
      annotated?: string;
      only?: string;
      pool?: string;
      trace?: string;
    } = {},
  ): Pod {
    const uid = this.snapshot().metadata.uid ?? '';
    const mark = { 'sandlot.dev/restore-snapshot': uid };
    const named = parts.annotated === undefined ? mark : { 'sandlot.dev/restore-snapshot': parts.annotated };
    const annotations = {
      ...named,
      ...(parts.only === undefined ? {} : { 'sandlot.dev/restore-only': parts.only }),
      ...(parts.trace === undefined ? {} : { 'sandlot.dev/restore-trace': parts.trace }),
    };
    const member = parts.pool === undefined ? {} : { [labels.warmPoolMember]: parts.pool };
    return this.addPod(name, { owner: this.owner(), ...parts, marks: { labels: { ...mark, ...member }, annotations } });
  }

  /** A Pod that no node has taken yet. */
  addWaitingPod(name: string, parts: { owner?: OwnerReference; namespace?: string } = {}): Pod {
    return this.addMarkedPod(name, { ...parts, node: '' });
  }

  /** The kubelet: the containers of the Pod run. */
  runPod(name: string): void {
    this.api.change(pods, { namespace: PLACE, name }, (pod) => {
      pod.status = { phase: 'Running' };
    });
  }

  changePod(name: string, spec: Partial<Pod['spec']>): void {
    this.api.change(pods, { namespace: PLACE, name }, (pod) => {
      pod.spec = { ...pod.spec, ...spec };
    });
  }

  removePod(name: string, namespace = PLACE): void {
    this.api.remove(pods, { namespace, name });
  }

  /** The hibernation of the Sandbox. */
  hibernate(spec: Partial<SandboxSnapshotSpec> = {}, annotations: Record<string, string> = {}): void {
    this.api.seed(sandboxSnapshots, {
      metadata: { ...KEY, annotations, ownerReferences: [this.owner()] },
      spec: { sandboxName: 'notebook', whenSaved: 'StayPaused', ...spec },
    });
  }

  snapshot(name = KEY.name): SandboxSnapshot {
    const found = this.api.object(sandboxSnapshots, { ...KEY, name });
    if (found === undefined) throw new Error('the SandboxSnapshot is gone');
    return found;
  }

  status(name = KEY.name): SandboxSnapshotStatus {
    return this.snapshot(name).status ?? {};
  }

  /** `phase/reason`. */
  summary(name = KEY.name): string {
    const { phase = '', conditions } = this.status(name);
    return `${phase}/${findCondition(conditions, 'Ready')?.reason ?? ''}`;
  }

  isGone(name = KEY.name): boolean {
    return this.api.object(sandboxSnapshots, { ...KEY, name }) === undefined;
  }

  /** Hibernates the Sandbox and deletes its Pod, as the sandbox-controller does. */
  async asleep(spec: Partial<SandboxSnapshotSpec> = {}): Promise<void> {
    this.hibernate(spec);
    await this.until(() => this.summary() === 'Ready/Saved');
    this.removePod('notebook');
  }

  /** A user, or the sandbox-controller, deletes the snapshot. */
  async deleteSnapshot(name = KEY.name): Promise<void> {
    await this.api.client({ user: 'user', clock: this.clock }).delete(sandboxSnapshots, { ...KEY, name });
  }

  until(holds: () => boolean): Promise<void> {
    return this.eventually(() => {
      if (!holds())
        throw new Error(
          `it never came true: ${JSON.stringify(this.api.objects(sandboxSnapshots, PLACE), undefined, 1)}, ${this.agent.requests.join(', ')}`,
        );
    });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
    await rm(this.#tlsDir, { recursive: true, force: true });
  }
}

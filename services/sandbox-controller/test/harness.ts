import {
  annotations as notes,
  formatNetworkPolicyName,
  labels as keys,
  nameHash,
  sandboxes,
  sandboxesV1Alpha1,
  sandboxSnapshots,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { networkPolicies, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { KubeObject, Pod, Resource } from '@sandlot/kube';
import { ControllerHarness, startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { addSandboxController } from '../src/controller.ts';
import type { RuntimeSettings, Settings } from '../src/plan/snapshot.ts';
import { RUNTIME } from './builders.ts';

export const KEY = { namespace: 'team-a', name: 'notebook' };

const DEFAULTS: Settings = {
  clusterDomain: 'cluster.local',
  unsetService: 'V1Alpha1',
  runtime: RUNTIME,
  protectsAuthored: false,
  drainEnabled: false,
  snapshotsEnabled: false,
};

interface Choices {
  readonly protectsAuthored?: boolean;
  readonly snapshotsEnabled?: boolean;
  readonly drainEnabled?: boolean;
  readonly runtime?: RuntimeSettings;
}

/** The whole controller on the in-process API server, one Sandbox, and a kubelet that the test plays. */
export class Harness extends ControllerHarness {
  static async start(): Promise<Harness> {
    return new Harness(await startTestEnvironment([sandboxes, sandboxesV1Alpha1, sandboxSnapshots, sandboxTemplates]));
  }

  /** Starts another controller; resolves when its caches are synced. */
  async startController(choices: Choices = {}): Promise<TestController> {
    const controller = this.run('sandbox-controller', (parts) =>
      addSandboxController(parts, {
        concurrency: 4,
        namespaces: undefined,
        settings: { ...DEFAULTS, ...choices },
      }),
    );
    await this.until(() => controller.isReady(), 'the caches are synced');
    return controller;
  }

  create(spec: Partial<Sandbox['spec']> = {}): void {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
    this.api.seed(sandboxes, { metadata: { ...KEY }, spec: { podTemplate, shutdownPolicy: 'Retain', ...spec } });
  }

  /** Creates a Sandbox that a detached claim of the template `base` delivered. */
  createOfTemplate({ isMarked = true } = {}): void {
    const labels = { [keys.templateRefHash]: nameHash('base'), [keys.claimName]: 'job' };
    const mark = isMarked ? { [notes.networkPolicy]: formatNetworkPolicyName('base') } : {};
    const annotations = { [notes.templateRef]: 'base', ...mark };
    this.create();
    this.api.change(sandboxes, KEY, ({ metadata }) => void Object.assign(metadata, { labels, annotations }));
  }

  createTemplate(networkPolicyManagement: 'Managed' | 'Unmanaged'): void {
    const spec = { networkPolicyManagement };
    this.api.seed(sandboxTemplates, template({ name: 'base', namespace: KEY.namespace, spec }));
  }

  /** The warmpool-controller writes a policy that it protects Sandboxes with. */
  createPolicy(name: string, protects: string): void {
    const metadata = { namespace: KEY.namespace, name, labels: { [keys.protects]: protects } };
    this.api.seed(networkPolicies, { metadata, spec: { podSelector: {} } });
  }

  removePolicy(name: string): void {
    this.api.remove(networkPolicies, { namespace: KEY.namespace, name });
  }

  edit(change: (spec: Sandbox['spec']) => void): void {
    this.api.change(sandboxes, KEY, (object) => {
      change(object.spec);
      object.metadata.generation = (object.metadata.generation ?? 1) + 1;
    });
  }

  sandbox(): Sandbox {
    const found = this.api.object(sandboxes, KEY);
    if (found === undefined) throw new Error('the Sandbox is gone');
    return found;
  }

  status(): SandboxStatus {
    return this.sandbox().status ?? {};
  }

  pod(): Pod | undefined {
    return this.api.object(pods, KEY);
  }

  diskNames(): string[] {
    return this.#namesOf(persistentVolumeClaims);
  }

  serviceNames(): string[] {
    return this.#namesOf(services);
  }

  /** The kubelet: the Pod runs, has an address and passes its probes. */
  runPod(ip = '10.0.0.7'): void {
    this.api.change(pods, KEY, (pod) => {
      pod.spec.nodeName = 'node-1';
      pod.status = {
        phase: 'Running',
        podIPs: [{ ip }],
        conditions: [
          { type: 'PodScheduled', status: 'True' },
          { type: 'Ready', status: 'True' },
        ],
      };
    });
  }

  /** The kubelet has stopped a terminating Pod, or a user force-deletes one. */
  removePod(): void {
    this.api.remove(pods, KEY);
  }

  /** Waits until `holds`; fails like {@link eventually}, with the last state. */
  until(holds: () => boolean, sentence: string): Promise<void> {
    return this.eventually(() => {
      if (holds()) return;
      const state = { sandbox: this.api.object(sandboxes, KEY), pods: this.api.objects(pods) };
      throw new Error(`it never came true that ${sentence}: ${JSON.stringify(state, undefined, 1)}`);
    });
  }

  untilReady(): Promise<void> {
    const isReady = (): boolean =>
      this.api
        .object(sandboxes, KEY)
        ?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    return this.until(isReady, 'the Sandbox is Ready');
  }

  #namesOf<T extends KubeObject>(resource: Resource<T>): string[] {
    return this.api.objects(resource, KEY.namespace).map(({ metadata }) => metadata.name ?? '');
  }
}

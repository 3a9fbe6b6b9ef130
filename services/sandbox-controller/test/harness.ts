import { sandboxes, sandboxesV1Alpha1 } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { KubeObject, Pod, Resource } from '@sandlot/kube';
import { ControllerHarness, startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { addSandboxController } from '../src/controller.ts';
import { RUNTIME } from './builders.ts';

export const KEY = { namespace: 'team-a', name: 'notebook' };

/** The whole controller on the in-process API server, one Sandbox, and a kubelet that the test plays. */
export class Harness extends ControllerHarness {
  static async start(): Promise<Harness> {
    return new Harness(await startTestEnvironment([sandboxes, sandboxesV1Alpha1]));
  }

  /** Starts another controller; resolves when its caches are synced. */
  async startController(): Promise<TestController> {
    const controller = this.run('sandbox-controller', (parts) =>
      addSandboxController(parts, {
        concurrency: 4,
        namespace: undefined,
        settings: { clusterDomain: 'cluster.local', unsetService: 'V1Alpha1', runtime: RUNTIME },
      }),
    );
    await this.until(() => controller.isReady(), 'the caches are synced');
    return controller;
  }

  create(spec: Partial<Sandbox['spec']> = {}): void {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
    this.api.seed(sandboxes, { metadata: { ...KEY }, spec: { podTemplate, shutdownPolicy: 'Retain', ...spec } });
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

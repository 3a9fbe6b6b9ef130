import { sandboxes, sandboxesV1Alpha1 } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { nullBus } from '@sandlot/bus';
import { createManager, noMetrics, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { KubeObject, Pod, Resource } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube/testkit';
import type { FakeApiServer } from '@sandlot/kube/testkit';
import { silentLogger, systemClock, systemRandom } from '@sandlot/std';
import { createMetrics } from '@sandlot/telemetry';
import { addSandboxController } from './controller.ts';

export const KEY = { namespace: 'team-a', name: 'notebook' };
const LIMIT_MS = 4_000;

/** The whole controller against an in-process API server, with a kubelet that does as it is told. */
export interface Harness extends AsyncDisposable {
  readonly api: FakeApiServer;
  /** Starts another controller; the returned function stops it without a goodbye. */
  startController(): Promise<() => Promise<void>>;
  create(spec?: Partial<Sandbox['spec']>): void;
  sandbox(): Sandbox;
  status(): SandboxStatus;
  pod(): Pod | undefined;
  claimNames(): string[];
  serviceNames(): string[];
  edit(change: (spec: Sandbox['spec']) => void): void;
  /** The kubelet: the Pod runs, has an address and passes its probes. */
  runPod(ip?: string): void;
  /** The kubelet has stopped a terminating Pod, or somebody force-deleted one. */
  removePod(): void;
  /** Waits until `holds`, looking at every change; fails after 4 s with what it saw last. */
  until(holds: () => boolean, sentence: string): Promise<void>;
  untilReady(): Promise<void>;
  /** `verb resource[/subresource]` of every write so far. */
  writes(): string[];
}

export async function startHarness(): Promise<Harness> {
  const api = await startFakeApiServer({ resources: [sandboxes, sandboxesV1Alpha1] });
  const running = new Set<() => Promise<void>>();
  const startController = async (): Promise<() => Promise<void>> => {
    const stop = await runController(api);
    running.add(stop);
    return async () => {
      running.delete(stop);
      await stop();
    };
  };
  return {
    api,
    startController,
    ...objectsOf(api),
    ...waitsOf(api),
    async [Symbol.asyncDispose]() {
      api.faults.clear();
      await Promise.all([...running].map((stop) => stop()));
      await api.stop();
    },
  };
}

async function runController(api: FakeApiServer): Promise<() => Promise<void>> {
  const abort = new AbortController();
  const client = api.client({ user: 'sandbox-controller' });
  const manager = createManager({ client, log: silentLogger, drainMs: 0 });
  const parts = { client, manager, bus: nullBus(), kubeMetrics: noMetrics, log: silentLogger, instance: 'test' };
  const { registry } = createMetrics({ processMetrics: false });
  const time = { clock: systemClock, random: systemRandom };
  const controller = addSandboxController(
    { ...parts, ...time, registry },
    {
      concurrency: 4,
      namespace: undefined,
      settings: { clusterDomain: 'cluster.local', unsetService: 'V1Alpha1' },
    },
  );
  const ended = manager.run(abort.signal);
  await poll(() => manager.ready());
  return async () => {
    abort.abort();
    await ended;
    await controller.close();
    await client.close();
  };
}

function objectsOf(api: FakeApiServer) {
  const sandbox = (): Sandbox => {
    const found = api.object(sandboxes, KEY);
    if (found === undefined) throw new Error('the Sandbox is gone');
    return found;
  };
  const namesOf = <T extends KubeObject>(resource: Resource<T>): string[] =>
    api.objects(resource, KEY.namespace).map(({ metadata }) => metadata.name ?? '');
  return {
    sandbox,
    status: (): SandboxStatus => sandbox().status ?? {},
    pod: (): Pod | undefined => api.object(pods, KEY),
    claimNames: () => namesOf(persistentVolumeClaims),
    serviceNames: () => namesOf(services),
    create: (spec: Partial<Sandbox['spec']> = {}): void => {
      const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
      api.seed(sandboxes, { metadata: { ...KEY }, spec: { podTemplate, shutdownPolicy: 'Retain', ...spec } });
    },
    edit: (change: (spec: Sandbox['spec']) => void): void => {
      api.change(sandboxes, KEY, (object) => {
        change(object.spec);
        object.metadata.generation = (object.metadata.generation ?? 1) + 1;
      });
    },
    runPod: (ip = '10.0.0.7'): void => {
      api.change(pods, KEY, (pod) => {
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
    },
    removePod: () => api.remove(pods, KEY),
  };
}

function waitsOf(api: FakeApiServer) {
  const readyStatus = (): string | undefined =>
    api.object(sandboxes, KEY)?.status?.conditions?.find((condition) => condition.type === 'Ready')?.status;
  const until = async (holds: () => boolean, sentence: string): Promise<void> => {
    if (await poll(holds)) return;
    const state = { sandbox: api.object(sandboxes, KEY), pods: api.objects(pods) };
    throw new Error(`it never came true that ${sentence}: ${JSON.stringify(state, undefined, 1)}`);
  };
  return {
    until,
    untilReady: () => until(() => readyStatus() === 'True', 'the Sandbox is Ready'),
    writes: () =>
      api
        .writes()
        .filter(({ group }) => group !== 'events.k8s.io')
        .map(({ verb, resource, subresource }) => `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`),
  };
}

async function poll(holds: () => boolean): Promise<boolean> {
  const deadline = performance.now() + LIMIT_MS;
  while (!holds()) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return true;
}

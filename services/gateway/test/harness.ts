import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { annotations, labels, formatRfc3339, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxSpec } from '@sandlot/api-types';
import { connectBus } from '@sandlot/bus';
import type { ActivityReport, Bus } from '@sandlot/bus';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { startControlPlane, startNats } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { silentLogger, systemClock } from '@sandlot/std';

const MAIN = new URL('../src/main.ts', import.meta.url);
const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const USER = 'gateway';

/** The domain under which hosts name sandboxes. */
export const DOMAIN = 'sandbox.test';

/** The rights of the gateway. A test fails when the gateway needs more. */
const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxclaims'], verbs: ['get', 'list', 'watch'] },
  ],
};
const BINDING = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: USER },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: USER },
  subjects: [
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER },
    { kind: 'ServiceAccount', namespace: 'default', name: USER },
  ],
};

let addresses = 0;

/** A loopback address for the pod of a sandbox. Each call returns another one. */
export function nextAddress(): string {
  addresses += 1;
  // Test files run in processes of their own, at the same time.
  const third = (Math.floor(process.pid / 100) + Math.floor(addresses / 250)) % 256;
  return `127.${100 + (process.pid % 100)}.${third}.${(addresses % 250) + 1}`;
}

/** A sandbox whose objects the test writes in place of the controllers. */
export interface TestSandbox {
  readonly id: string;
  readonly namespace: string;
  /** The name of the Sandbox; the claim is named by the id. */
  readonly name: string;
  readonly uid: string;
  readonly claimUid: string;
  readonly address: string;
}

export interface SandboxInput {
  readonly namespace?: string;
  readonly spec?: Partial<SandboxSpec>;
  readonly claimAnnotations?: Readonly<Record<string, string>>;
  readonly sandboxAnnotations?: Readonly<Record<string, string>>;
  readonly address?: string;
  /** Whether claim and Sandbox are Ready; default true. */
  readonly ready?: boolean;
}

/** How to start the gateway. */
export interface Run {
  readonly main: URL;
  /** The environment by which it finds the API server. */
  readonly env: Readonly<Record<string, string>>;
  /** Flags of Node. */
  readonly flags?: readonly string[];
}

/** Starts the gateway from source with the kubeconfig of `user`. */
const runFromSource = async (plane: ControlPlane, user: string): Promise<Run> => ({
  main: MAIN,
  env: { KUBECONFIG: await plane.kubeconfigFor(user) },
});

/** The gateway as a process with the rights of its role, a real API server and a real NATS. */
export class GatewayHarness implements AsyncDisposable {
  readonly client: KubeClient;
  readonly plane: ControlPlane;
  readonly nats: Server;
  readonly bus: Bus;
  readonly reports: ActivityReport[] = [];
  /** UIDs of the Sandboxes that the gateway asked to wake, one per request. */
  readonly wakeRequests: string[] = [];
  readonly port: number;
  process: ServiceProcess;
  readonly #run: Run;
  #ids = 0;

  private constructor(parts: Pick<GatewayHarness, 'client' | 'plane' | 'nats' | 'bus' | 'port' | 'process'>, run: Run) {
    this.client = parts.client;
    this.plane = parts.plane;
    this.nats = parts.nats;
    this.bus = parts.bus;
    this.port = parts.port;
    this.process = parts.process;
    this.#run = run;
    this.bus.onActivity((report) => this.reports.push(report));
    this.bus.onHint('sandbox.wake.requested', ({ data }) => this.wakeRequests.push(data.uid));
  }

  /** Starts everything. `how` chooses the program and its credentials; by default the source with a kubeconfig. */
  static async start(settings: Readonly<Record<string, string>> = {}, how = runFromSource): Promise<GatewayHarness> {
    const [plane, nats] = await Promise.all([startControlPlane({ crds: [CRDS] }), startNats()]);
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    await Promise.all(['team-a', 'team-b'].map((name) => client.create(namespaces, { metadata: { name } })));
    await plane.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [ROLE, BINDING] }),
    );
    const bus = await connectBus({ url: nats.url, service: 'test', log: silentLogger });
    const port = await findFreePort();
    const run = await how(plane, USER);
    const env = {
      ...run.env,
      NATS_URL: nats.url,
      PORT: String(port),
      DOMAINS: DOMAIN,
      ALLOW_ADDRESSES: '127.0.0.0/8',
      DRAIN_DELAY: '0s',
      LOG_LEVEL: 'info',
      ...settings,
    };
    const started = await startServiceProcess(run.main, env, run.flags);
    const harness = new GatewayHarness({ client, plane, nats, bus, port, process: started }, { ...run, env });
    await harness.waitUntilReady();
    return harness;
  }

  async restartGateway(): Promise<void> {
    this.process = await startServiceProcess(this.#run.main, this.#run.env, this.#run.flags);
    await this.waitUntilReady();
  }

  /** Waits until the gateway's caches have synced and it is connected to NATS. */
  async waitUntilReady(): Promise<void> {
    await eventually(async () => (await fetch(`http://127.0.0.1:${this.process.probePort}/readyz`)).ok);
    await eventually(async () => (await this.metrics()).includes('sandlot_bus_connected 1'));
  }

  async metrics(): Promise<string> {
    const headers = { Accept: 'application/openmetrics-text' };
    return (await fetch(`http://127.0.0.1:${this.process.metricsPort}/metrics`, { headers })).text();
  }

  /** Creates a claim as the API does, and the Sandbox that it is bound to. */
  async createSandbox(input: SandboxInput = {}): Promise<TestSandbox> {
    const { namespace = 'team-a', address = nextAddress(), ready = true } = input;
    this.#ids += 1;
    const id = `s${this.#ids}x${address.replaceAll('.', '')}`;
    const name = `pool-${id}`;
    const claim = await this.client.create(sandboxClaims, {
      metadata: { namespace, name: id, labels: { [labels.sandboxId]: id }, annotations: { ...input.claimAnnotations } },
      spec: { warmPoolRef: { name: 'pool' } },
    });
    const claimUid = claim.metadata.uid ?? '';
    const created = await this.client.create(sandboxes, buildSandbox({ namespace, name, claim }, input));
    const sandbox = { id, namespace, name, uid: created.metadata.uid ?? '', claimUid, address };
    await this.writeStatus(sandbox, { ready });
    return sandbox;
  }

  /** Writes both statuses as the controllers do. */
  async writeStatus(
    sandbox: TestSandbox,
    state: { ready: boolean; address?: string; resumedAt?: string },
  ): Promise<void> {
    const { namespace, name, id } = sandbox;
    const { address = sandbox.address, resumedAt } = state;
    const podIPs = state.ready ? [address] : null;
    const status = {
      conditions: [readyCondition(state.ready)],
      podIPs,
      ...(resumedAt === undefined ? {} : { resumedAt }),
    };
    await this.patchStatus({ namespace, name }, status);
    const claimed = { conditions: [readyCondition(state.ready)], sandbox: { name, podIPs } };
    const options = { subresource: 'status' } as const;
    await this.client.mergePatch(sandboxClaims, { namespace, name: id }, { status: claimed }, options);
  }

  async patchStatus(key: { namespace: string; name: string }, status: JsonObject): Promise<void> {
    await this.client.mergePatch(sandboxes, key, { status }, { subresource: 'status' });
  }

  /** Suspends a sandbox: first its spec changes, then the statuses follow. `by` is who the annotation names. */
  async suspend(sandbox: TestSandbox, by: string | null): Promise<void> {
    const { namespace, name } = sandbox;
    const metadata = { annotations: { [annotations.suspendedBy]: by } };
    await this.client.mergePatch(sandboxes, { namespace, name }, { metadata, spec: { operatingMode: 'Suspended' } });
    await this.writeStatus(sandbox, { ready: false });
  }

  /** Resumes a sandbox on another address, as the controllers do. */
  async resume(sandbox: TestSandbox, address: string): Promise<void> {
    const { namespace, name } = sandbox;
    const patch = {
      metadata: { annotations: { [annotations.suspendedBy]: null } },
      spec: { operatingMode: 'Running' },
    };
    await this.client.mergePatch(sandboxes, { namespace, name }, patch);
    await this.writeStatus(sandbox, { ready: true, address, resumedAt: formatRfc3339(systemClock.now()) });
  }

  async kill({ namespace, id, name }: TestSandbox): Promise<void> {
    await this.client.delete(sandboxClaims, { namespace, name: id });
    await this.client.delete(sandboxes, { namespace, name });
  }

  buildHost({ id }: { readonly id: string }, port: number): string {
    return `${port}-${id}.${DOMAIN}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await Promise.all([this.bus.close(), this.client.close()]);
    await Promise.all([this.nats.stop(), this.plane.stop()]);
  }
}

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly claim: SandboxClaim;
}

function buildSandbox({ namespace, name, claim }: Place, { spec, sandboxAnnotations }: SandboxInput): Sandbox {
  const owner = {
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxClaim',
    name: claim.metadata.name ?? '',
    uid: claim.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    metadata: { namespace, name, ownerReferences: [owner], annotations: { ...sandboxAnnotations } },
    spec: { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } }, ...spec },
  };
}

function readyCondition(ready: boolean, reason = ready ? 'DependenciesReady' : 'DependenciesNotReady') {
  return {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason,
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Asks until the answer is true. After half a minute it throws the last error. */
export async function eventually(ask: () => Promise<boolean> | boolean): Promise<void> {
  let last: unknown = new Error('the condition never became true');
  for (let attempt = 0; attempt < 1_500; attempt += 1) {
    try {
      if (await ask()) return;
    } catch (error) {
      last = error;
    }
    await systemClock.sleep(20);
  }
  throw last;
}

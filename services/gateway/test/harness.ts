import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { annotations, labels, rfc3339, sandboxClaims, sandboxes } from '@sandlot/api-types';
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

/** The domain whose hosts are sandboxes. */
export const DOMAIN = 'sandbox.test';

/** All the gateway may do: a verb it needs and does not have here fails the tests. */
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

/** An address of this machine that no other sandbox of this process has, as pods have theirs. */
export function nextAddress(): string {
  addresses += 1;
  return `127.${100 + (process.pid % 100)}.${Math.floor(addresses / 250)}.${(addresses % 250) + 1}`;
}

/** A sandbox that a test is the controllers of. */
export interface TestSandbox {
  readonly id: string;
  readonly namespace: string;
  /** Of the Sandbox; the claim's is the id. */
  readonly name: string;
  readonly uid: string;
  readonly claimUid: string;
  readonly address: string;
}

export interface SandboxInput {
  readonly namespace?: string;
  readonly spec?: Partial<SandboxSpec>;
  /** Of the claim. */
  readonly notes?: Readonly<Record<string, string>>;
  /** Of the Sandbox. */
  readonly sandboxNotes?: Readonly<Record<string, string>>;
  readonly address?: string;
  /** Default true: claim and Sandbox say that they are Ready. */
  readonly ready?: boolean;
}

/** A program of the gateway, and the environment by which it finds the API server. */
export interface Run {
  readonly main: URL;
  readonly env: Readonly<Record<string, string>>;
  /** Of Node. */
  readonly flags?: readonly string[];
}

/** Credentials of the user, or of the ServiceAccount of that name in the namespace `default`: the role is given to both. */
const fromSource = async (plane: ControlPlane, user: string): Promise<Run> => ({
  main: MAIN,
  env: { KUBECONFIG: await plane.kubeconfigFor(user) },
});

/** The gateway as its image runs it, with the rights of its role, against a real API server and a real NATS. */
export class World implements AsyncDisposable {
  readonly client: KubeClient;
  readonly plane: ControlPlane;
  readonly nats: Server;
  readonly bus: Bus;
  readonly reports: ActivityReport[] = [];
  readonly wishes: string[] = [];
  readonly port: number;
  gateway: ServiceProcess;
  readonly #run: Run;
  #ids = 0;

  private constructor(parts: Pick<World, 'client' | 'plane' | 'nats' | 'bus' | 'port' | 'gateway'>, run: Run) {
    this.client = parts.client;
    this.plane = parts.plane;
    this.nats = parts.nats;
    this.bus = parts.bus;
    this.port = parts.port;
    this.gateway = parts.gateway;
    this.#run = run;
    this.bus.onActivity((report) => this.reports.push(report));
    this.bus.onHint('sandbox.wake.requested', ({ data }) => this.wishes.push(data.uid));
  }

  /** From source with a kubeconfig, unless `how` says otherwise. */
  static async start(settings: Readonly<Record<string, string>> = {}, how = fromSource): Promise<World> {
    const [plane, nats] = await Promise.all([startControlPlane({ crds: [CRDS] }), startNats()]);
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    await Promise.all(['team-a', 'team-b'].map((name) => client.create(namespaces, { metadata: { name } })));
    await plane.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [ROLE, BINDING] }),
    );
    const bus = await connectBus({ url: nats.url, service: 'test', log: silentLogger });
    const port = await freePort();
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
    const gateway = await startServiceProcess(run.main, env, run.flags);
    const world = new World({ client, plane, nats, bus, port, gateway }, { ...run, env });
    await world.isReady();
    return world;
  }

  async restartGateway(): Promise<void> {
    this.gateway = await startServiceProcess(this.#run.main, this.#run.env, this.#run.flags);
    await this.isReady();
  }

  /** The gateway's caches have synced, and it hears and is heard on NATS. */
  async isReady(): Promise<void> {
    await eventually(async () => (await fetch(`http://127.0.0.1:${this.gateway.probePort}/readyz`)).ok);
    await eventually(async () => (await this.metrics()).includes('sandlot_bus_connected 1'));
  }

  async metrics(): Promise<string> {
    const headers = { Accept: 'application/openmetrics-text' };
    return (await fetch(`http://127.0.0.1:${this.gateway.metricsPort}/metrics`, { headers })).text();
  }

  /** A claim as the API makes it, and the Sandbox that it is bound to. */
  async sandbox(input: SandboxInput = {}): Promise<TestSandbox> {
    const { namespace = 'team-a', address = nextAddress(), ready = true } = input;
    this.#ids += 1;
    const id = `s${this.#ids}x${address.replaceAll('.', '')}`;
    const name = `pool-${id}`;
    const claim = await this.client.create(sandboxClaims, {
      metadata: { namespace, name: id, labels: { [labels.sandboxId]: id }, annotations: { ...input.notes } },
      spec: { warmPoolRef: { name: 'pool' } },
    });
    const claimUid = claim.metadata.uid ?? '';
    const made = await this.client.create(sandboxes, sandboxOf({ namespace, name, claim }, input));
    const sandbox = { id, namespace, name, uid: made.metadata.uid ?? '', claimUid, address };
    await this.say(sandbox, { ready });
    return sandbox;
  }

  /** Writes what the controllers would write into both statuses. */
  async say(sandbox: TestSandbox, state: { ready: boolean; address?: string; resumedAt?: string }): Promise<void> {
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

  /** Suspends it as somebody would: first its spec, and then its status follows. */
  async suspend(sandbox: TestSandbox, by: string | null): Promise<void> {
    const { namespace, name } = sandbox;
    const metadata = { annotations: { [annotations.suspendedBy]: by } };
    await this.client.mergePatch(sandboxes, { namespace, name }, { metadata, spec: { operatingMode: 'Suspended' } });
    await this.say(sandbox, { ready: false });
  }

  /** Resumes it on another address, as the sandbox-controller and the claim-controller do. */
  async resume(sandbox: TestSandbox, address: string): Promise<void> {
    const { namespace, name } = sandbox;
    const patch = {
      metadata: { annotations: { [annotations.suspendedBy]: null } },
      spec: { operatingMode: 'Running' },
    };
    await this.client.mergePatch(sandboxes, { namespace, name }, patch);
    await this.say(sandbox, { ready: true, address, resumedAt: rfc3339(systemClock.now()) });
  }

  async kill({ namespace, id, name }: TestSandbox): Promise<void> {
    await this.client.delete(sandboxClaims, { namespace, name: id });
    await this.client.delete(sandboxes, { namespace, name });
  }

  hostOf({ id }: { readonly id: string }, port: number): string {
    return `${port}-${id}.${DOMAIN}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.kill();
    await Promise.all([this.bus.close(), this.client.close()]);
    await Promise.all([this.nats.stop(), this.plane.stop()]);
  }
}

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly claim: SandboxClaim;
}

function sandboxOf({ namespace, name, claim }: Place, { spec, sandboxNotes }: SandboxInput): Sandbox {
  const owner = {
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxClaim',
    name: claim.metadata.name ?? '',
    uid: claim.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    metadata: { namespace, name, ownerReferences: [owner], annotations: { ...sandboxNotes } },
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

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Asks again until the answer is true; after half a minute its last error counts. */
export async function eventually(ask: () => Promise<boolean> | boolean): Promise<void> {
  let last: unknown = new Error('it never became true');
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

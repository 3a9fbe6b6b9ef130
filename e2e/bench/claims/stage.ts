import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKubeClient, defineResource, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import { startControlPlane, startNats, startRedis } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { bundleControllers, checkoutRoot } from '@sandlot/up';
import { parse } from 'yaml';
import { z } from 'zod';

export const CONTROLLERS = ['claim-controller', 'sandbox-controller', 'warmpool-controller'] as const;
export type ControllerName = (typeof CONTROLLERS)[number];

/** What Node grants itself in a pod of the chart, whose memory is limited to 512 MiB. */
const POD_HEAP = '--max-old-space-size=256';

/** Namespace of everything a scenario makes. */
export const NAMESPACE = 'bench';

const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
/** A simulated node takes 999 pods; this much is left free for the refill. */
const PODS_PER_NODE = 900;
/** There is memory to spare and two cores: garbage is collected a quarter as often as by default, which takes a seventh of the server's time. */
const HEAP_GROWTH_PERCENT = 400;
/** Measured is the server, not the politeness of the client that puts it under load. */
const UNLIMITED = { perSecond: 1e9, burst: 1e9 };

type Servers = Pick<Stage, 'plane' | 'nats' | 'redis'>;

/** A control plane with simulated nodes, NATS, Redis, and the controllers as processes of their own, as in production. */
export class Stage implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly nats: Server;
  readonly redis: Server;
  /** An administrator's, without rate limits. */
  readonly client: KubeClient;
  /** Environment of the controllers that are started from now on, beside what every stage gives them. */
  env: Readonly<Record<string, string>> = {};
  readonly #running = new Map<string, ServiceProcess>();
  /** Folders as the kubelet mounts them. */
  readonly #accounts = new Map<ControllerName, string>();

  private constructor({ plane, nats, redis }: Servers, client: KubeClient) {
    this.plane = plane;
    this.nats = nats;
    this.redis = redis;
    this.client = client;
  }

  /** `pods`: how many the simulated nodes have to hold. The controllers do not run yet. */
  static async raise(pods: number): Promise<Stage> {
    await bundleControllers();
    const kwokNodes = Math.max(4, Math.ceil(pods / PODS_PER_NODE));
    const parts = { kwokNodes, scheduler: true, controllerManager: true };
    const measured = { audit: true, profiling: true, heapGrowthPercent: HEAP_GROWTH_PERCENT };
    const options = { ...parts, ...measured, crds: [CRDS] };
    const [plane, nats, redis] = await Promise.all([startControlPlane(options), startNats(), startRedis()]);
    const credentials = await loadCredentials({ kubeconfig: plane.kubeconfigPath });
    const limits = { claim: UNLIMITED, normal: UNLIMITED, background: UNLIMITED };
    const stage = new Stage({ plane, nats, redis }, createKubeClient({ credentials, limits }));
    await stage.client.create(namespaces, { metadata: { name: NAMESPACE } });
    for (const name of CONTROLLERS) await stage.#admit(name);
    return stage;
  }

  /** Starts a replica of each controller, and of the claim-controller as many as asked for. */
  async startControllers(claimControllers = 1): Promise<void> {
    await this.startReplica('claim-controller', 0);
    const standbys = Array.from({ length: claimControllers - 1 }, (_, n) =>
      this.startReplica('claim-controller', n + 1),
    );
    const others = (['sandbox-controller', 'warmpool-controller'] as const).map((name) => this.startReplica(name, 0));
    await Promise.all([...standbys, ...others]);
  }

  async startReplica(name: ControllerName, replica: number): Promise<void> {
    const instance = `${name}-${replica}`;
    const env = {
      KUBERNETES_SERVICE_HOST: new URL(this.plane.server).hostname,
      KUBERNETES_SERVICE_PORT: new URL(this.plane.server).port,
      SERVICE_ACCOUNT_DIR: this.#accounts.get(name) ?? '',
      NATS_URL: this.nats.url,
      REDIS_URL: this.redis.url,
      POD_NAME: instance,
      LOG_LEVEL: 'info',
      NODE_OPTIONS: POD_HEAP,
      ...this.env,
    };
    const main = new URL(`file://${checkoutRoot}/services/${name}/dist/main.js`);
    this.#running.set(instance, await startServiceProcess(main, env));
  }

  /** Ends all replicas with SIGTERM: they finish, and give their leases back. */
  async stopControllers(): Promise<void> {
    const processes = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(processes.map((process) => process.stop()));
  }

  /** Ends a replica with SIGKILL. */
  async kill(instance: string): Promise<void> {
    const process = this.#running.get(instance);
    this.#running.delete(instance);
    await process?.kill();
  }

  /** Where the replicas of a controller are asked for their metrics. */
  metricsAddresses(name: ControllerName): string[] {
    const replicas = [...this.#running].filter(([instance]) => instance.startsWith(name));
    return replicas.map(([, { metricsPort }]) => `127.0.0.1:${metricsPort}`);
  }

  /** What a controller says of itself, all its replicas together. */
  async metricsOf(name: ControllerName): Promise<string> {
    const pages = this.metricsAddresses(name).map((address) => fetch(`http://${address}/metrics`));
    return (await Promise.all(pages.map(async (page) => (await page).text()))).join('\n');
  }

  /**
   * Has the API server collect its garbage now. A collection takes a good part of a second of CPU time: in a measure as short
   * as a burst, what was left by whatever came before must not decide.
   */
  async collectGarbage(): Promise<void> {
    const { code, stderr } = await this.plane.kubectl(['get', '--raw', '/debug/pprof/heap?gc=1&debug=1']);
    if (code !== 0) throw new Error(`the API server does not collect its garbage: ${stderr}`);
  }

  /** What the API server says of itself. */
  async apiServerMetrics(): Promise<string> {
    const { code, stdout, stderr } = await this.plane.kubectl(['get', '--raw', '/metrics']);
    if (code !== 0) throw new Error(`the API server's metrics cannot be read: ${stderr}`);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map((process) => process.kill()));
    await this.client.close();
    await Promise.all([this.plane.stop(), this.nats.stop(), this.redis.stop()]);
  }

  /** A service account with all rights, and a flow schema of its own, so that the API server counts its writes apart. */
  async #admit(name: ControllerName): Promise<void> {
    const account = { kind: 'ServiceAccount', name, namespace: NAMESPACE };
    await this.client.create(serviceAccounts, { metadata: { name, namespace: NAMESPACE } });
    this.#accounts.set(name, await this.#mountOf(name));
    await this.client.create(clusterRoleBindings, {
      metadata: { name: `bench-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [account],
    });
    await this.client.create(flowSchemas, {
      metadata: { name: flowSchemaOf(name) },
      spec: {
        matchingPrecedence: 100,
        priorityLevelConfiguration: { name: 'workload-low' },
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'ServiceAccount', serviceAccount: { name, namespace: NAMESPACE } }],
            resourceRules: [WRITES],
          },
        ],
      },
    });
  }

  /** As in a pod: a client certificate would be verified anew with every request, and a kubeconfig needs its parser. */
  async #mountOf(account: ControllerName): Promise<string> {
    const args = ['create', 'token', account, '--namespace', NAMESPACE, '--duration', '24h'];
    const { code, stdout, stderr } = await this.plane.kubectl(args);
    if (code !== 0) throw new Error(`there is no token for ${account}: ${stderr}`);
    const folder = join(dirname(this.plane.kubeconfigPath), `account-${account}`);
    await mkdir(folder);
    await writeFile(join(folder, 'token'), stdout, { mode: 0o600 });
    const { clusters } = kubeconfig.parse(parse(await readFile(this.plane.kubeconfigPath, 'utf8')));
    const ca = clusters[0].cluster['certificate-authority-data'];
    await writeFile(join(folder, 'ca.crt'), Buffer.from(ca, 'base64'));
    return folder;
  }
}

const kubeconfig = z.object({
  clusters: z.tuple([z.object({ cluster: z.object({ 'certificate-authority-data': z.string() }) })]),
});

/** Name of the flow schema that matches the writes of a controller, leases and Events apart. */
export function flowSchemaOf(name: ControllerName): string {
  return `bench-${name}`;
}

const KINDS = ['sandboxes', 'sandboxclaims', 'sandboxwarmpools', 'sandboxtemplates'];
const WRITES = {
  verbs: ['create', 'update', 'patch', 'delete'],
  apiGroups: ['*'],
  resources: [
    ...KINDS.flatMap((kind) => [kind, `${kind}/status`]),
    'pods',
    'services',
    'persistentvolumeclaims',
    'networkpolicies',
  ],
  namespaces: ['*'],
};

interface ClusterRoleBinding extends KubeObject {
  roleRef: object;
  subjects: object[];
}

const clusterRoleBindings = defineResource<ClusterRoleBinding>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  namespaced: false,
});

const serviceAccounts = defineResource<KubeObject>({
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
});

interface FlowSchema extends KubeObject {
  spec: object;
}

const flowSchemas = defineResource<FlowSchema>({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  plural: 'flowschemas',
  kind: 'FlowSchema',
  namespaced: false,
});

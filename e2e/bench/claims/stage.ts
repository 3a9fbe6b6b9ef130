import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKubeClient, defineResource, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import { startControlPlane, startNats, startRedis } from '@sandlot/local-cluster';
import type { ControlPlane, ControlPlaneOptions, Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { bundleControllers, checkoutRoot } from '@sandlot/up';
import { parse } from 'yaml';
import { z } from 'zod';

export const CONTROLLERS = ['claim-controller', 'sandbox-controller', 'warmpool-controller'] as const;
export type ControllerName = (typeof CONTROLLERS)[number];

/** Services that a stage runs as a Pod of the chart does, with an account of their own. All but the controllers need `admit` first. */
export type ServiceName = ControllerName | 'snapshot-controller' | 'key-keeper';

/** The heap limit that Node chooses in a pod of the chart with a limit of 512 MiB. */
const POD_HEAP = '--max-old-space-size=256';

/** The namespace of the accounts, and of all objects of a scenario with one namespace. */
export const NAMESPACE = 'bench';

/** The release whose accounts the controllers have. */
export const RELEASE = 'sandlot';

export const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
/** A simulated node has room for 999 pods; the difference is for the refill. */
const PODS_PER_NODE = 900;
/** The API server collects garbage a quarter as often as by default, where it takes a seventh of its time: memory is plentiful, CPU is not. */
const HEAP_GROWTH_PERCENT = 400;
/** The benchmark measures the servers, not the rate limits of its client. */
const UNLIMITED = { perSecond: 1e9, burst: 1e9 };

type Servers = Pick<Stage, 'plane' | 'nats' | 'redis'>;

/** A control plane with simulated nodes, NATS, Redis, and the controllers as processes, as in production. */
export class Stage implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly nats: Server;
  readonly redis: Server;
  /** An administrator's client without rate limits. */
  readonly client: KubeClient;
  /** The namespaces of the scenario's objects. */
  places: readonly string[] = [NAMESPACE];
  /** Additional environment of controllers that start from now on. */
  env: Readonly<Record<string, string>> = {};
  /** Folder for the CPU profiles of controllers that start from now on. */
  profiles: string | undefined;
  readonly #running = new Map<string, ServiceProcess>();
  /** Folders with the files that the kubelet mounts for a service account. */
  readonly #accounts = new Map<ServiceName, string>();

  private constructor({ plane, nats, redis }: Servers, client: KubeClient) {
    this.plane = plane;
    this.nats = nats;
    this.redis = redis;
    this.client = client;
  }

  /** Starts the servers, with nodes for that many `pods`, and with these `settings` of the control plane. The controllers do not run yet. */
  static async raise(pods: number, settings: ControlPlaneOptions = {}): Promise<Stage> {
    await bundleControllers();
    const kwokNodes = Math.max(4, Math.ceil(pods / PODS_PER_NODE));
    const parts = { kwokNodes, scheduler: true, controllerManager: true };
    const measured = { audit: true, profiling: true, heapGrowthPercent: HEAP_GROWTH_PERCENT };
    const options = { ...parts, ...measured, crds: [CRDS], ...settings };
    const [plane, nats, redis] = await Promise.all([startControlPlane(options), startNats(), startRedis()]);
    const credentials = await loadCredentials({ kubeconfig: plane.kubeconfigPath });
    const limits = { claim: UNLIMITED, normal: UNLIMITED, background: UNLIMITED };
    const stage = new Stage({ plane, nats, redis }, createKubeClient({ credentials, limits }));
    await stage.client.create(namespaces, { metadata: { name: NAMESPACE } });
    for (const name of CONTROLLERS) await stage.admit(name);
    return stage;
  }

  /** Gives the writes of each controller the priority that the chart's flow schemas give them; those of the bench only count. */
  async usePriorities(): Promise<void> {
    for (const name of CONTROLLERS) {
      const spec = { priorityLevelConfiguration: { name: LEVELS[name] } };
      await this.client.mergePatch(flowSchemas, { name: formatFlowSchema(name) }, { spec });
    }
  }

  /** Creates a service account with all rights and its own flow schema, by which the API server counts its writes. */
  async admit(name: ServiceName): Promise<void> {
    const account = { kind: 'ServiceAccount', name: getAccountName(name), namespace: NAMESPACE };
    await this.client.create(serviceAccounts, { metadata: { name: account.name, namespace: NAMESPACE } });
    this.#accounts.set(name, await this.#mountCredentials(name));
    await this.client.create(clusterRoleBindings, {
      metadata: { name: `bench-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [account],
    });
    await this.client.create(flowSchemas, {
      metadata: { name: formatFlowSchema(name) },
      spec: {
        matchingPrecedence: 100,
        priorityLevelConfiguration: { name: 'workload-low' },
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: account.name, namespace: NAMESPACE } }],
            resourceRules: [WRITES],
          },
        ],
      },
    });
  }

  /** Starts one replica of each controller, or as many as `replicas` says. */
  async startControllers(replicas: Partial<Readonly<Record<ControllerName, number>>> = {}): Promise<void> {
    await this.startReplica('claim-controller', 0);
    const all = CONTROLLERS.flatMap((name) =>
      Array.from({ length: replicas[name] ?? 1 }, (_, replica) => ({ name, replica })),
    );
    const [, ...others] = all;
    await Promise.all(others.map(({ name, replica }) => this.startReplica(name, replica)));
  }

  /** Starts a replica, with these `settings` beside those of all services. */
  async startReplica(
    name: ServiceName,
    replica: number,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const instance = `${name}-${replica}`;
    const env = {
      KUBERNETES_SERVICE_HOST: new URL(this.plane.server).hostname,
      KUBERNETES_SERVICE_PORT: new URL(this.plane.server).port,
      SERVICE_ACCOUNT_DIR: this.#accounts.get(name) ?? '',
      NATS_URL: this.nats.url,
      REDIS_URL: this.redis.url,
      POD_NAME: instance,
      LOG_LEVEL: 'info',
      NODE_OPTIONS:
        this.profiles === undefined ? POD_HEAP : `${POD_HEAP} --cpu-prof --cpu-prof-dir=${this.profiles}/${name}`,
      ...this.env,
      ...settings,
    };
    const main = new URL(`file://${checkoutRoot}/services/${name}/dist/main.js`);
    this.#running.set(instance, await startServiceProcess(main, env));
  }

  /** Stops all replicas with SIGTERM: they finish and release their leases. */
  async stopControllers(): Promise<void> {
    const processes = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(processes.map((process) => process.stop()));
  }

  /** Kills a replica with SIGKILL. */
  async kill(instance: string): Promise<void> {
    const process = this.#running.get(instance);
    this.#running.delete(instance);
    await process?.kill();
  }

  /** The metrics addresses of the replicas of a service. */
  metricsAddresses(name: ServiceName): string[] {
    const replicas = [...this.#running].filter(([instance]) => instance.startsWith(name));
    return replicas.map(([, { metricsPort }]) => `127.0.0.1:${metricsPort}`);
  }

  /** The metrics of all replicas of a service. */
  async fetchMetrics(name: ServiceName): Promise<string> {
    const pages = this.metricsAddresses(name).map((address) => fetch(`http://${address}/metrics`));
    return (await Promise.all(pages.map(async (page) => (await page).text()))).join('\n');
  }

  /**
   * Makes the API server collect its garbage now. A collection takes a good part of a second of CPU time, and garbage of earlier
   * stages must not disturb a short burst.
   */
  async collectGarbage(): Promise<void> {
    const { code, stderr } = await this.plane.kubectl(['get', '--raw', '/debug/pprof/heap?gc=1&debug=1']);
    if (code !== 0) throw new Error(`the API server refused to collect its garbage: ${stderr}`);
  }

  /** The metrics of the API server. */
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

  /** Creates the files of a service account, as in a pod. A client certificate would be verified with every request. */
  async #mountCredentials(service: ServiceName): Promise<string> {
    const account = getAccountName(service);
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

/** As in a release `sandlot` of the chart, whose policies know the controllers by their accounts. */
export function getAccountName(name: ServiceName): string {
  return `${RELEASE}-${name}`;
}

/** The chart's priority level for the writes of each controller. */
const LEVELS: Readonly<Record<ControllerName, string>> = {
  'claim-controller': `${RELEASE}-claims`,
  'sandbox-controller': `${RELEASE}-starts`,
  'warmpool-controller': `${RELEASE}-refills`,
};

/** The name of the flow schema for the writes of a service, without leases and Events. */
export function formatFlowSchema(name: ServiceName): string {
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

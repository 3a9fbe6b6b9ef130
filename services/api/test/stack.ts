// The API over a real API server and a real NATS, with two tenants.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { connectBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { loadConfig } from '@sandlot/config';
import { createKubeClient, loadCredentials, namespaces, noMetrics } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startControlPlane, startNats } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import type { RunningServer } from '@sandlot/service';
import { silentLogger, systemClock, systemRandom } from '@sandlot/std';
import type { Logger } from '@sandlot/std';
import { createMetrics } from '@sandlot/telemetry';
import { createKey } from '@sandlot/tenancy';
import type { ApiKeyInput } from '@sandlot/tenancy';
import { apiSettings } from '../src/wiring/config.ts';
import { startApi } from '../src/server.ts';
import { SnapshotStandIn } from './stand-in-saves.ts';
import { StandIn } from './stand-in.ts';

const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const NAMESPACE = 'sandlot-system';
export const KEYS_NAMESPACE = 'sandlot-system-keys';
export const ENVS_NAMESPACE = 'sandlot-system-envs';
export const VAULT_NAMESPACE = 'sandlot-system-vault';
export const VOLUMES_NAMESPACE = 'sandlot-system-volumes';
export const HOOKS_NAMESPACE = 'sandlot-system-webhooks';
/** Settings that every replica needs. */
export const apiEnvironment = {
  POD_NAMESPACE: NAMESPACE,
  KEYS_NAMESPACE,
  ENVS_NAMESPACE,
  ENVD_TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
} as const;

/** Templates without a pool whose Sandboxes can be saved, one of them but for its disk. */
const GVISOR_TEMPLATES = [
  { name: 'memory' },
  { name: 'sleeper', suspensionStrategy: { type: 'Hibernate' as const } },
  { name: 'filer', suspensionStrategy: { type: 'Hibernate' as const, hibernate: { contents: 'Files' as const } } },
  {
    name: 'memory-and-disk',
    volumeClaimTemplates: [
      {
        metadata: { name: 'work' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
];

/** Tenants, each with a namespace of the same name. */
const TENANTS = ['team-a', 'team-b'] as const;

export class Stack implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly nats: Server;
  readonly client: KubeClient;
  readonly bus: Bus;
  readonly standIn: StandIn;
  readonly snapshots: SnapshotStandIn;
  readonly #open: AsyncDisposableStack;

  private constructor(
    open: AsyncDisposableStack,
    parts: Pick<Stack, 'plane' | 'nats' | 'client' | 'bus' | 'standIn' | 'snapshots'>,
  ) {
    this.#open = open;
    this.plane = parts.plane;
    this.nats = parts.nats;
    this.client = parts.client;
    this.bus = parts.bus;
    this.standIn = parts.standIn;
    this.snapshots = parts.snapshots;
  }

  static async start(): Promise<Stack> {
    const open = new AsyncDisposableStack();
    const [plane, nats] = await Promise.all([startControlPlane({ crds: [CRDS] }), startNats()]);
    open.defer(() => nats.stop());
    open.defer(() => plane.stop());
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    open.defer(() => client.close());
    const bus = await connectBus({ url: nats.url, service: 'test', log: silentLogger });
    open.defer(() => bus.close());
    const standIn = open.use(new StandIn({ client, bus }));
    const snapshots = open.use(new SnapshotStandIn(client));
    const stack = new Stack(open, { plane, nats, client, bus, standIn, snapshots });
    await stack.#fill();
    return stack;
  }

  /** Creates an API key and returns its text. */
  async key(input: Partial<ApiKeyInput> & Pick<ApiKeyInput, 'namespace'>): Promise<string> {
    const team = input.team ?? input.namespace;
    const whole = { role: 'tenant', description: '', limits: {}, ...input, team } as const;
    const { text } = await createKey({ client: this.client, namespace: KEYS_NAMESPACE }, whole);
    return text;
  }

  /** Starts a replica; resolves when its informers have synced. */
  async api(env: Readonly<Record<string, string>> = {}, log: Logger = silentLogger): Promise<ApiUnderTest> {
    const settings = loadConfig(apiSettings, { API_PORT: '0', ADMIN_PORT: '0', ...apiEnvironment, ...env });
    const credentials = await loadCredentials({ kubeconfig: this.plane.kubeconfigPath });
    const client = createKubeClient({ credentials });
    const bus = await connectBus({ url: this.nats.url, service: 'api', log: silentLogger, streams: 'none' });
    const { registry } = createMetrics({ processMetrics: false });
    const parts = { client, bus, registry, kubeMetrics: noMetrics, log, instance: randomUUID() };
    const server = await startApi({ ...parts, clock: systemClock, random: systemRandom }, settings);
    const stop = new AbortController();
    const following = Promise.all(server.informers.map((informer) => informer.run(stop.signal)));
    await Promise.all(server.informers.map((informer) => informer.waitUntilSynced()));
    const close = async (): Promise<void> => {
      await server.drain();
      stop.abort();
      await following;
      await bus.close();
      await client.close();
    };
    return new ApiUnderTest(server, registry, close);
  }

  async #fill(): Promise<void> {
    const { client } = this;
    const own = [NAMESPACE, KEYS_NAMESPACE, ENVS_NAMESPACE, VAULT_NAMESPACE, VOLUMES_NAMESPACE, HOOKS_NAMESPACE];
    for (const name of [...own, ...TENANTS]) await client.create(namespaces, { metadata: { name } });
    const resources = { requests: { cpu: '250m', memory: '256Mi' } };
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'debian', resources }] } };
    for (const namespace of TENANTS) {
      const spec = { podTemplate, runtime: { inject: true }, envVarsInjectionPolicy: 'Allowed' as const };
      for (const name of ['base', 'unpooled'])
        await client.create(sandboxTemplates, { metadata: { namespace, name }, spec });
      for (const { name, ...more } of GVISOR_TEMPLATES) {
        const inGVisor = { spec: { ...podTemplate.spec, runtimeClassName: 'gvisor' } };
        await client.create(sandboxTemplates, {
          metadata: { namespace, name },
          spec: { ...spec, ...more, podTemplate: inGVisor },
        });
      }
      for (const name of ['base', 'empty', 'refusing', 'broken', 'silent']) {
        const annotations = name === 'base' ? { 'sandlot.dev/aliases': 'standard, default-image' } : {};
        const pool = { replicas: 0, sandboxTemplateRef: { name: 'base' } };
        await client.create(sandboxWarmPools, { metadata: { namespace, name, annotations }, spec: pool });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

function buildInit({ key, body, headers = {} }: Sent): RequestInit {
  return {
    headers: { ...(key === undefined ? {} : { 'X-API-KEY': key }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  };
}

/** A replica as its clients see it. */
export class ApiUnderTest implements AsyncDisposable {
  readonly url: string;
  /** The same operations, and those of admins. */
  readonly adminUrl: string;
  readonly registry;
  readonly #close: () => Promise<void>;

  constructor(
    server: RunningServer,
    registry: ReturnType<typeof createMetrics>['registry'],
    close: () => Promise<void>,
  ) {
    this.url = `http://127.0.0.1:${server.ports['apiPort'] ?? 0}`;
    this.adminUrl = `http://127.0.0.1:${server.ports['adminPort'] ?? 0}`;
    this.registry = registry;
    this.#close = close;
  }

  /** `request` is `METHOD /path`. */
  async call(request: string, { url = this.url, ...sent }: Sent & { readonly url?: string } = {}): Promise<Reply> {
    const [method = 'GET', path = '/'] = request.split(' ');
    const response = await fetch(`${url}${path}`, { method, ...buildInit(sent) });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

// The webhooks process over a real API server, NATS and Redis, with receivers.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectBus } from '@sandlot/bus';
import type { Bus, EventData, EventType } from '@sandlot/bus';
import { connectRedis } from '@sandlot/jobs/work';
import { createKubeClient, loadCredentials, namespaces, secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { findFreePort, startControlPlane, startNats, startRedis } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { silentLogger } from '@sandlot/std';
import { buildWebhookSecret, formatWebhookName, sandboxEventTypes } from '@sandlot/team-events';
import type { Webhook } from '@sandlot/team-events';

const MAIN = new URL('../src/main.ts', import.meta.url);
const USER = 'webhooks';
const SYSTEM = 'system';
const HOOKS = 'system-hooks';
const rbacGroup = 'rbac.authorization.k8s.io';

/** Everything the service may do: a verb that it needs and that is missing here fails the tests. */
const LEASE_RULES = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'patch', 'watch'] },
];
const HOOK_RULES = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get', 'patch'] },
];

export interface Running extends ServiceProcess {
  readonly url: string;
}

export class Stage implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly nats: Server;
  readonly redis: Server;
  readonly client: KubeClient;
  readonly bus: Bus;
  readonly #open: AsyncDisposableStack;
  #kubeconfig = '';

  private constructor(open: AsyncDisposableStack, parts: Pick<Stage, 'plane' | 'nats' | 'redis' | 'client' | 'bus'>) {
    this.#open = open;
    this.plane = parts.plane;
    this.nats = parts.nats;
    this.redis = parts.redis;
    this.client = parts.client;
    this.bus = parts.bus;
  }

  static async start(): Promise<Stage> {
    const open = new AsyncDisposableStack();
    const [plane, nats, redis] = await Promise.all([startControlPlane(), startNats(), startRedis()]);
    for (const server of [plane, nats, redis]) open.defer(() => server.stop());
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    open.defer(() => client.close());
    const bus = await connectBus({ url: nats.url, service: 'test', log: silentLogger });
    open.defer(() => bus.close());
    const stage = new Stage(open, { plane, nats, redis, client, bus });
    await stage.#prepare();
    return stage;
  }

  /** Starts a process of the service, which ends with the stage. */
  async run(env: Readonly<Record<string, string>> = {}): Promise<Running> {
    const port = await findFreePort();
    const started = await startServiceProcess(MAIN, {
      KUBECONFIG: this.#kubeconfig,
      POD_NAMESPACE: SYSTEM,
      POD_NAME: randomUUID(),
      HOOKS_NAMESPACE: HOOKS,
      NATS_URL: this.nats.url,
      NATS_DECLARE_STREAMS: 'false',
      REDIS_URL: this.redis.url,
      PORT: String(port),
      WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
      LOG_LEVEL: 'info',
      ...env,
    });
    this.#open.use(started);
    return { ...started, url: `http://127.0.0.1:${port}` };
  }

  /** Registers a webhook. */
  async register(url: string, more: Partial<Webhook> = {}): Promise<Webhook> {
    const webhook: Webhook = {
      id: randomUUID(),
      name: 'hook',
      url,
      events: [...sandboxEventTypes],
      enabled: true,
      namespace: 'team-a',
      createdAt: '',
      signatureSecret: 'hush',
      accessToken: randomUUID(),
      ...more,
    };
    await this.client.create(secrets, buildWebhookSecret(webhook, HOOKS));
    return webhook;
  }

  async unregister({ id }: Webhook): Promise<void> {
    await this.client.delete(secrets, { namespace: HOOKS, name: formatWebhookName(id) });
  }

  /**
   * Publishes an event of a sandbox that a client made, and resolves when the stream has it. The stream takes an event of the same
   * `uid` and type once.
   */
  async publish<T extends EventType>(type: T, more: Partial<EventData[T]> = {}): Promise<void> {
    const { uid = randomUUID() } = more;
    const client = { id: `sbx${uid.slice(0, 8)}`, template: 'base' };
    const data = { namespace: 'team-a', name: client.id, uid, client, cause: 'user', ...more };
    // Times of Kubernetes, by which a webhook knows what came before it, have whole seconds.
    const event = { type, id: `${uid}/${type}/x`, timeMs: Date.parse('2100-01-01T00:00:00Z'), data };
    await this.bus.send(event);
  }

  /** Every key of the service in Redis that is about webhooks. */
  async listKeys(): Promise<readonly string[]> {
    const redis = connectRedis({ url: this.redis.url, log: silentLogger });
    try {
      return (await redis.keys('sandlot:webhooks:*')).sort();
    } finally {
      redis.disconnect();
    }
  }

  async flushRedis(): Promise<void> {
    const redis = connectRedis({ url: this.redis.url, log: silentLogger });
    await redis.flushall();
    redis.disconnect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }

  async #prepare(): Promise<void> {
    for (const name of [SYSTEM, HOOKS]) await this.client.create(namespaces, { metadata: { name } });
    this.#kubeconfig = await this.plane.kubeconfigFor(USER);
    const items = [...buildRole(LEASE_RULES, SYSTEM), ...buildRole(HOOK_RULES, HOOKS)];
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, stderr } = await this.plane.kubectl(['apply', '-f', '-'], list);
    if (code !== 0) throw new Error(stderr);
    await this.bus.ensureStreams();
  }
}

function buildRole(rules: readonly object[], namespace: string): readonly object[] {
  const common = { apiVersion: `${rbacGroup}/v1`, metadata: { name: USER, namespace } };
  const subjects = [{ apiGroup: rbacGroup, kind: 'User', name: USER }];
  const roleRef = { apiGroup: rbacGroup, kind: 'Role', name: USER };
  return [
    { ...common, kind: 'Role', rules },
    { ...common, kind: 'RoleBinding', roleRef, subjects },
  ];
}

export interface Got {
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A receiver of webhooks. */
export class Receiver implements AsyncDisposable {
  readonly got: Got[] = [];
  /** The status of its answers; undefined: it answers nothing. */
  status: number | undefined = 200;
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      this.got.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      if (this.status !== undefined) response.writeHead(this.status).end();
    });
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** How often each delivery of a webhook came. Others of the same receiver may be repeated at any time. */
  count({ id: webhook }: Pick<Webhook, 'id'>): readonly number[] {
    const own = this.got.filter(({ headers }) => headers['e2b-webhook-id'] === webhook);
    const ids = own.map(({ headers }) => String(headers['e2b-delivery-id']));
    return [...Map.groupBy(ids, (id) => id).values()].map(({ length }) => length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

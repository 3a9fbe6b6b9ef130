import { fileURLToPath } from 'node:url';
import { annotations, findCondition, formatStoredCredentialsName, sandboxTemplateBuilds } from '@sandlot/api-types';
import { sandboxClaims, sandboxTemplates, STORED_CREDENTIALS } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { configMaps, createKubeClient, loadCredentials, namespaces, secrets } from '@sandlot/kube';
import type { ConfigMap, KubeClient } from '@sandlot/kube';
import { findFreePort, startControlPlane, startRedis } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { systemClock } from '@sandlot/std';
import type { LogEntry } from '@sandlot/template-build';
import { deriveBuilderToken, TokenKeys } from '@sandlot/tenancy';
import { formatSandboxName } from '../src/sandbox/build-objects.ts';
import { RealImages } from './real-images.ts';

const MAIN = new URL('../src/main.ts', import.meta.url);
const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const USER = 'template-builder';
const PATIENCE_MS = 90_000;
const KEY = Buffer.alloc(32, 1).toString('base64');
const authorization = `Bearer ${deriveBuilderToken(new TokenKeys({ key: KEY, number: 1 }))}`;
const rbacGroup = 'rbac.authorization.k8s.io';

/** Everything the service may do: a verb that it needs and that is missing here fails the tests. */
const RULES = [
  { apiGroups: ['sandlot.dev'], resources: ['sandboxtemplatebuilds'], verbs: ['delete', 'get', 'list', 'watch'] },
  { apiGroups: ['sandlot.dev'], resources: ['sandboxtemplatebuilds/status'], verbs: ['patch'] },
  {
    apiGroups: ['extensions.agents.x-k8s.io'],
    resources: ['sandboxtemplates'],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
  },
  {
    apiGroups: ['extensions.agents.x-k8s.io'],
    resources: ['sandboxclaims'],
    verbs: ['create', 'delete', 'get', 'list'],
  },
  { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxwarmpools'], verbs: ['list'] },
  { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['list'] },
  { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshots'], verbs: ['list'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'patch', 'watch'] },
];
const RECORD = 'build-images';
/** In the namespace of stored credentials and of the record of images. */
const SYSTEM_RULES = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['delete', 'get', 'list'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [RECORD], verbs: ['get', 'patch'] },
];

type Spec = Partial<SandboxTemplateBuild['spec']>;

interface Running {
  readonly process: ServiceProcess;
  readonly port: number;
}

interface Servers {
  readonly plane: ControlPlane;
  readonly redis: Server;
  /** Of a user with the rights of the service. */
  readonly kubeconfig: string;
}

/** An API server, a Redis, registries and an image plane for installations of the template-builder. No node runs Pods. */
export class RealStage implements AsyncDisposable {
  readonly client: KubeClient;
  readonly images: RealImages;
  /** An image that a build may begin with. */
  readonly base: string;
  readonly #plane: ControlPlane;
  readonly #redis: Server;
  readonly #kubeconfig: string;

  private constructor(parts: Pick<RealStage, 'client' | 'images' | 'base'>, servers: Servers) {
    this.client = parts.client;
    this.images = parts.images;
    this.base = parts.base;
    this.#plane = servers.plane;
    this.#redis = servers.redis;
    this.#kubeconfig = servers.kubeconfig;
  }

  /** With the namespaces of installations. */
  static async start(places: readonly string[]): Promise<RealStage> {
    const [plane, redis, images] = await Promise.all([
      startControlPlane({ crds: [CRDS] }),
      startRedis(),
      RealImages.start(),
    ]);
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    const base = await images.push(images.foreign, 'library/base:1', 'maker=tenant');
    const stage = new RealStage(
      { client, images, base },
      { plane, redis, kubeconfig: await plane.kubeconfigFor(USER) },
    );
    await stage.#prepare(places);
    return stage;
  }

  /** The installation that serves the namespace `place`, with a system namespace, a queue and leases of its own. */
  install(place: string): Installation {
    const env = {
      KUBECONFIG: this.#kubeconfig,
      WATCH_NAMESPACES: place,
      POD_NAMESPACE: formatSystem(place),
      ENVS_NAMESPACE: formatSystem(place),
      REDIS_URL: this.#redis.url,
      REDIS_PREFIX: place,
      ENVD_TOKEN_KEY: KEY,
      GATEWAY_URL: 'http://127.0.0.1:9',
      IMAGE_PLANE_SOCKET: this.images.plane.socketPath,
      BUILD_REGISTRY: this.images.registry,
      BUILD_IMAGES_RECORD: RECORD,
      BUILD_IMAGES_COLLECT: 'true',
      BUILD_IMAGES_GRACE_SECONDS: '10',
    };
    return new Installation(this, place, env);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await Promise.all([this.#plane.stop(), this.#redis.stop(), this.images[Symbol.asyncDispose]()]);
  }

  async #prepare(places: readonly string[]): Promise<void> {
    const systems = places.map(formatSystem);
    for (const name of [...places, ...systems]) await this.client.create(namespaces, { metadata: { name } });
    for (const namespace of systems) await this.client.create(configMaps, { metadata: { namespace, name: RECORD } });
    const roles = systems.flatMap((system) => buildRole('Role', SYSTEM_RULES, system));
    const items = [...buildRole('ClusterRole', RULES), ...roles];
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, stderr } = await this.#plane.kubectl(['apply', '-f', '-'], list);
    if (code !== 0) throw new Error(stderr);
  }
}

function formatSystem(place: string): string {
  return `${place}-system`;
}

function buildRole(kind: 'Role' | 'ClusterRole', rules: readonly object[], namespace?: string): readonly object[] {
  const common = { apiVersion: `${rbacGroup}/v1`, metadata: { name: USER, namespace } };
  const subjects = [{ apiGroup: rbacGroup, kind: 'User', name: USER }];
  const roleRef = { apiGroup: rbacGroup, kind, name: USER };
  return [
    { ...common, kind, rules },
    { ...common, kind: `${kind}Binding`, roleRef, subjects },
  ];
}

/** The template-builder for one namespace: its processes, and the builds there. Disposing kills the processes. */
export class Installation implements AsyncDisposable {
  readonly place: string;
  readonly #stage: RealStage;
  readonly #env: Readonly<Record<string, string>>;
  readonly #running = new Map<string, Running>();

  constructor(stage: RealStage, place: string, env: Readonly<Record<string, string>>) {
    this.#stage = stage;
    this.place = place;
    this.#env = env;
  }

  /** Starts the process of a Pod. */
  async startPod(name: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const port = await findFreePort();
    const process = await startServiceProcess(MAIN, { ...this.#env, ...env, POD_NAME: name, PORT: String(port) });
    this.#running.set(name, { process, port });
  }

  /** SIGKILL. */
  async killPod(name: string): Promise<void> {
    await this.#running.get(name)?.process.kill();
    this.#running.delete(name);
  }

  /** A build from the base of the stage whose step needs a sandbox, unless the spec says otherwise. */
  async create(name: string, { image = this.#stage.base, ...spec }: Spec = {}): Promise<SandboxTemplateBuild> {
    return this.#stage.client.create(sandboxTemplateBuilds, {
      metadata: this.at(name),
      spec: {
        templates: [{ name }],
        steps: [{ type: 'RUN', args: ['true'] }],
        ...(spec.fromTemplateName === undefined && { image }),
        ...spec,
      },
    });
  }

  /** A build whose credentials the API has stored. Returns the name of the Secret. */
  async createWithCredentials(name: string, spec: Spec): Promise<string> {
    const digest = 'd'.repeat(64);
    const { client } = this.#stage;
    const made = await this.create(name, { ...spec, registrySecretName: STORED_CREDENTIALS, paused: true });
    const secret = formatStoredCredentialsName(made.metadata, digest);
    await client.create(secrets, {
      metadata: {
        namespace: this.#env['ENVS_NAMESPACE'],
        name: secret,
        annotations: { [annotations.storedFor]: `${this.place}/${name}` },
      },
      data: {},
    });
    const metadata = { annotations: { [annotations.requestDigest]: digest } };
    await client.mergePatch(sandboxTemplateBuilds, this.at(name), {
      metadata,
      spec: { paused: spec.paused ?? false },
    });
    return secret;
  }

  async hasSecret(name: string): Promise<boolean> {
    const namespace = this.#env['ENVS_NAMESPACE'];
    return (await this.#stage.client.find(secrets, { namespace, name })) !== undefined;
  }

  /** The record of images, as the service wrote it. */
  async readRecord(): Promise<ConfigMap> {
    return this.#stage.client.get(configMaps, { namespace: formatSystem(this.place), name: RECORD });
  }

  async begin(name: string): Promise<void> {
    await this.#stage.client.mergePatch(sandboxTemplateBuilds, this.at(name), { spec: { paused: false } });
  }

  async remove(name: string): Promise<void> {
    await this.#stage.client.delete(sandboxTemplateBuilds, this.at(name));
  }

  /** The build once its condition has this reason. */
  async untilReason(name: string, reason: string): Promise<SandboxTemplateBuild> {
    let found: SandboxTemplateBuild | undefined;
    await waitUntil(
      async () => {
        found = await this.#stage.client.get(sandboxTemplateBuilds, this.at(name));
        return findCondition(found.status?.conditions, 'Ready')?.reason === reason;
      },
      () => `${name} is not ${reason}: ${JSON.stringify(found?.status)}`,
    );
    if (found === undefined) throw new Error(`${name} was not read`);
    return found;
  }

  /** These attempts, of the first three, have a claim and a template, and the others have neither. */
  async untilSandboxes(build: SandboxTemplateBuild, attempts: readonly number[]): Promise<void> {
    let found: readonly number[] = [];
    await waitUntil(
      async () => {
        found = await this.#listSandboxObjects(build);
        return found.join() === attempts.flatMap((attempt) => [attempt, attempt]).join();
      },
      () => `the claims and templates are those of the attempts ${found.join()}`,
    );
  }

  /** The log of the build, as a Pod serves it to the API. */
  async readLog({ metadata }: SandboxTemplateBuild, pod: string): Promise<readonly LogEntry[]> {
    const port = this.#running.get(pod)?.port ?? 0;
    const url = `http://127.0.0.1:${port}/logs/${metadata.uid ?? ''}`;
    const response = await fetch(url, { headers: { authorization } });
    return (await response.json()) as readonly LogEntry[];
  }

  at(name: string): { readonly namespace: string; readonly name: string } {
    return { namespace: this.place, name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.killPod(name)));
  }

  async #listSandboxObjects(build: SandboxTemplateBuild): Promise<readonly number[]> {
    const { client } = this.#stage;
    const found = await Promise.all(
      [1, 2, 3].map(async (attempt) => {
        const key = this.at(formatSandboxName(build, attempt));
        const objects = await Promise.all([client.find(sandboxClaims, key), client.find(sandboxTemplates, key)]);
        return objects.filter((object) => object !== undefined).map(() => attempt);
      }),
    );
    return found.flat();
  }
}

/** Throws an error with what is said once it has taken too long. */
export async function waitUntil(holds: () => Promise<boolean>, describe: () => string): Promise<void> {
  const deadlineMs = systemClock.monotonic() + PATIENCE_MS;
  while (!(await holds())) {
    if (systemClock.monotonic() > deadlineMs) throw new Error(describe());
    await systemClock.sleep(50);
  }
}

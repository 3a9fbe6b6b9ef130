import { systemClock } from '@sandlot/std';
import type { Clock, Random } from '@sandlot/std';
import { seededRandom } from '@sandlot/std/testing';
import { createKubeClient } from '@sandlot/kube';
import type { Credentials, KubeClient, KubeClientOptions, KubeObject, ObjectKey, Resource } from '@sandlot/kube';
import type { ApiObject } from '../storage/api-object.ts';
import { asApiObject, asObject, withoutType } from '../storage/api-object.ts';
import { fixtureCertificate } from './certificate.ts';
import { ControlLoops } from '../controllers/control-loops.ts';
import { Definitions, present } from '../storage/definitions.ts';
import type { FakeResource } from '../storage/served-resource.ts';
import { Dispatcher } from './dispatcher.ts';
import { Faults } from '../faults/faults.ts';
import { Front } from './front.ts';
import { GarbageCollector } from '../controllers/garbage-collector.ts';
import { Journal } from './journal.ts';
import type { RequestRecord } from './journal.ts';
import { NamespaceController } from '../controllers/namespace-controller.ts';
import type { Target } from '../storage/registry.ts';
import { Registry } from '../storage/registry.ts';
import { Storage } from '../storage/storage.ts';
import { VolumeProtection } from '../controllers/volume-protection.ts';

export interface FakeApiServerOptions {
  /** Custom resources. The server always serves the built-in kinds that this project uses. */
  readonly resources?: readonly (Resource<KubeObject> | FakeResource)[] | undefined;
  /** For timestamps, watch timeouts and bookmarks. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** For uids and generated names. Default: a fixed seed, so that runs are reproducible. */
  readonly random?: Random | undefined;
  /** Default true. When false, {@link FakeApiServer.garbageCollector} starts paused. */
  readonly garbageCollector?: boolean | undefined;
  /** Whether to support streaming lists, as servers do since 1.34. Default true. */
  readonly watchList?: boolean | undefined;
  /** Whether to refuse objects in missing namespaces, as the real server does. Default false, for shorter tests. */
  readonly strictNamespaces?: boolean | undefined;
  /** Protocols to offer in TLS. Default: both, HTTP/2 first. */
  readonly protocols?: readonly ('h2' | 'http/1.1')[] | undefined;
}

/** An in-process API server on a loopback port. Everything except HTTP is synchronous. */
export interface FakeApiServer extends AsyncDisposable {
  readonly url: string;
  readonly faults: Faults;
  /** The garbage collector, and the controllers that delete namespaces and volumes in use. */
  readonly garbageCollector: Pick<ControlLoops, 'pause' | 'resume' | 'waitUntilIdle'>;
  /** Credentials of a user, whose name appears in {@link writes}. Default `admin`. */
  credentials(user?: string): Credentials;
  /** Creates a client, which {@link stop} closes. */
  client(options?: Omit<KubeClientOptions, 'credentials'> & { readonly user?: string | undefined }): KubeClient;
  /** Stores objects as they are, including status, uid and creationTimestamp, and sets missing fields. */
  seed<T extends KubeObject>(resource: Resource<T>, ...objects: readonly T[]): T[];
  /** All current objects, sorted by namespace and name. */
  objects<T extends KubeObject>(resource: Resource<T>, namespace?: string): T[];
  object<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): T | undefined;
  /** Changes an object, including its status, without faults and rules. Undefined when the object does not exist. */
  change<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, change: (object: T) => void): T | undefined;
  /** Removes an object at once, even with finalizers. */
  remove(resource: Resource<KubeObject>, key: ObjectKey): void;
  /** Calls the listener after every change of a resource. The result unsubscribes it. */
  onChange(resource: Resource<KubeObject>, listener: (key: ObjectKey) => void): () => void;
  /** All requests for resources so far, in order of arrival. */
  requests(): readonly RequestRecord[];
  /** All writes so far, including refused ones. For write budgets. */
  writes(): readonly RequestRecord[];
  clearRequests(): void;
  stop(): Promise<void>;
}

/** Starts a server without objects. It uses a port until {@link FakeApiServer.stop}. */
export async function startFakeApiServer(options: FakeApiServerOptions = {}): Promise<FakeApiServer> {
  const server = new InProcessApiServer(options);
  await server.start();
  return server;
}

class InProcessApiServer implements FakeApiServer {
  readonly faults: Faults;
  readonly garbageCollector: ControlLoops;
  readonly #definitions: Definitions;
  readonly #storage = new Storage();
  readonly #registry: Registry;
  readonly #journal = new Journal();
  readonly #front: Front;
  readonly #clients = new Set<KubeClient>();
  #port = 0;

  constructor(options: FakeApiServerOptions) {
    const { clock = systemClock, random = seededRandom(1), strictNamespaces = false } = options;
    this.#definitions = new Definitions(options.resources ?? []);
    this.#registry = new Registry({
      definitions: this.#definitions,
      storage: this.#storage,
      clock,
      random,
      strictNamespaces,
    });
    this.garbageCollector = new ControlLoops(this.#storage, [
      new GarbageCollector(this.#registry, clock),
      new NamespaceController(this.#registry, clock),
      new VolumeProtection(this.#registry),
    ]);
    if (options.garbageCollector === false) this.garbageCollector.pause();
    this.faults = new Faults({
      revision: () => this.#storage.revision,
      compact: () => this.#storage.compact(),
      freezeConnections: () => this.#front.freezeConnections(),
      cutConnections: () => this.#front.cutConnections(),
    });
    const dispatcher = new Dispatcher({
      registry: this.#registry,
      faults: this.faults,
      journal: this.#journal,
      clock,
      watchList: options.watchList ?? true,
    });
    this.#front = new Front(
      (request, respond) => dispatcher.answer(request, respond),
      options.protocols ?? ['h2', 'http/1.1'],
    );
  }

  async start(): Promise<void> {
    this.#port = await this.#front.listen();
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  credentials(user = 'admin'): Credentials {
    return { server: this.url, ca: fixtureCertificate, getAuthorization: () => Promise.resolve(`Bearer ${user}`) };
  }

  client({ user, ...options }: Parameters<FakeApiServer['client']>[0] = {}): KubeClient {
    const client = createKubeClient({ ...options, credentials: this.credentials(user) });
    this.#clients.add(client);
    return client;
  }

  seed<T extends KubeObject>(resource: Resource<T>, ...objects: readonly T[]): T[] {
    const { definition, version } = this.#target(resource, { name: '' });
    return objects.map((object) => {
      const rest = withoutType(structuredClone(asApiObject(object)));
      definition.defaults(rest);
      const { name = '', namespace } = rest.metadata;
      rest.metadata = {
        uid: this.#registry.newUid(),
        creationTimestamp: this.#registry.now(),
        ...(definition.generation ? { generation: 1 } : {}),
        ...rest.metadata,
      };
      const stored = this.#registry.overwrite({ definition, version, namespace, name }, rest);
      return asObject(resource, structuredClone(present(definition, version, stored)));
    });
  }

  objects<T extends KubeObject>(resource: Resource<T>, namespace?: string): T[] {
    const definition = this.#definitions.ofResource(resource);
    return [...this.#storage.table(definition.table)]
      .filter(([, { metadata }]) => namespace === undefined || metadata.namespace === namespace)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, object]) => this.#copy(resource, object));
  }

  object<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): T | undefined {
    const found = this.#registry.find(this.#target(resource, key));
    return found === undefined ? undefined : this.#copy(resource, found);
  }

  change<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, change: (object: T) => void): T | undefined {
    const target = this.#target(resource, key);
    const object = this.object(resource, key);
    if (object === undefined) return undefined;
    change(object);
    return this.#copy(resource, this.#registry.overwrite(target, withoutType(asApiObject(object))));
  }

  remove(resource: Resource<KubeObject>, key: ObjectKey): void {
    this.#registry.remove(this.#target(resource, key));
  }

  onChange(resource: Resource<KubeObject>, listener: (key: ObjectKey) => void): () => void {
    const { table } = this.#definitions.ofResource(resource);
    return this.#storage.subscribe((change) => {
      const { namespace, name = '' } = change.object.metadata;
      if (change.table === table) queueMicrotask(() => listener({ namespace, name }));
    });
  }

  requests(): readonly RequestRecord[] {
    return this.#journal.all();
  }

  writes(): readonly RequestRecord[] {
    return this.#journal.writes();
  }

  clearRequests(): void {
    this.#journal.clear();
  }

  async stop(): Promise<void> {
    this.faults.endWatches();
    await Promise.all([...this.#clients].map((client) => client.close()));
    await this.#front.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #target(resource: Resource<KubeObject>, { namespace, name }: ObjectKey): Target {
    return { definition: this.#definitions.ofResource(resource), version: resource.version, namespace, name };
  }

  #copy<T extends KubeObject>(resource: Resource<T>, object: ApiObject): T {
    const definition = this.#definitions.ofResource(resource);
    return asObject(resource, structuredClone(present(definition, resource.version, object)));
  }
}

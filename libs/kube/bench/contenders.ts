import { Socket } from 'node:net';
import {
  CoreV1Api,
  KubeConfig,
  PatchStrategy,
  V1ConfigMap,
  V1ObjectMeta,
  makeInformer,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { createInformer, createKubeClient, defineResource, loadCredentials, pods } from '../src/index.ts';
import type { KubeObject } from '../src/index.ts';

/** The same operations for both clients, each used as documented. */
export interface Contender {
  getPod(name: string): Promise<unknown>;
  createConfigMap(name: string): Promise<unknown>;
  patchConfigMap(name: string, value: string): Promise<unknown>;
  /** Lists all pods of the namespace. */
  listPods(): Promise<readonly unknown[]>;
  /** Fills a cache with all pods of the namespace. */
  cachePods(): Promise<{ readonly size: number }>;
  /** Follows the ConfigMaps of the namespace. Resolves when the first list is complete. */
  follow(onAdd: (name: string) => void): Promise<void>;
}

/** `restarted` is the stock client with an error handler that restarts it after 5 s, as in its examples. */
export type ContenderName = 'sandlot' | 'stock' | 'restarted';

export interface Place {
  readonly kubeconfig: string;
  readonly namespace: string;
}

const configMaps = defineResource<KubeObject & { data?: Record<string, string> }>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});

export async function createContender(name: ContenderName, place: Place): Promise<Contender> {
  return name === 'sandlot' ? createSandlot(place) : createStock(place, name === 'restarted');
}

async function createSandlot({ kubeconfig, namespace }: Place): Promise<Contender> {
  const unlimited = { perSecond: 1e9, burst: 1e9 };
  const credentials = await loadCredentials({ kubeconfig });
  const client = createKubeClient({ credentials, limits: { normal: unlimited } });
  const run = new AbortController().signal;
  return {
    getPod: (name) => client.get(pods, { namespace, name }),
    createConfigMap: (name) => client.create(configMaps, { metadata: { namespace, name }, data: { value: '0' } }),
    patchConfigMap: (name, value) => client.mergePatch(configMaps, { namespace, name }, { data: { value } }),
    listPods: async () => (await client.listAll(pods, { namespace })).items,
    async cachePods() {
      const informer = createInformer({ client, resource: pods, namespaces: [namespace] });
      void informer.run(run);
      await informer.waitUntilSynced();
      return informer.store;
    },
    async follow(onAdd) {
      const informer = createInformer({ client, resource: configMaps, namespaces: [namespace] });
      informer.onChange(({ old, next }) => {
        if (old === undefined) onAdd(next?.metadata.name ?? '');
      });
      void informer.run(run);
      await informer.waitUntilSynced();
    },
  };
}

function createStock({ kubeconfig, namespace }: Place, restarts: boolean): Contender {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  const listPods = () => api.listNamespacedPod({ namespace });
  return {
    getPod: (name) => api.readNamespacedPod({ namespace, name }),
    createConfigMap: (name) => {
      const metadata = Object.assign(new V1ObjectMeta(), { name });
      return api.createNamespacedConfigMap({
        namespace,
        body: Object.assign(new V1ConfigMap(), { metadata, data: { value: '0' } }),
      });
    },
    patchConfigMap: (name, value) =>
      api.patchNamespacedConfigMap({ namespace, name, body: { data: { value } } }, mergePatch),
    listPods: async () => (await listPods()).items,
    async cachePods() {
      const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, listPods);
      let size = 0;
      informer.on('add', () => (size += 1));
      await informer.start();
      return {
        get size() {
          return informer.list(namespace).length === size ? size : Number.NaN;
        },
      };
    },
    async follow(onAdd) {
      const listFn = () => api.listNamespacedConfigMap({ namespace });
      const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, listFn);
      informer.on('add', (object) => onAdd(object.metadata?.name ?? ''));
      informer.on('error', () => {
        if (restarts) setTimeout(() => void informer.start(), 5_000);
      });
      await informer.start();
    },
  };
}

/** Counts the TCP connections that this process opens from now on. */
export function countConnections(): () => number {
  let count = 0;
  const connect = Reflect.get(Socket.prototype, 'connect') as (...args: unknown[]) => Socket;
  Socket.prototype.connect = function counted(this: Socket, ...args: unknown[]): Socket {
    count += 1;
    return Reflect.apply(connect, this, args);
  };
  return () => count;
}

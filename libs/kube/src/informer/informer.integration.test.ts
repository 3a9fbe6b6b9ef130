import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createKubeClient } from '../client/client.ts';
import type { KubeClient } from '../client/types.ts';
import { loadCredentials } from '../credentials/load-credentials.ts';
import { KubeError } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import { defineResource, getKey } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { namespaces } from '../objects/resources.ts';
import { createInformer } from './informer.ts';
import type { Informer, InformerOptions } from './informer.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const configMaps = defineResource<ConfigMap>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});

let plane: ControlPlane;
let client: KubeClient;
let serial = 0;

beforeAll(async () => {
  plane = await startControlPlane();
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
});

afterAll(async () => {
  await client.close();
  await plane.stop();
});

async function newNamespace(): Promise<string> {
  const name = `informer-${++serial}`;
  await client.create(namespaces, { metadata: { name } });
  return name;
}

function put(namespace: string, name: string, value: string): Promise<ConfigMap> {
  const apply = { fieldManager: 'test', force: true };
  return client.apply(configMaps, { metadata: { namespace, name }, data: { value } }, apply);
}

function follow(namespace: string, options: Partial<InformerOptions<ConfigMap>> = {}): Informer<ConfigMap> {
  const informer = createInformer({ client, resource: configMaps, namespaces: [namespace], ...options });
  const stopped = new AbortController();
  const running = informer.run(stopped.signal);
  onTestFinished(async () => {
    stopped.abort();
    await running;
  });
  return informer;
}

/** Gives the user a Role in the namespace. */
async function allow(user: string, namespace: string): Promise<void> {
  const kubectl = (...args: string[]) => plane.kubectl(['-n', namespace, 'create', ...args]);
  await kubectl('role', user, '--verb=list,watch', '--resource=configmaps');
  await kubectl('rolebinding', user, `--role=${user}`, `--user=${user}`);
}

const contents = (informer: Informer<ConfigMap>): string[] =>
  [...informer.store.values()].map((o) => `${o.metadata.name}=${o.data?.['value']}`).sort();

const eventually = (read: () => unknown) => expect.poll(read, { timeout: 60_000, interval: 20 });

describe('an informer of a real API server', () => {
  it('sees existing objects and their creation, change and deletion', async () => {
    const namespace = await newNamespace();
    await put(namespace, 'a', '1');
    const informer = follow(namespace, { indexers: { byValue: (o) => [o.data?.['value'] ?? ''] } });
    const changes: string[] = [];
    let last: ConfigMap | undefined;
    informer.onChange(({ old, next, initial, ...change }) => {
      ({ last } = change);
      changes.push(`${old?.data?.['value']}->${next?.data?.['value']}${initial ? ' initial' : ''}`);
    });
    await informer.waitUntilSynced();
    expect(contents(informer)).toEqual(['a=1']);
    await put(namespace, 'b', '1');
    await put(namespace, 'a', '2');
    await client.delete(configMaps, { namespace, name: 'b' });
    await eventually(() => changes).toEqual(['undefined->1 initial', 'undefined->1', '1->2', '1->undefined']);
    expect(last?.data).toEqual({ value: '1' });
    expect(informer.store.get(`${namespace}/a`)?.metadata.managedFields).toBeUndefined();
    expect([...informer.store.listByIndex('byValue', '2')].map(getKey)).toEqual([`${namespace}/a`]);
    expect(informer.store.countIndex('byValue', '1')).toBe(0);
  });

  it('sees only objects that match its selector, and a removal when an object stops matching', async () => {
    const namespace = await newNamespace();
    const informer = follow(namespace, { labelSelector: 'team=red' });
    await informer.waitUntilSynced();
    await put(namespace, 'other', '1');
    await client.create(configMaps, {
      metadata: { namespace, name: 'a', labels: { team: 'red' } },
      data: { value: '1' },
    });
    await eventually(() => contents(informer)).toEqual(['a=1']);
    await client.mergePatch(configMaps, { namespace, name: 'a' }, { metadata: { labels: { team: 'blue' } } });
    await eventually(() => contents(informer)).toEqual([]);
  });

  it('shows earlier writes after fresh()', async () => {
    const namespace = await newNamespace();
    const informer = follow(namespace, { consistentFirstList: true });
    await informer.waitUntilSynced();
    for (let n = 0; n < 5; n++) {
      await put(namespace, `own-${n}`, '1');
      await informer.waitUntilFresh();
      expect(informer.store.get(`${namespace}/own-${n}`)).toBeDefined();
    }
  });

  it('lists in pages when the server refuses streaming lists', async () => {
    const namespace = await newNamespace();
    const names = Array.from({ length: 1_100 }, (_, n) => `many-${n}`);
    await Promise.all(names.map((name) => client.create(configMaps, { metadata: { namespace, name } })));
    let pages = 0;
    const refusing: Pick<KubeClient, 'list' | 'watch'> = {
      list: (...call) => {
        pages += 1;
        return client.list(...call);
      },
      watch: (resource, options) => {
        if (options?.sendInitialEvents !== true) return client.watch(resource, options);
        throw new KubeError({ verb: 'watch', resource: 'configmaps', key: '', message: 'old server', code: 'Invalid' });
      },
    };
    const informer = follow(namespace, { client: refusing as KubeClient });
    await informer.waitUntilSynced();
    // kube-root-ca.crt exists only where a controller manager runs.
    expect([informer.store.size, pages]).toEqual([1_100, 3]);
    await put(namespace, 'after', '1');
    await eventually(() => informer.store.get(`${namespace}/after`)).toBeDefined();
  });

  it('follows the namespaces that it may list, and another one as soon as it may', async () => {
    const [shown, hidden] = [await newNamespace(), await newNamespace()];
    const absent = `informer-${++serial}`;
    const credentials = await loadCredentials({ kubeconfig: await plane.kubeconfigFor('reader') });
    const reader = createKubeClient({ credentials });
    onTestFinished(() => reader.close());
    await allow('reader', shown);
    for (const namespace of [shown, hidden]) await put(namespace, 'a', '1');
    const informer = follow(shown, { client: reader, namespaces: [shown, hidden, absent] });
    await informer.waitUntilSynced();
    expect([contents(informer), informer.listForbidden()]).toEqual([['a=1'], [hidden, absent]]);
    await allow('reader', hidden);
    await eventually(() => contents(informer)).toEqual(['a=1', 'a=1']);
    await put(hidden, 'b', '2');
    await eventually(() => contents(informer)).toEqual(['a=1', 'a=1', 'b=2']);
    expect(informer.listForbidden()).toEqual([absent]);
  });

  it('shows a namespace that does not exist as empty, and its objects once it does', async () => {
    const [present, absent] = [await newNamespace(), `informer-${++serial}`];
    const informer = follow(present, { namespaces: [present, absent] });
    await informer.waitUntilSynced();
    expect([informer.store.size, informer.listForbidden()]).toEqual([0, []]);
    await client.create(namespaces, { metadata: { name: absent } });
    await put(absent, 'a', '1');
    await eventually(() => contents(informer)).toEqual(['a=1']);
  });

  it('catches up after a restart of the API server', async () => {
    const namespace = await newNamespace();
    await put(namespace, 'a', '1');
    await put(namespace, 'b', '1');
    const reasons: string[] = [];
    const metrics = { ...noMetrics, countRelist: (_: string, reason: string) => void reasons.push(reason) };
    const informer = follow(namespace, { metrics });
    await informer.waitUntilSynced();
    await plane.restart();
    await put(namespace, 'b', '2');
    await put(namespace, 'c', '1');
    await client.delete(configMaps, { namespace, name: 'a' });
    await eventually(() => contents(informer)).toEqual(['b=2', 'c=1']);
    expect(reasons[0]).toBe('start');
  });
});

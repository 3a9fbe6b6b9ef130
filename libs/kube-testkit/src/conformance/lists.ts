import assert from 'node:assert/strict';
import { pods } from '@sandlot/kube';
import type { KubeClient, ListOptions } from '@sandlot/kube';
import { pod, expectRejection, widget, widgetPath, widgets } from './context.ts';
import type { ConformanceCase } from './context.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

async function fill(client: KubeClient, namespace: string): Promise<void> {
  for (const name of NAMES) {
    const labels = { name, half: name < 'c' ? 'first' : 'second', ...(name === 'e' ? { last: '' } : {}) };
    await client.create(widgets, widget(namespace, name, { metadata: { labels } }));
  }
}

async function listNames(client: KubeClient, options: ListOptions): Promise<string[]> {
  return (await client.list(widgets, options)).items.map(({ metadata }) => metadata.name ?? '');
}

const SELECTORS: readonly (readonly [selector: string, names: string])[] = [
  ['half=first', 'ab'],
  ['half==first', 'ab'],
  ['half!=first', 'cde'],
  ['name in (a,c, z)', 'ac'],
  ['name notin (a,c)', 'bde'],
  ['last', 'e'],
  ['!last', 'abcd'],
  ['half=second,name!=c', 'de'],
  ['missing!=x', 'abcde'],
  ['missing notin (x)', 'abcde'],
  ['missing in (x)', ''],
  ['last=', 'e'],
];

export const listCases: readonly ConformanceCase[] = [
  {
    name: 'lists the objects of a namespace by name, with kind and apiVersion on custom resources',
    run: async ({ client, raw, namespace }) => {
      await fill(client, namespace);
      const { body } = await raw({ method: 'GET', path: widgetPath(namespace) });
      const list = body as {
        kind: string;
        apiVersion: string;
        metadata: { continue?: string };
        items: { kind?: string; metadata: { name: string } }[];
      };
      assert.equal(list.kind, 'WidgetList');
      assert.equal(list.apiVersion, 'testkit.sandlot.dev/v1');
      assert.deepEqual(
        list.items.map(({ metadata }) => metadata.name),
        NAMES,
      );
      assert.deepEqual(new Set(list.items.map(({ kind }) => kind)), new Set(['Widget']));
      assert.equal(list.metadata.continue, '');
    },
  },
  {
    name: 'omits kind and apiVersion from the items of built-in lists',
    run: async ({ client, raw, namespace }) => {
      await client.create(pods, pod(namespace, 'a'));
      const { body } = await raw({ method: 'GET', path: `/api/v1/namespaces/${namespace}/pods` });
      const { kind, items } = body as { kind: string; items: object[] };
      assert.equal(kind, 'PodList');
      assert.equal(items.length, 1);
      assert.ok(!('kind' in (items[0] ?? {})) && !('apiVersion' in (items[0] ?? {})));
    },
  },
  ...SELECTORS.map(([selector, names]): ConformanceCase => ({
    name: `selects ${names === '' ? 'nothing' : names} of abcde by the labels "${selector}"`,
    run: async ({ client, namespace }) => {
      await fill(client, namespace);
      assert.equal((await listNames(client, { namespace, labelSelector: selector })).join(''), names);
    },
  })),
  {
    name: 'refuses a label selector it cannot parse',
    run: async ({ client, namespace }) => {
      const error = await expectRejection(client.list(widgets, { namespace, labelSelector: 'a in b' }));
      assert.equal(error.status, 400);
    },
  },
  {
    name: 'selects by metadata.name',
    run: async ({ client, namespace }) => {
      await fill(client, namespace);
      assert.deepEqual(await listNames(client, { namespace, fieldSelector: 'metadata.name=b' }), ['b']);
      assert.deepEqual(await listNames(client, { namespace, fieldSelector: 'metadata.name!=b' }), ['a', 'c', 'd', 'e']);
    },
  },
  {
    name: 'selects pods by phase and node',
    run: async ({ client, namespace }) => {
      await client.create(pods, pod(namespace, 'a'));
      await client.create(pods, { ...pod(namespace, 'b'), spec: { ...pod(namespace, 'b').spec, nodeName: 'nowhere' } });
      await client.mergePatch(
        pods,
        { namespace, name: 'b' },
        { status: { phase: 'Running' } },
        { subresource: 'status' },
      );
      const names = async (fieldSelector: string): Promise<unknown> =>
        (await client.list(pods, { namespace, fieldSelector })).items.map(({ metadata }) => metadata.name);
      assert.deepEqual(await names('spec.nodeName=nowhere'), ['b']);
      assert.deepEqual(await names('spec.nodeName='), ['a']);
      assert.deepEqual(await names('status.phase!=Running'), ['a']);
    },
  },
  {
    name: 'refuses a field selector for an unsupported field',
    run: async ({ client, namespace }) => {
      const error = await expectRejection(client.list(widgets, { namespace, fieldSelector: 'spec.color=red' }));
      assert.equal(error.status, 400);
      assert.match(error.message, /field label not supported: spec\.color/);
    },
  },
  {
    name: 'pages through one consistent snapshot with limit and continue',
    run: async ({ client, namespace }) => {
      await fill(client, namespace);
      const first = await client.list(widgets, { namespace, limit: 2 });
      assert.ok(first.continue !== undefined);
      await client.delete(widgets, { namespace, name: 'd' });
      await client.create(widgets, widget(namespace, 'cc'));
      const rest = await client.list(widgets, { namespace, limit: 10, continue: first.continue });
      assert.deepEqual(
        [...first.items, ...rest.items].map(({ metadata }) => metadata.name),
        NAMES,
      );
      assert.equal(rest.resourceVersion, first.resourceVersion);
      assert.equal(rest.continue, undefined);
    },
  },
  {
    name: 'reports how many objects remain, but only without selectors',
    run: async ({ client, raw, namespace }) => {
      await fill(client, namespace);
      const remaining = async (query: string): Promise<unknown> => {
        const { body } = await raw({ method: 'GET', path: widgetPath(namespace, `?limit=2${query}`) });
        return (body as { metadata: { remainingItemCount?: number } }).metadata.remainingItemCount;
      };
      assert.equal(await remaining(''), 3);
      assert.equal(await remaining('&labelSelector=name'), undefined);
    },
  },
  {
    name: 'lists an earlier state with resourceVersionMatch=Exact',
    run: async ({ client, namespace }) => {
      await fill(client, namespace);
      const { resourceVersion } = await client.list(widgets, { namespace });
      await client.delete(widgets, { namespace, name: 'a' });
      const past = await client.list(widgets, { namespace, resourceVersion, resourceVersionMatch: 'Exact' });
      assert.deepEqual(
        past.items.map(({ metadata }) => metadata.name),
        NAMES,
      );
      assert.equal(past.resourceVersion, resourceVersion);
    },
  },
  {
    name: 'lists a state at least as new as the requested resourceVersion',
    run: async ({ client, namespace }) => {
      const { metadata } = await client.create(widgets, widget(namespace, 'a'));
      const page = await client.list(widgets, {
        namespace,
        resourceVersion: metadata.resourceVersion,
        resourceVersionMatch: 'NotOlderThan',
      });
      assert.deepEqual(
        page.items.map((item) => item.metadata.name),
        ['a'],
      );
    },
  },
  {
    name: 'refuses resourceVersionMatch without a resourceVersion',
    run: async ({ client, namespace }) => {
      const error = await expectRejection(client.list(widgets, { namespace, resourceVersionMatch: 'Exact' }));
      assert.equal(error.code, 'Invalid');
      assert.match(
        error.message,
        /resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided/,
      );
    },
  },
  {
    name: 'answers an empty list with an empty array',
    run: async ({ raw, namespace }) => {
      const { body } = await raw({ method: 'GET', path: widgetPath(namespace) });
      assert.deepEqual((body as { items: unknown }).items, []);
    },
  },
  {
    name: 'deletes the selected objects of a collection and answers with their list',
    run: async ({ client, raw, namespace }) => {
      await fill(client, namespace);
      const { status } = await raw({ method: 'DELETE', path: widgetPath(namespace, '?labelSelector=half%3Dfirst') });
      assert.equal(status, 200);
      assert.deepEqual(await listNames(client, { namespace }), ['c', 'd', 'e']);
    },
  },
];

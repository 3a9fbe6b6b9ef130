import assert from 'node:assert/strict';
import { pods } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import { pod, record, expectRejection, listTypes, widget, widgetPath, widgets } from './context.ts';
import type { ConformanceCase, SeenEvent } from './context.ts';

const END = 'k8s.io/initial-events-end';

/** The events without bookmarks, which a server may send at any time. */
function withoutBookmarks(seen: readonly SeenEvent<KubeObject>[]): string[] {
  return listTypes(seen.filter(({ type }) => type !== 'BOOKMARK'));
}

export const watchCases: readonly ConformanceCase[] = [
  {
    name: 'sends the changes after a resourceVersion in order',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'before'));
      const { resourceVersion } = await client.list(widgets, { namespace });
      await client.create(widgets, widget(namespace, 'a'));
      await client.mergePatch(widgets, { namespace, name: 'a' }, { spec: { color: 'blue' } });
      await using watch = record(client, widgets, { namespace, resourceVersion });
      await watch.until((seen) => seen.length >= 2);
      await client.delete(widgets, { namespace, name: 'a' });
      const seen = await watch.until((events) => events.length >= 3);
      assert.deepEqual(listTypes(seen), ['ADDED a', 'MODIFIED a', 'DELETED a']);
      assert.deepEqual(
        seen.map(({ object }) => object.kind),
        ['Widget', 'Widget', 'Widget'],
      );
    },
  },
  {
    name: 'sends the last state with a newer resourceVersion in DELETED',
    run: async ({ client, namespace }) => {
      const { resourceVersion } = await client.list(widgets, { namespace });
      const { metadata, spec } = await client.create(widgets, widget(namespace, 'a'));
      await client.delete(widgets, { namespace, name: 'a' });
      await using watch = record(client, widgets, { namespace, resourceVersion });
      const seen = await watch.until((events) => events.some(({ type }) => type === 'DELETED'));
      const last = seen.at(-1)?.object;
      assert.deepEqual(last?.spec, spec);
      assert.equal(last?.metadata.uid, metadata.uid);
      assert.notEqual(last?.metadata.resourceVersion, metadata.resourceVersion);
    },
  },
  {
    name: 'begins with the existing objects without a resourceVersion',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      await using watch = record(client, widgets, { namespace });
      await watch.until((seen) => seen.length >= 1);
      await client.create(widgets, widget(namespace, 'b'));
      assert.deepEqual(withoutBookmarks(await watch.until((seen) => withoutBookmarks(seen).length >= 2)), [
        'ADDED a',
        'ADDED b',
      ]);
    },
  },
  {
    name: 'sends nothing for a write that changes nothing',
    run: async ({ client, namespace }) => {
      const { metadata } = await client.create(widgets, widget(namespace, 'a'));
      await using watch = record(client, widgets, { namespace, resourceVersion: metadata.resourceVersion });
      await client.mergePatch(widgets, { namespace, name: 'a' }, { spec: { color: 'red' } });
      await client.mergePatch(widgets, { namespace, name: 'a' }, { spec: { color: 'blue' } });
      const seen = await watch.until((events) => events.length >= 1);
      assert.deepEqual(
        seen.map(({ object }) => object.spec?.color),
        ['blue'],
      );
    },
  },
  {
    name: 'streams a list: the existing objects, then a bookmark that marks their end',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      await client.create(widgets, widget(namespace, 'b'));
      await using watch = record(client, widgets, { namespace, sendInitialEvents: true });
      await watch.until((seen) => seen.some(({ type }) => type === 'BOOKMARK'));
      await client.create(widgets, widget(namespace, 'c'));
      const seen = await watch.until((events) => events.some(({ name }) => name === 'c'));
      // Other bookmarks may follow the first at any time.
      const others = seen.filter(({ type }, index) => index <= 2 || type !== 'BOOKMARK');
      assert.deepEqual(listTypes(others), ['ADDED a', 'ADDED b', 'BOOKMARK', 'ADDED c']);
      const bookmark = seen[2]?.object;
      assert.deepEqual(bookmark?.metadata.annotations, { [END]: 'true' });
      assert.match(bookmark.metadata.resourceVersion ?? '', /^\d+$/);
    },
  },
  {
    name: 'marks the end of an empty streaming list',
    run: async ({ client, namespace }) => {
      await using watch = record(client, pods, { namespace, sendInitialEvents: true });
      const seen = await watch.until((events) => events.length >= 1);
      assert.equal(seen[0]?.type, 'BOOKMARK');
      assert.equal(seen[0].object.metadata.annotations?.[END], 'true');
    },
  },
  {
    name: 'sends DELETED with the last matching state when an object stops matching, and ADDED when it matches again',
    run: async ({ client, namespace }) => {
      const { resourceVersion } = await client.list(widgets, { namespace });
      await using watch = record(client, widgets, { namespace, labelSelector: 'in=yes', resourceVersion });
      await client.create(widgets, widget(namespace, 'never'));
      await client.create(widgets, widget(namespace, 'a', { metadata: { labels: { in: 'yes' } } }));
      const out = await client.mergePatch(widgets, { namespace, name: 'a' }, { metadata: { labels: { in: 'no' } } });
      await client.mergePatch(widgets, { namespace, name: 'a' }, { metadata: { labels: { in: 'yes' } } });
      const seen = await watch.until((events) => events.length >= 3);
      assert.deepEqual(listTypes(seen), ['ADDED a', 'DELETED a', 'ADDED a']);
      assert.deepEqual(seen[1]?.object.metadata.labels, { in: 'yes' });
      assert.equal(seen[1].object.metadata.resourceVersion, out.metadata.resourceVersion);
    },
  },
  {
    name: 'watches one object by field selector',
    run: async ({ client, namespace }) => {
      await using watch = record(client, widgets, { namespace, fieldSelector: 'metadata.name=b' });
      await client.create(widgets, widget(namespace, 'a'));
      await client.create(widgets, widget(namespace, 'b'));
      assert.deepEqual(withoutBookmarks(await watch.until((seen) => withoutBookmarks(seen).length >= 1)), ['ADDED b']);
    },
  },
  {
    name: 'ends a watch cleanly after timeoutSeconds',
    run: async ({ client, namespace }) => {
      await using watch = record(client, widgets, { namespace, timeoutSeconds: 1 });
      assert.deepEqual(withoutBookmarks(await watch.ended()), []);
    },
  },
  {
    name: 'reports a resourceVersion that is too old as Gone inside the stream',
    run: async ({ raw, namespace }) => {
      const path = widgetPath(namespace, '?watch=true&resourceVersion=1&timeoutSeconds=5');
      const { status, body } = await raw({ method: 'GET', path });
      assert.equal(status, 200);
      const { type, object } = body as { type: string; object: { reason: string; code: number; kind: string } };
      assert.equal(type, 'ERROR');
      assert.deepEqual([object.kind, object.reason, object.code], ['Status', 'Expired', 410]);
    },
  },
  {
    name: 'refuses sendInitialEvents without resourceVersionMatch=NotOlderThan',
    run: async ({ raw, namespace }) => {
      const { status, body } = await raw({
        method: 'GET',
        path: widgetPath(namespace, '?watch=true&sendInitialEvents=true'),
      });
      assert.equal(status, 422);
      assert.match(
        (body as { message: string }).message,
        /sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/,
      );
    },
  },
  {
    name: 'refuses a resourceVersion that is not a number',
    run: async ({ client, namespace }) => {
      const watch = client.watch(widgets, { namespace, resourceVersion: 'abc' })[Symbol.asyncIterator]();
      const error = await expectRejection(watch.next());
      assert.equal(error.status, 500);
    },
  },
  {
    name: 'marks the end of the initial events with a bookmark on every watch that begins with them',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      await using watch = record(client, widgets, { namespace });
      const seen = await watch.until((events) => events.some(({ type }) => type === 'BOOKMARK'));
      assert.deepEqual(listTypes(seen), ['ADDED a', 'BOOKMARK']);
      assert.equal(seen[1]?.object.metadata.annotations?.[END], 'true');
    },
  },
  {
    name: 'watches all namespaces at once',
    run: async ({ client, namespace }) => {
      const { resourceVersion } = await client.list(pods, {});
      await using watch = record(client, pods, { resourceVersion, labelSelector: `case=${namespace}` });
      await client.create(pods, pod(namespace, 'a', { labels: { case: namespace } }));
      assert.deepEqual(listTypes(await watch.until((seen) => seen.length >= 1)), ['ADDED a']);
    },
  },
];

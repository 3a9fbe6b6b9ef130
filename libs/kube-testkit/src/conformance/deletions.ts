import assert from 'node:assert/strict';
import { pods } from '@sandlot/kube';
import type { DeleteOptions } from '@sandlot/kube';
import {
  eventually,
  exists,
  ownedBy,
  pod,
  record,
  rejection,
  typesOf,
  widget,
  widgetPath,
  widgets,
} from './context.ts';
import type { ConformanceCase, ConformanceContext, Widget } from './context.ts';

const key = (namespace: string, name = 'a'): { namespace: string; name: string } => ({ namespace, name });
const finalizers = ['example.com/first', 'example.com/second'];
const OTHER_UID = '00000000-0000-4000-8000-000000000000';

/** An owner and one dependent, of which the garbage collector knows. */
async function family(context: ConformanceContext, more: Parameters<typeof ownedBy>[1] = {}): Promise<Widget> {
  const { client, namespace } = context;
  const owner = await client.create(widgets, widget(namespace, 'owner'));
  await client.create(pods, pod(namespace, 'child', { ownerReferences: ownedBy(owner, more) }));
  await collectorHasSeenPods(context);
  return owner;
}

/**
 * Resolves when the garbage collector has seen every Pod created before. It orphans, and waits in the foreground for,
 * only those dependents that its own watch has brought it; an owner deleted sooner goes as if it had none. That watch
 * is in order: once a younger Pod has been collected, the older ones are known.
 */
async function collectorHasSeenPods({ client, namespace }: ConformanceContext): Promise<void> {
  const gone = ownedBy(widget(namespace, 'never-there', { metadata: { uid: OTHER_UID } }));
  await client.create(pods, pod(namespace, 'canary', { ownerReferences: gone }));
  await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'canary')), false));
}

export const deletionCases: readonly ConformanceCase[] = [
  {
    name: 'deletes at once and answers a Status with the uid',
    run: async ({ client, raw, namespace }) => {
      const { metadata } = await client.create(widgets, widget(namespace, 'a'));
      const { status, body } = await raw({ method: 'DELETE', path: widgetPath(namespace, '/a') });
      assert.equal(status, 200);
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'a', group: 'testkit.sandlot.dev', kind: 'widgets', uid: metadata.uid },
      });
      assert.equal(await exists(client, widgets, key(namespace)), false);
    },
  },
  {
    name: 'answers NotFound to the second deletion',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      await client.delete(widgets, key(namespace));
      assert.equal((await rejection(client.delete(widgets, key(namespace)))).code, 'NotFound');
    },
  },
  {
    name: 'refuses to delete another incarnation or an older version',
    run: async ({ client, namespace }) => {
      const { metadata } = await client.create(widgets, widget(namespace, 'a'));
      await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } });
      const attempts: DeleteOptions[] = [{ uid: OTHER_UID }, { resourceVersion: metadata.resourceVersion }];
      const messages = [];
      for (const attempt of attempts) {
        const error = await rejection(client.delete(widgets, key(namespace), attempt));
        assert.equal(error.code, 'Conflict');
        messages.push(error.message);
      }
      assert.match(
        messages[0] ?? '',
        /the UID in the precondition \(0{8}-.*\) does not match the UID in record \(.*\)/,
      );
      assert.match(
        messages[1] ?? '',
        /the ResourceVersion in the precondition \(\d+\) does not match the ResourceVersion in record \(\d+\)/,
      );
      await client.delete(widgets, key(namespace), { uid: metadata.uid });
    },
  },
  {
    name: 'keeps an object with finalizers until the last one is removed',
    run: async ({ client, namespace }) => {
      const before = await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      const deleting = await client.get(widgets, key(namespace));
      assert.match(deleting.metadata.deletionTimestamp ?? '', /^\d{4}-.*Z$/);
      assert.equal(deleting.metadata.deletionGracePeriodSeconds, 0);
      assert.equal(deleting.metadata.generation, (before.metadata.generation ?? 0) + 1);
      await client.mergePatch(widgets, key(namespace), { metadata: { finalizers: finalizers.slice(1) } });
      assert.equal(await exists(client, widgets, key(namespace)), true);
      await client.mergePatch(widgets, key(namespace), { metadata: { finalizers: null } });
      assert.equal(await exists(client, widgets, key(namespace)), false);
    },
  },
  {
    name: 'shows the end of a finalized object as MODIFIED, MODIFIED, DELETED',
    run: async ({ client, namespace }) => {
      const { resourceVersion } = await client.list(widgets, { namespace });
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      await client.mergePatch(widgets, key(namespace), { metadata: { finalizers: finalizers.slice(1) } });
      await client.mergePatch(widgets, key(namespace), { metadata: { finalizers: [] } });
      await using watch = record(client, widgets, { namespace, resourceVersion });
      const seen = await watch.until((events) => events.some(({ type }) => type === 'DELETED'));
      assert.deepEqual(typesOf(seen), ['ADDED a', 'MODIFIED a', 'MODIFIED a', 'DELETED a']);
    },
  },
  {
    name: 'does not delete again what is already being deleted',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      const first = await client.get(widgets, key(namespace));
      await client.delete(widgets, key(namespace));
      assert.deepEqual(await client.get(widgets, key(namespace)), first);
    },
  },
  {
    name: 'refuses new finalizers once deletion has begun',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      const patch = { metadata: { finalizers: [...finalizers, 'example.com/third'] } };
      const error = await rejection(client.mergePatch(widgets, key(namespace), patch));
      assert.equal(error.code, 'Invalid');
      assert.match(
        error.message,
        /no new finalizers can be added if the object is being deleted, found new finalizers/,
      );
    },
  },
  {
    name: 'never takes a deletion back',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      const { metadata } = await client.get(widgets, key(namespace));
      const undo = { deletionTimestamp: null, deletionGracePeriodSeconds: null, labels: { x: 'y' } };
      const after = await client.mergePatch(widgets, key(namespace), { metadata: undo });
      assert.equal(after.metadata.deletionTimestamp, metadata.deletionTimestamp);
      assert.equal(after.metadata.deletionGracePeriodSeconds, 0);
      assert.deepEqual(after.metadata.labels, { x: 'y' });
    },
  },
  {
    name: 'lets spec and status of an object change while it is being deleted',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } });
      const after = await client.mergePatch(
        widgets,
        key(namespace),
        { status: { phase: 'Ending' } },
        { subresource: 'status' },
      );
      assert.deepEqual([after.spec?.color, after.status?.phase], ['blue', 'Ending']);
    },
  },
  {
    name: 'removes a pod that no node runs at once',
    run: async ({ client, namespace }) => {
      await client.create(pods, pod(namespace, 'a'));
      await client.delete(pods, key(namespace));
      assert.equal(await exists(client, pods, key(namespace)), false);
    },
  },
  {
    name: 'gives a pod on a node its grace period, and ends it with grace 0',
    run: async ({ client, namespace }) => {
      const { spec } = pod(namespace, 'a');
      const before = await client.create(pods, { ...pod(namespace, 'a'), spec: { ...spec, nodeName: 'nowhere' } });
      await client.delete(pods, key(namespace), { gracePeriodSeconds: 600 });
      const { metadata } = await client.get(pods, key(namespace));
      assert.equal(metadata.deletionGracePeriodSeconds, 600);
      assert.notEqual(metadata.deletionTimestamp, undefined);
      assert.equal(metadata.generation, (before.metadata.generation ?? 0) + 1);
      await client.delete(pods, key(namespace), { gracePeriodSeconds: 0 });
      assert.equal(await exists(client, pods, key(namespace)), false);
    },
  },
  {
    name: 'evicts a pod',
    run: async ({ client, namespace }) => {
      await client.create(pods, pod(namespace, 'a'));
      await client.evict(key(namespace));
      assert.equal(await exists(client, pods, key(namespace)), false);
    },
  },
  {
    name: 'collects dependents after their owner has gone',
    run: async (context) => {
      const { client, namespace } = context;
      await family(context);
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Background' });
      assert.equal(await exists(client, widgets, key(namespace, 'owner')), false);
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'child')), false));
    },
  },
  {
    name: 'collects dependents first when asked for the foreground, and the owner after those that block it',
    run: async (context) => {
      const { client, namespace } = context;
      await family(context, { blockOwnerDeletion: true });
      await client.mergePatch(pods, key(namespace, 'child'), { metadata: { finalizers: ['example.com/hold'] } });
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Foreground' });
      const deleting = await client.get(widgets, key(namespace, 'owner'));
      assert.deepEqual(deleting.metadata.finalizers, ['foregroundDeletion']);
      assert.notEqual(deleting.metadata.deletionTimestamp, undefined);
      await eventually(async () => {
        assert.notEqual((await client.get(pods, key(namespace, 'child'))).metadata.deletionTimestamp, undefined);
      });
      assert.equal(await exists(client, widgets, key(namespace, 'owner')), true);
      await client.mergePatch(pods, key(namespace, 'child'), { metadata: { finalizers: null } });
      await eventually(async () => assert.equal(await exists(client, widgets, key(namespace, 'owner')), false));
    },
  },
  {
    name: 'does not wait in the foreground for dependents that do not block their owner',
    run: async (context) => {
      const { client, namespace } = context;
      await family(context);
      await client.mergePatch(pods, key(namespace, 'child'), { metadata: { finalizers: ['example.com/hold'] } });
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Foreground' });
      await eventually(async () => assert.equal(await exists(client, widgets, key(namespace, 'owner')), false));
      await client.mergePatch(pods, key(namespace, 'child'), { metadata: { finalizers: null } });
    },
  },
  {
    name: 'orphans dependents when asked to',
    run: async (context) => {
      const { client, namespace } = context;
      await family(context);
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Orphan' });
      await eventually(async () => assert.equal(await exists(client, widgets, key(namespace, 'owner')), false));
      assert.equal((await client.get(pods, key(namespace, 'child'))).metadata.ownerReferences, undefined);
    },
  },
  {
    name: 'keeps a dependent while another owner is there, and forgets the one that has gone',
    run: async (context) => {
      const { client, namespace } = context;
      const first = await client.create(widgets, widget(namespace, 'first'));
      const second = await client.create(widgets, widget(namespace, 'second'));
      const ownerReferences = [...ownedBy(first), ...ownedBy(second, { controller: false })];
      await client.create(pods, pod(namespace, 'child', { ownerReferences }));
      await client.delete(widgets, key(namespace, 'first'));
      await eventually(async () => {
        const { metadata } = await client.get(pods, key(namespace, 'child'));
        assert.deepEqual(
          metadata.ownerReferences?.map(({ name }) => name),
          ['second'],
        );
      });
    },
  },
  {
    name: 'collects an object created for an owner that has already gone',
    run: async ({ client, namespace }) => {
      const owner = await client.create(widgets, widget(namespace, 'owner'));
      await client.delete(widgets, key(namespace, 'owner'));
      await client.create(pods, pod(namespace, 'late', { ownerReferences: ownedBy(owner) }));
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'late')), false));
    },
  },
  {
    name: 'collects an object whose owner was replaced by another of the same name',
    run: async ({ client, namespace }) => {
      const owner = await client.create(widgets, widget(namespace, 'owner'));
      await client.delete(widgets, key(namespace, 'owner'));
      await client.create(widgets, widget(namespace, 'owner'));
      await client.create(pods, pod(namespace, 'late', { ownerReferences: ownedBy(owner) }));
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'late')), false));
    },
  },
  {
    name: 'carries the cascade over several generations',
    run: async (context) => {
      const { client, namespace } = context;
      const top = await client.create(widgets, widget(namespace, 'top'));
      const middle = await client.create(
        widgets,
        widget(namespace, 'middle', { metadata: { ownerReferences: ownedBy(top) } }),
      );
      await client.create(pods, pod(namespace, 'bottom', { ownerReferences: ownedBy(middle) }));
      await client.delete(widgets, key(namespace, 'top'));
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'bottom')), false));
      assert.equal(await exists(client, widgets, key(namespace, 'middle')), false);
    },
  },
];

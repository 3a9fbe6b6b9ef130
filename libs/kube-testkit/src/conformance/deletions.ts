import assert from 'node:assert/strict';
import { podDisruptionBudgets, pods } from '@sandlot/kube';
import type { DeleteOptions } from '@sandlot/kube';
import {
  eventually,
  exists,
  ownedBy,
  pod,
  record,
  expectRejection,
  listTypes,
  widget,
  widgetPath,
  widgets,
} from './context.ts';
import type { ConformanceCase, ConformanceContext, Widget } from './context.ts';

const key = (namespace: string, name = 'a'): { namespace: string; name: string } => ({ namespace, name });
const finalizers = ['example.com/first', 'example.com/second'];
const OTHER_UID = '00000000-0000-4000-8000-000000000000';

/** Creates an owner and one dependent, and waits until the garbage collector has seen them. */
async function createOwnerAndDependent(
  context: ConformanceContext,
  more: Parameters<typeof ownedBy>[1] = {},
): Promise<Widget> {
  const { client, namespace } = context;
  const owner = await client.create(widgets, widget(namespace, 'owner'));
  await client.create(pods, pod(namespace, 'child', { ownerReferences: ownedBy(owner, more) }));
  await waitUntilCollectorHasSeenPods(context);
  return owner;
}

/**
 * Resolves when the garbage collector has seen every Pod created before. It considers only dependents that its own watch
 * has delivered: an owner deleted earlier is removed as if it had none. The watch is in order, so once the collector has
 * deleted a newer Pod, it has seen the older ones.
 */
async function waitUntilCollectorHasSeenPods({ client, namespace }: ConformanceContext): Promise<void> {
  const gone = ownedBy(widget(namespace, 'never-there', { metadata: { uid: OTHER_UID } }));
  await client.create(pods, pod(namespace, 'canary', { ownerReferences: gone }));
  await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'canary')), false));
}

export const deletionCases: readonly ConformanceCase[] = [
  {
    name: 'deletes an object at once and answers a Status with the uid',
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
    name: 'answers NotFound to a second deletion',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      await client.delete(widgets, key(namespace));
      assert.equal((await expectRejection(client.delete(widgets, key(namespace)))).code, 'NotFound');
    },
  },
  {
    name: 'refuses to delete an object with another uid or resourceVersion than the precondition',
    run: async ({ client, namespace }) => {
      const { metadata } = await client.create(widgets, widget(namespace, 'a'));
      await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } });
      const attempts: DeleteOptions[] = [{ uid: OTHER_UID }, { resourceVersion: metadata.resourceVersion }];
      const messages = [];
      for (const attempt of attempts) {
        const error = await expectRejection(client.delete(widgets, key(namespace), attempt));
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
    name: 'sends MODIFIED, MODIFIED, DELETED for the deletion of an object with a finalizer',
    run: async ({ client, namespace }) => {
      const { resourceVersion } = await client.list(widgets, { namespace });
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      await client.mergePatch(widgets, key(namespace), { metadata: { finalizers: finalizers.slice(1) } });
      await client.mergePatch(widgets, key(namespace), { metadata: { finalizers: [] } });
      await using watch = record(client, widgets, { namespace, resourceVersion });
      const seen = await watch.until((events) => events.some(({ type }) => type === 'DELETED'));
      assert.deepEqual(listTypes(seen), ['ADDED a', 'MODIFIED a', 'MODIFIED a', 'DELETED a']);
    },
  },
  {
    name: 'ignores the deletion of an object that is already being deleted',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      const first = await client.get(widgets, key(namespace));
      await client.delete(widgets, key(namespace));
      assert.deepEqual(await client.get(widgets, key(namespace)), first);
    },
  },
  {
    name: 'refuses new finalizers after deletion has begun',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a', { metadata: { finalizers } }));
      await client.delete(widgets, key(namespace));
      const patch = { metadata: { finalizers: [...finalizers, 'example.com/third'] } };
      const error = await expectRejection(client.mergePatch(widgets, key(namespace), patch));
      assert.equal(error.code, 'Invalid');
      assert.match(
        error.message,
        /no new finalizers can be added if the object is being deleted, found new finalizers/,
      );
    },
  },
  {
    name: 'never reverts a deletion',
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
    name: 'accepts changes of spec and status while an object is being deleted',
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
    name: 'removes a pod without a node at once',
    run: async ({ client, namespace }) => {
      await client.create(pods, pod(namespace, 'a'));
      await client.delete(pods, key(namespace));
      assert.equal(await exists(client, pods, key(namespace)), false);
    },
  },
  {
    name: 'gives a pod on a node its grace period, and removes it with grace period 0',
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
    name: 'evicts no running pod that a disruption budget protects, but one that has not started',
    run: async ({ client, namespace }) => {
      const metadata = { namespace, name: 'all', labels: { app: 'x' } };
      const spec = { minAvailable: 2_147_483_647, selector: { matchLabels: { app: 'x' } } };
      await client.create(podDisruptionBudgets, { metadata, spec });
      for (const name of ['a', 'b']) {
        const one = pod(namespace, name);
        await client.create(pods, { ...one, metadata: { ...one.metadata, labels: { app: 'x' } } });
      }
      await client.mergePatch(pods, key(namespace), { status: { phase: 'Running' } }, { subresource: 'status' });
      assert.equal((await expectRejection(client.evict(key(namespace)))).code, 'TooManyRequests');
      await client.evict(key(namespace, 'b'));
      assert.equal(await exists(client, pods, key(namespace, 'b')), false);
    },
  },
  {
    name: 'collects dependents after the deletion of their owner',
    run: async (context) => {
      const { client, namespace } = context;
      await createOwnerAndDependent(context);
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Background' });
      assert.equal(await exists(client, widgets, key(namespace, 'owner')), false);
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'child')), false));
    },
  },
  {
    name: 'collects dependents first in the foreground, and the owner after its blocking dependents',
    run: async (context) => {
      const { client, namespace } = context;
      await createOwnerAndDependent(context, { blockOwnerDeletion: true });
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
    name: 'does not wait in the foreground for dependents without blockOwnerDeletion',
    run: async (context) => {
      const { client, namespace } = context;
      await createOwnerAndDependent(context);
      await client.mergePatch(pods, key(namespace, 'child'), { metadata: { finalizers: ['example.com/hold'] } });
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Foreground' });
      await eventually(async () => assert.equal(await exists(client, widgets, key(namespace, 'owner')), false));
      await client.mergePatch(pods, key(namespace, 'child'), { metadata: { finalizers: null } });
    },
  },
  {
    name: 'orphans dependents with the policy Orphan',
    run: async (context) => {
      const { client, namespace } = context;
      await createOwnerAndDependent(context);
      await client.delete(widgets, key(namespace, 'owner'), { propagationPolicy: 'Orphan' });
      await eventually(async () => assert.equal(await exists(client, widgets, key(namespace, 'owner')), false));
      assert.equal((await client.get(pods, key(namespace, 'child'))).metadata.ownerReferences, undefined);
    },
  },
  {
    name: 'keeps a dependent while another owner exists, and removes the reference to the deleted owner',
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
    name: 'collects an object created for an owner that is already deleted',
    run: async ({ client, namespace }) => {
      const owner = await client.create(widgets, widget(namespace, 'owner'));
      await client.delete(widgets, key(namespace, 'owner'));
      await client.create(pods, pod(namespace, 'late', { ownerReferences: ownedBy(owner) }));
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'late')), false));
    },
  },
  {
    name: 'collects an object whose owner was recreated with the same name',
    run: async ({ client, namespace }) => {
      const owner = await client.create(widgets, widget(namespace, 'owner'));
      await client.delete(widgets, key(namespace, 'owner'));
      await client.create(widgets, widget(namespace, 'owner'));
      await client.create(pods, pod(namespace, 'late', { ownerReferences: ownedBy(owner) }));
      await eventually(async () => assert.equal(await exists(client, pods, key(namespace, 'late')), false));
    },
  },
  {
    name: 'cascades a deletion over several generations',
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

import assert from 'node:assert/strict';
import { pods } from '@sandlot/kube';
import { pod, expectRejection, widget, widgetPath, widgets, widgetsV1Alpha1 } from './context.ts';
import type { ConformanceCase, ConformanceContext, Widget } from './context.ts';

const key = (namespace: string): { namespace: string; name: string } => ({ namespace, name: 'a' });

async function createWidget(
  { client, namespace }: ConformanceContext,
  parts: Parameters<typeof widget>[2] = {},
): Promise<Widget> {
  return client.create(widgets, widget(namespace, 'a', parts));
}

export const patchCases: readonly ConformanceCase[] = [
  {
    name: 'applies a merge patch: merges objects, replaces lists and deletes fields set to null',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context, { spec: { color: 'red', tags: ['a', 'b'], size: { x: '1', y: '2' } } });
      const patch = { spec: { tags: ['c'], size: { y: null, z: '3' }, color: null } };
      const { spec } = await client.mergePatch(widgets, key(namespace), patch);
      assert.deepEqual(spec, { tags: ['c'], size: { x: '1', z: '3' } });
    },
  },
  {
    name: 'deletes labels and annotations set to null, and ignores null for missing ones',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context, { metadata: { labels: { keep: '1', drop: '1' }, annotations: { drop: '1' } } });
      const patch = { metadata: { labels: { drop: null, never: null }, annotations: { drop: null } } };
      const { metadata } = await client.mergePatch(widgets, key(namespace), patch);
      assert.deepEqual(metadata.labels, { keep: '1' });
      assert.deepEqual(metadata.annotations ?? {}, {});
    },
  },
  {
    name: 'accepts a merge patch with the current resourceVersion',
    run: async (context) => {
      const { client, namespace } = context;
      const { metadata } = await createWidget(context);
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { color: 'blue' } };
      const patched = await client.mergePatch(widgets, key(namespace), patch);
      assert.equal(patched.spec?.color, 'blue');
      assert.notEqual(patched.metadata.resourceVersion, metadata.resourceVersion);
    },
  },
  {
    name: 'refuses a merge patch with an old resourceVersion as Conflict and changes nothing',
    run: async (context) => {
      const { client, raw, namespace } = context;
      const { metadata } = await createWidget(context);
      const current = await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } });
      const { status, body } = await raw({
        method: 'PATCH',
        path: widgetPath(namespace, '/a'),
        contentType: 'application/merge-patch+json',
        body: { metadata: { resourceVersion: metadata.resourceVersion }, spec: { color: 'green' } },
      });
      assert.equal(status, 409);
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message:
          'Operation cannot be fulfilled on widgets.testkit.sandlot.dev "a": the object has been modified; ' +
          'please apply your changes to the latest version and try again',
        reason: 'Conflict',
        details: { name: 'a', group: 'testkit.sandlot.dev', kind: 'widgets' },
        code: 409,
      });
      assert.deepEqual(await client.get(widgets, key(namespace)), current);
    },
  },
  {
    name: 'refuses a merge patch with another uid as Invalid, not Conflict',
    run: async (context) => {
      const { raw, namespace } = context;
      await createWidget(context);
      const { status, body } = await raw({
        method: 'PATCH',
        path: widgetPath(namespace, '/a'),
        contentType: 'application/merge-patch+json',
        body: { metadata: { uid: '00000000-0000-4000-8000-000000000000' }, spec: { color: 'green' } },
      });
      assert.equal(status, 422);
      const why = 'Invalid value: "00000000-0000-4000-8000-000000000000": field is immutable';
      assert.equal(
        (body as { message: string }).message,
        `Widget.testkit.sandlot.dev "a" is invalid: metadata.uid: ${why}`,
      );
    },
  },
  {
    name: 'accepts exactly one of several patches with the same resourceVersion',
    run: async (context) => {
      const { client, namespace } = context;
      const { resourceVersion } = (await createWidget(context)).metadata;
      const colors = ['a', 'b', 'c', 'd', 'e'];
      const outcomes = await Promise.allSettled(
        colors.map((color) =>
          client.mergePatch(widgets, key(namespace), { metadata: { resourceVersion }, spec: { color } }),
        ),
      );
      const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.spec?.color] : []));
      assert.equal(won.length, 1);
      assert.equal((await client.get(widgets, key(namespace))).spec?.color, won[0]);
    },
  },
  {
    name: 'keeps the resourceVersion after a patch that changes nothing',
    run: async (context) => {
      const { client, namespace } = context;
      const before = await createWidget(context);
      const after = await client.mergePatch(widgets, key(namespace), { spec: { color: 'red' } });
      assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    },
  },
  {
    name: 'answers NotFound to a patch of a missing object',
    run: async ({ client, namespace }) => {
      const error = await expectRejection(client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } }));
      assert.equal(error.code, 'NotFound');
    },
  },
  {
    name: 'refuses a patch that renames the object',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      const error = await expectRejection(client.mergePatch(widgets, key(namespace), { metadata: { name: 'b' } }));
      assert.equal(error.status, 400);
      assert.match(error.message, /the name of the object \(b\) does not match the name on the URL \(a\)/);
    },
  },
  {
    name: 'refuses a strategic merge patch of a custom resource with 415',
    run: async (context) => {
      const { raw, namespace } = context;
      await createWidget(context);
      const contentType = 'application/strategic-merge-patch+json';
      const { status, body } = await raw({ method: 'PATCH', path: widgetPath(namespace, '/a'), contentType, body: {} });
      assert.equal(status, 415);
      assert.equal((body as { reason: string }).reason, 'UnsupportedMediaType');
    },
  },
  {
    name: 'applies the operations of a JSON patch in order',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context, { spec: { color: 'red', tags: ['a', 'b'], size: { x: '1' } } });
      const { spec } = await client.patchJson(widgets, key(namespace), [
        { op: 'test', path: '/spec/color', value: 'red' },
        { op: 'add', path: '/spec/tags/1', value: 'between' },
        { op: 'add', path: '/spec/tags/-', value: 'last' },
        { op: 'replace', path: '/spec/color', value: 'blue' },
        { op: 'copy', from: '/spec/size/x', path: '/spec/size/y' },
        { op: 'move', from: '/spec/size/x', path: '/spec/size/z' },
        { op: 'remove', path: '/spec/tags/0' },
      ]);
      assert.deepEqual(spec, { color: 'blue', tags: ['between', 'b', 'last'], size: { y: '1', z: '1' } });
    },
  },
  {
    name: 'reads ~1 as a slash in a JSON patch path',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context, { metadata: { annotations: { 'example.com/x': '1' } } });
      const path = '/metadata/annotations/example.com~1x';
      const { metadata } = await client.patchJson(widgets, key(namespace), [{ op: 'replace', path, value: '2' }]);
      assert.deepEqual(metadata.annotations, { 'example.com/x': '2' });
    },
  },
  {
    name: 'refuses a JSON patch whose test fails as Invalid and changes nothing',
    run: async (context) => {
      const { client, namespace } = context;
      const before = await createWidget(context);
      const error = await expectRejection(
        client.patchJson(widgets, key(namespace), [
          { op: 'replace', path: '/spec/color', value: 'blue' },
          { op: 'test', path: '/metadata/uid', value: 'another' },
        ]),
      );
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /the server rejected our request due to an error in our request/);
      assert.deepEqual(await client.get(widgets, key(namespace)), before);
    },
  },
  {
    name: 'refuses a JSON patch that removes a missing field',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      const error = await expectRejection(
        client.patchJson(widgets, key(namespace), [{ op: 'remove', path: '/spec/nothing' }]),
      );
      assert.equal(error.code, 'Invalid');
    },
  },
  {
    name: 'requires a resourceVersion to replace a custom resource',
    run: async (context) => {
      const { raw, namespace } = context;
      await createWidget(context);
      const { status, body } = await raw({
        method: 'PUT',
        path: widgetPath(namespace, '/a'),
        body: widget(namespace, 'a'),
      });
      assert.equal(status, 422);
      assert.match(
        (body as { message: string }).message,
        /metadata\.resourceVersion: Invalid value: 0(x0)?: must be specified for an update/,
      );
    },
  },
  {
    name: 'replaces the whole spec when the resourceVersion is current',
    run: async (context) => {
      const { raw, namespace } = context;
      const { metadata } = await createWidget(context, { spec: { color: 'red', replicas: 2 } });
      const next = {
        ...widget(namespace, 'a', { spec: { color: 'blue' } }),
        metadata: { ...metadata, labels: { x: 'y' } },
      };
      const { status, body } = await raw({ method: 'PUT', path: widgetPath(namespace, '/a'), body: next });
      assert.equal(status, 200);
      assert.deepEqual((body as Widget).spec, { color: 'blue' });
      assert.deepEqual((body as Widget).metadata.labels, { x: 'y' });
    },
  },
  {
    name: 'ignores a changed creationTimestamp and generation, and refuses to set the deletion fields',
    run: async (context) => {
      const { client, namespace } = context;
      const before = await createWidget(context);
      const metadata = { generation: 9, creationTimestamp: '2001-01-01T00:00:00Z', labels: { x: 'y' } };
      const after = await client.mergePatch(widgets, key(namespace), { metadata });
      assert.equal(after.metadata.generation, before.metadata.generation);
      assert.equal(after.metadata.creationTimestamp, before.metadata.creationTimestamp);
      assert.deepEqual(after.metadata.labels, { x: 'y' });
      for (const field of [{ deletionTimestamp: '2001-01-01T00:00:00Z' }, { deletionGracePeriodSeconds: 9 }]) {
        const error = await expectRejection(client.mergePatch(widgets, key(namespace), { metadata: field }));
        assert.equal(error.code, 'Invalid');
        assert.match(error.message, /field is immutable/);
      }
    },
  },
  {
    name: 'keeps the fields of other versions when an object is patched through an older one',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context, { spec: { color: 'red', tags: ['a'] } });
      await client.mergePatch(widgetsV1Alpha1, key(namespace), { spec: { color: 'blue' } });
      assert.deepEqual((await client.get(widgets, key(namespace))).spec, { color: 'blue', tags: ['a'] });
    },
  },
  {
    name: 'refuses a merge patch that removes the resourceVersion of a custom resource',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      const error = await expectRejection(
        client.mergePatch(widgets, key(namespace), { metadata: { resourceVersion: null } }),
      );
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /metadata\.resourceVersion: Invalid value: 0: must be specified for an update/);
    },
  },
  {
    name: 'refuses a patch that changes the kind or the version',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      const kind = await expectRejection(client.mergePatch(widgets, key(namespace), { kind: 'Other' }));
      assert.match(kind.message, /kind: Invalid value: "Other": must be Widget/);
      const version = await expectRejection(client.mergePatch(widgets, key(namespace), { apiVersion: 'x/v1' }));
      assert.match(version.message, /apiVersion: Invalid value: "x\/v1": must be testkit\.sandlot\.dev\/v1/);
    },
  },
  {
    name: 'refuses a label that is not a string',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      const error = await expectRejection(
        client.mergePatch(widgets, key(namespace), { metadata: { labels: { count: 5 } } }),
      );
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /cannot unmarshal number into Go struct field ObjectMeta\.labels of type string/);
    },
  },
  {
    name: 'refuses a JSON patch that is not a list of operations',
    run: async (context) => {
      const { raw, namespace } = context;
      await createWidget(context);
      const path = widgetPath(namespace, '/a');
      const contentType = 'application/json-patch+json';
      const { status, body } = await raw({ method: 'PATCH', path, contentType, body: { op: 'remove' } });
      assert.equal(status, 400);
      assert.match((body as { message: string }).message, /^error decoding patch: json: cannot unmarshal object/);
    },
  },
  {
    name: 'refuses a change of the command of a pod but accepts one of its image or labels',
    run: async ({ client, namespace }) => {
      await client.create(pods, pod(namespace, 'a'));
      const container = { name: 'main', image: 'example.com/none:1', command: ['x'] };
      const error = await expectRejection(
        client.mergePatch(pods, key(namespace), { spec: { containers: [container] } }),
      );
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /spec: Forbidden: pod updates may not change fields other than/);
      const ops = [{ op: 'replace', path: '/spec/containers/0/image', value: 'example.com/none:2' }] as const;
      assert.equal((await client.patchJson(pods, key(namespace), ops)).spec.containers[0]?.image, 'example.com/none:2');
      const labelled = await client.mergePatch(pods, key(namespace), { metadata: { labels: { x: 'y' } } });
      assert.deepEqual(labelled.metadata.labels, { x: 'y' });
    },
  },
];

import assert from 'node:assert/strict';
import { expectRejection, widget, widgetPath, widgets } from './context.ts';
import type { ConformanceCase, Widget } from './context.ts';

const key = (namespace: string): { namespace: string; name: string } => ({ namespace, name: 'a' });
const by = (fieldManager: string, force = false): { fieldManager: string; force: boolean } => ({ fieldManager, force });

/** Field owners as `manager/operation`, with their spec fields. */
function owners({ metadata }: Widget): Record<string, string[]> {
  const entries = (metadata.managedFields ?? []) as {
    manager: string;
    operation: string;
    fieldsV1?: Record<string, object>;
  }[];
  return Object.fromEntries(
    entries.map(({ manager, operation, fieldsV1 }) => [
      `${manager}/${operation}`,
      Object.keys(fieldsV1?.['f:spec'] ?? {})
        .filter((field) => field !== '.')
        .sort(),
    ]),
  );
}

export const applyCases: readonly ConformanceCase[] = [
  {
    name: 'creates an object by server-side apply and records the owner of its fields',
    run: async ({ client, namespace }) => {
      const applied = await client.apply(
        widgets,
        widget(namespace, 'a', { spec: { color: 'red', replicas: 1 } }),
        by('one'),
      );
      assert.deepEqual(applied.spec, { color: 'red', replicas: 1 });
      assert.deepEqual(owners(applied), { 'one/Apply': ['f:color', 'f:replicas'] });
    },
  },
  {
    name: 'changes only the applied fields and keeps those of other managers',
    run: async ({ client, namespace }) => {
      await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red' } }), by('one'));
      const applied = await client.apply(widgets, widget(namespace, 'a', { spec: { replicas: 2 } }), by('two'));
      assert.deepEqual(applied.spec, { color: 'red', replicas: 2 });
      assert.deepEqual(owners(applied), { 'one/Apply': ['f:color'], 'two/Apply': ['f:replicas'] });
    },
  },
  {
    name: 'removes fields that a manager applied before and leaves out now',
    run: async ({ client, namespace }) => {
      await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red', replicas: 1 } }), by('one'));
      const applied = await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red' } }), by('one'));
      assert.deepEqual(applied.spec, { color: 'red' });
    },
  },
  {
    name: 'refuses to change a field of another manager, and names the manager and the field',
    run: async ({ client, raw, namespace }) => {
      await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red' } }), by('one'));
      const { status, body } = await raw({
        method: 'PATCH',
        path: widgetPath(namespace, '/a?fieldManager=two'),
        contentType: 'application/apply-patch+yaml',
        body: widget(namespace, 'a', { spec: { color: 'blue' } }),
      });
      assert.equal(status, 409);
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'Apply failed with 1 conflict: conflict with "one": .spec.color',
        reason: 'Conflict',
        details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.color' }] },
        code: 409,
      });
    },
  },
  {
    name: 'takes over the fields of another manager when forced',
    run: async ({ client, namespace }) => {
      await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red', replicas: 1 } }), by('one'));
      const applied = await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'blue' } }), by('two', true));
      assert.deepEqual(applied.spec, { color: 'blue', replicas: 1 });
      assert.deepEqual(owners(applied), { 'one/Apply': ['f:replicas'], 'two/Apply': ['f:color'] });
    },
  },
  {
    name: 'makes two managers that apply the same value co-owners of the field',
    run: async ({ client, namespace }) => {
      await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red' } }), by('one'));
      const applied = await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red' } }), by('two'));
      assert.deepEqual(owners(applied), { 'one/Apply': ['f:color'], 'two/Apply': ['f:color'] });
    },
  },
  {
    name: 'moves a patched field from its applier to the manager that patched it',
    run: async ({ client, namespace }) => {
      await client.apply(widgets, widget(namespace, 'a', { spec: { color: 'red', replicas: 1 } }), by('one'));
      const patched = await client.mergePatch(
        widgets,
        key(namespace),
        { spec: { color: 'blue' } },
        { fieldManager: 'three' },
      );
      assert.deepEqual(owners(patched), { 'one/Apply': ['f:replicas'], 'three/Update': ['f:color'] });
    },
  },
  {
    name: 'changes nothing when the same configuration is applied again',
    run: async ({ client, namespace }) => {
      const first = await client.apply(widgets, widget(namespace, 'a'), by('one'));
      const second = await client.apply(widgets, widget(namespace, 'a'), by('one'));
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    },
  },
  {
    name: 'refuses server-side apply without a field manager',
    run: async ({ raw, namespace }) => {
      const { status, body } = await raw({
        method: 'PATCH',
        path: widgetPath(namespace, '/a'),
        contentType: 'application/apply-patch+yaml',
        body: widget(namespace, 'a'),
      });
      assert.equal(status, 422);
      assert.match((body as { message: string }).message, /fieldManager: Required value: is required for apply patch/);
    },
  },
  {
    name: 'applies only status through the status endpoint',
    run: async ({ client, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      const config = widget(namespace, 'a', { spec: { color: 'blue' }, status: { phase: 'Ready' } });
      const applied = await client.apply(widgets, config, { ...by('one'), subresource: 'status' });
      assert.deepEqual(applied.spec, { color: 'red' });
      assert.deepEqual(applied.status, { phase: 'Ready' });
      assert.equal(
        (await expectRejection(client.apply(widgets, widget(namespace, 'b'), { ...by('one'), subresource: 'status' })))
          .code,
        'NotFound',
      );
    },
  },
];

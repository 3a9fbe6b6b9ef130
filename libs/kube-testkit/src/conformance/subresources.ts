import assert from 'node:assert/strict';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { pod, expectRejection, widget, widgetPath, widgets } from './context.ts';
import type { ConformanceCase, ConformanceContext, Widget } from './context.ts';

const key = (namespace: string): { namespace: string; name: string } => ({ namespace, name: 'a' });
const status = { subresource: 'status' } as const;

async function createWidget(
  { client, namespace }: ConformanceContext,
  parts: Parameters<typeof widget>[2] = {},
): Promise<Widget> {
  return client.create(widgets, widget(namespace, 'a', parts));
}

function buildSizedPod(namespace: string): Pod {
  const plain = pod(namespace, 'a');
  const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m' } };
  return { ...plain, spec: { containers: plain.spec.containers.map((container) => ({ ...container, resources })) } };
}

export const subresourceCases: readonly ConformanceCase[] = [
  {
    name: 'changes only status through the status endpoint of a custom resource',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context, { metadata: { labels: { keep: '1' } } });
      const patch = {
        metadata: { labels: { more: '1' }, annotations: { x: 'y' }, finalizers: ['example.com/f'] },
        spec: { color: 'blue' },
        status: { phase: 'Ready' },
      };
      const after = await client.mergePatch(widgets, key(namespace), patch, status);
      assert.deepEqual(after.status, { phase: 'Ready' });
      assert.deepEqual(after.spec, { color: 'red' });
      assert.deepEqual(after.metadata.labels, { keep: '1' });
      assert.equal(after.metadata.annotations, undefined);
      assert.equal(after.metadata.finalizers, undefined);
    },
  },
  {
    name: 'ignores status through the main endpoint',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      await client.mergePatch(widgets, key(namespace), { status: { phase: 'Ready' } }, status);
      const after = await client.mergePatch(widgets, key(namespace), {
        spec: { color: 'blue' },
        status: { phase: 'Failed' },
      });
      assert.deepEqual(after.status, { phase: 'Ready' });
      assert.deepEqual(after.spec, { color: 'blue' });
    },
  },
  {
    name: 'checks the resourceVersion of a status patch',
    run: async (context) => {
      const { client, namespace } = context;
      const { resourceVersion } = (await createWidget(context)).metadata;
      await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } });
      const patch = { metadata: { resourceVersion }, status: { phase: 'Ready' } };
      assert.equal((await expectRejection(client.mergePatch(widgets, key(namespace), patch, status))).code, 'Conflict');
    },
  },
  {
    name: 'increments the generation only for spec changes',
    run: async (context) => {
      const { client, namespace } = context;
      await createWidget(context);
      const generations = [
        (await client.mergePatch(widgets, key(namespace), { metadata: { labels: { x: 'y' } } })).metadata.generation,
        (await client.mergePatch(widgets, key(namespace), { status: { phase: 'Ready' } }, status)).metadata.generation,
        (await client.mergePatch(widgets, key(namespace), { spec: { color: 'red' } })).metadata.generation,
        (await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } })).metadata.generation,
        (await client.mergePatch(widgets, key(namespace), { spec: { tags: ['x'] } })).metadata.generation,
      ];
      assert.deepEqual(generations, [1, 1, 1, 2, 3]);
    },
  },
  {
    name: 'gives a pod generation 1 and keeps it after status changes',
    run: async ({ client, namespace }) => {
      const { metadata } = await client.create(pods, pod(namespace, 'a'));
      assert.equal(metadata.generation, 1);
      const after = await client.mergePatch(pods, key(namespace), { status: { phase: 'Running' } }, status);
      assert.equal(after.metadata.generation, 1);
      assert.equal(after.status?.phase, 'Running');
    },
  },
  {
    name: 'changes only resources through the resize endpoint of a pod, and increments its generation',
    run: async ({ client, namespace }) => {
      const { metadata } = await client.create(pods, buildSizedPod(namespace));
      const { uid = '', resourceVersion = '' } = metadata;
      const resources = { requests: { cpu: '150m' }, limits: { cpu: '300m' } };
      const patch = {
        metadata: { uid, resourceVersion, labels: { x: 'y' } },
        spec: { containers: [{ name: 'main', image: 'example.com/other:1', resources }] },
      };
      const after = await client.mergePatch(pods, key(namespace), patch, { subresource: 'resize' });
      assert.deepEqual(after.spec.containers[0]?.resources, resources);
      assert.equal(after.spec.containers[0].image, 'example.com/none:1');
      assert.equal(after.metadata.labels?.['x'], undefined);
      assert.equal(after.metadata.generation, 2);
    },
  },
  {
    name: 'checks the resourceVersion of a resize',
    run: async ({ client, namespace }) => {
      const { resourceVersion = '' } = (await client.create(pods, buildSizedPod(namespace))).metadata;
      await client.mergePatch(pods, key(namespace), { metadata: { labels: { x: 'y' } } });
      const containers = [{ name: 'main', image: 'example.com/none:1', resources: { requests: { cpu: '1' } } }];
      const patch = { metadata: { resourceVersion }, spec: { containers } };
      const refused = await expectRejection(client.mergePatch(pods, key(namespace), patch, { subresource: 'resize' }));
      assert.equal(refused.code, 'Conflict');
    },
  },
  {
    name: 'gives services and persistent volume claims no generation',
    run: async ({ raw, namespace }) => {
      const service = { metadata: { name: 'a' }, spec: { clusterIP: 'None', selector: { x: 'y' } } };
      const path = `/api/v1/namespaces/${namespace}/services`;
      const { status: code, body } = await raw({
        method: 'POST',
        path,
        body: { apiVersion: 'v1', kind: 'Service', ...service },
      });
      assert.equal(code, 201);
      const { metadata, spec } = body as { metadata: object; spec: Record<string, unknown> };
      assert.ok(!('generation' in metadata));
      assert.equal(spec['clusterIP'], 'None');
      assert.deepEqual(spec['clusterIPs'], ['None']);
      assert.equal(spec['type'], 'ClusterIP');
    },
  },
  {
    name: 'returns the scale of an object as autoscaling/v1',
    run: async (context) => {
      const { client, raw, namespace } = context;
      const { metadata } = await createWidget(context, { spec: { replicas: 3 } });
      await client.mergePatch(widgets, key(namespace), { status: { replicas: 2, selector: 'x=y' } }, status);
      const { body } = await raw({ method: 'GET', path: widgetPath(namespace, '/a/scale') });
      const scale = body as { kind: string; apiVersion: string; metadata: object; spec: object; status: object };
      assert.equal(scale.kind, 'Scale');
      assert.equal(scale.apiVersion, 'autoscaling/v1');
      assert.deepEqual(scale.spec, { replicas: 3 });
      assert.deepEqual(scale.status, { replicas: 2, selector: 'x=y' });
      assert.equal((scale.metadata as { uid: string }).uid, metadata.uid);
    },
  },
  {
    name: 'writes spec.replicas through the scale endpoint and increments the generation',
    run: async (context) => {
      const { client, raw, namespace } = context;
      await createWidget(context, { spec: { replicas: 1, color: 'red' } });
      const { status: code } = await raw({
        method: 'PATCH',
        path: widgetPath(namespace, '/a/scale'),
        contentType: 'application/merge-patch+json',
        body: { spec: { replicas: 5 } },
      });
      assert.equal(code, 200);
      const after = await client.get(widgets, key(namespace));
      assert.deepEqual(after.spec, { replicas: 5, color: 'red' });
      assert.equal(after.metadata.generation, 2);
    },
  },
  {
    name: 'checks the resourceVersion when a scale is replaced',
    run: async (context) => {
      const { client, raw, namespace } = context;
      await createWidget(context, { spec: { replicas: 1 } });
      const path = widgetPath(namespace, '/a/scale');
      const { body: scale } = await raw({ method: 'GET', path });
      await client.mergePatch(widgets, key(namespace), { spec: { color: 'blue' } });
      const { status: code } = await raw({
        method: 'PUT',
        path,
        body: { ...(scale as object), spec: { replicas: 4 } },
      });
      assert.equal(code, 409);
    },
  },
];

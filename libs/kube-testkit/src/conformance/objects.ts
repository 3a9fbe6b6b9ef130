import assert from 'node:assert/strict';
import { pods, secrets } from '@sandlot/kube';
import { pod, expectRejection, widget, widgetPath, widgets, widgetsV1Alpha1 } from './context.ts';
import type { ConformanceCase, Widget } from './context.ts';

const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const WHOLE_SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export const objectCases: readonly ConformanceCase[] = [
  {
    name: 'gives a new object a uid, a resourceVersion, a creation time in whole seconds and generation 1',
    run: async ({ client, namespace }) => {
      const { metadata, spec } = await client.create(widgets, widget(namespace, 'a'));
      assert.match(metadata.uid ?? '', UID);
      assert.match(metadata.creationTimestamp ?? '', WHOLE_SECONDS);
      assert.match(metadata.resourceVersion ?? '', /^\d+$/);
      assert.equal(metadata.generation, 1);
      assert.deepEqual(spec, { color: 'red' });
    },
  },
  {
    name: 'returns the same object from get as from create',
    run: async ({ client, namespace }) => {
      const created = await client.create(widgets, widget(namespace, 'a', { spec: { color: 'blue', tags: ['x'] } }));
      assert.deepEqual(await client.get(widgets, { namespace, name: 'a' }), created);
    },
  },
  {
    name: 'ignores uid, creationTimestamp, generation and deletionTimestamp of a new object',
    run: async ({ client, namespace }) => {
      const metadata = {
        uid: 'mine',
        creationTimestamp: '2001-01-01T00:00:00Z',
        generation: 7,
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 3,
      };
      const created = await client.create(widgets, widget(namespace, 'a', { metadata }));
      assert.match(created.metadata.uid ?? '', UID);
      assert.notEqual(created.metadata.creationTimestamp, metadata.creationTimestamp);
      assert.equal(created.metadata.generation, 1);
      assert.equal(created.metadata.deletionTimestamp, undefined);
      assert.equal(created.metadata.deletionGracePeriodSeconds, undefined);
    },
  },
  {
    name: 'drops the status of a new object when status is a subresource',
    run: async ({ client, namespace }) => {
      const created = await client.create(widgets, widget(namespace, 'a', { status: { phase: 'Ready' } }));
      assert.equal(created.status, undefined);
    },
  },
  {
    name: 'refuses a second object of the same name with AlreadyExists',
    run: async ({ client, raw, namespace }) => {
      await client.create(widgets, widget(namespace, 'a'));
      const { status, body } = await raw({ method: 'POST', path: widgetPath(namespace), body: widget(namespace, 'a') });
      assert.equal(status, 409);
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'widgets.testkit.sandlot.dev "a" already exists',
        reason: 'AlreadyExists',
        details: { name: 'a', group: 'testkit.sandlot.dev', kind: 'widgets' },
        code: 409,
      });
    },
  },
  {
    name: 'refuses a resourceVersion on create',
    run: async ({ client, namespace }) => {
      const call = client.create(widgets, widget(namespace, 'a', { metadata: { resourceVersion: '1' } }));
      const error = await expectRejection(call);
      assert.equal(error.status, 500);
      assert.match(error.message, /resourceVersion should not be set on objects to be created/);
    },
  },
  {
    name: 'answers NotFound with the name and kind of the missing object',
    run: async ({ raw, namespace }) => {
      const { status, body } = await raw({ method: 'GET', path: `/api/v1/namespaces/${namespace}/pods/nobody` });
      assert.equal(status, 404);
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'pods "nobody" not found',
        reason: 'NotFound',
        details: { name: 'nobody', kind: 'pods' },
        code: 404,
      });
    },
  },
  {
    name: 'answers 404 in plain text for an unknown resource',
    run: async ({ raw }) => {
      const { status, body } = await raw({ method: 'GET', path: '/apis/nobody.example.com/v1/things' });
      assert.equal(status, 404);
      assert.equal(body, '404 page not found\n');
    },
  },
  {
    name: 'refuses a custom resource without a kind, of another kind, or of another version than the path',
    run: async ({ raw, namespace }) => {
      const path = widgetPath(namespace);
      const answers = [
        await raw({ method: 'POST', path, body: { metadata: { name: 'a' } } }),
        await raw({ method: 'POST', path, body: { ...widget(namespace, 'a'), kind: 'Gadget' } }),
        await raw({
          method: 'POST',
          path,
          body: { ...widget(namespace, 'a'), apiVersion: 'testkit.sandlot.dev/v1alpha1' },
        }),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [400, 422, 400],
      );
    },
  },
  {
    name: 'appends five characters to generateName',
    run: async ({ client, namespace }) => {
      const nameless = { ...widget(namespace, ''), metadata: { namespace, generateName: 'pool-' } };
      const names = await Promise.all([1, 2, 3].map(() => client.create(widgets, nameless)));
      for (const { metadata } of names) {
        assert.match(metadata.name ?? '', /^pool-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
        assert.equal(metadata.generateName, 'pool-');
      }
      assert.equal(new Set(names.map(({ metadata }) => metadata.name)).size, 3);
    },
  },
  {
    name: 'refuses an object without a name as Invalid',
    run: async ({ client, namespace }) => {
      const error = await expectRejection(
        client.create(widgets, { ...widget(namespace, ''), metadata: { namespace } }),
      );
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /metadata\.name: Required value: name or generateName is required/);
    },
  },
  {
    name: 'refuses a name that is not a DNS subdomain, and names the field in the causes',
    run: async ({ raw, namespace }) => {
      const answer = await raw({ method: 'POST', path: widgetPath(namespace), body: widget(namespace, 'Bad_Name') });
      const { reason, details } = answer.body as {
        reason: string;
        details: { causes: { field: string; reason: string }[] };
      };
      assert.equal(answer.status, 422);
      assert.equal(reason, 'Invalid');
      assert.deepEqual(
        details.causes.map((cause) => [cause.field, cause.reason]),
        [['metadata.name', 'FieldValueInvalid']],
      );
    },
  },
  {
    name: 'refuses a label value with a space and names it in the message',
    run: async ({ client, namespace }) => {
      const call = client.create(widgets, widget(namespace, 'a', { metadata: { labels: { team: 'not ok' } } }));
      const error = await expectRejection(call);
      assert.equal(error.code, 'Invalid');
      assert.match(
        error.message,
        /metadata\.labels: Invalid value: "not ok": a valid label must be an empty string or consist of/,
      );
    },
  },
  {
    name: 'refuses an object in a namespace that does not exist',
    run: async ({ client }) => {
      const error = await expectRejection(
        client.create(secrets, { metadata: { namespace: 'no-such-namespace', name: 'a' } }),
      );
      assert.equal(error.code, 'NotFound');
      assert.match(error.message, /namespaces "no-such-namespace" not found/);
    },
  },
  {
    name: 'refuses a body with another namespace than the path',
    run: async ({ raw, namespace }) => {
      const { status, body } = await raw({ method: 'POST', path: widgetPath(namespace), body: widget('default', 'a') });
      assert.equal(status, 400);
      assert.equal(
        (body as { message: string }).message,
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    },
  },
  {
    name: 'refuses two controller owners',
    run: async ({ client, namespace }) => {
      const owner = (name: string): object => ({
        apiVersion: 'v1',
        kind: 'Pod',
        name,
        uid: `uid-${name}`,
        controller: true,
      });
      const metadata = { ownerReferences: [owner('x'), owner('y')] } as Widget['metadata'];
      const error = await expectRejection(client.create(widgets, widget(namespace, 'a', { metadata })));
      assert.equal(error.code, 'Invalid');
      assert.match(
        error.message,
        /Only one reference can have Controller set to true\. Found "true" in references for Pod\/x and Pod\/y/,
      );
    },
  },
  {
    name: 'returns an object in every served version with only apiVersion changed',
    run: async ({ client, namespace }) => {
      const created = await client.create(widgets, widget(namespace, 'a'));
      const older = await client.get(widgetsV1Alpha1, { namespace, name: 'a' });
      assert.equal(older.apiVersion, 'testkit.sandlot.dev/v1alpha1');
      assert.equal(older.metadata.resourceVersion, created.metadata.resourceVersion);
      assert.deepEqual(older.spec, created.spec);
    },
  },
  {
    name: 'sets the defaults of a pod and starts it as Pending',
    run: async ({ client, namespace }) => {
      const { spec, status } = await client.create(pods, pod(namespace, 'a'));
      assert.equal(spec.restartPolicy, 'Always');
      assert.equal(spec.terminationGracePeriodSeconds, 30);
      assert.equal(spec.dnsPolicy, 'ClusterFirst');
      assert.equal(spec.containers[0]?.imagePullPolicy, 'IfNotPresent');
      assert.deepEqual(spec.containers[0].resources, {});
      assert.equal(status?.phase, 'Pending');
    },
  },
  {
    name: 'stores nothing in a dry run',
    run: async ({ client, raw, namespace }) => {
      const path = `${widgetPath(namespace)}?dryRun=All`;
      const { status } = await raw({ method: 'POST', path, body: widget(namespace, 'a') });
      assert.equal(status, 201);
      assert.equal((await expectRejection(client.get(widgets, { namespace, name: 'a' }))).code, 'NotFound');
    },
  },
];

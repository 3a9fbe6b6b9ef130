import assert from 'node:assert/strict';
import {
  events,
  leases,
  namespaces,
  networkPolicies,
  persistentVolumeClaims,
  pods,
  secrets,
  services,
} from '@sandlot/kube';
import type { Event } from '@sandlot/kube';
import { eventually, exists, pod, expectRejection } from './context.ts';
import type { ConformanceCase } from './context.ts';

const event = (namespace: string): Event => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { namespace, name: 'a.1' },
  eventTime: '2030-01-01T00:00:00.000000Z',
  type: 'Normal',
  reason: 'Started',
  action: 'Start',
  note: 'it started',
  regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name: 'a', uid: 'u' },
  reportingController: 'example.com/c',
  reportingInstance: 'c-1',
});

export const builtinCases: readonly ConformanceCase[] = [
  {
    name: 'accepts an event with all fields',
    run: async ({ client, namespace }) => {
      const created = await client.create(events, event(namespace));
      assert.equal(created.reason, 'Started');
      assert.equal(created.note, 'it started');
    },
  },
  {
    name: 'refuses an event of an unknown type, or without action, reason, time or reporter',
    run: async ({ client, namespace }) => {
      const wrong: Event[] = [
        { ...event(namespace), type: 'Odd' as Event['type'] },
        ...['action', 'reason', 'reportingController', 'reportingInstance'].map((field) => ({
          ...event(namespace),
          [field]: '',
        })),
      ];
      for (const one of wrong) assert.equal((await expectRejection(client.create(events, one))).code, 'Invalid');
    },
  },
  {
    name: 'starts a persistent volume claim as Pending and refuses to change its class',
    run: async ({ client, namespace }) => {
      const spec = {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 'none',
      };
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace, name: 'a' }, spec };
      const created = await client.create(persistentVolumeClaims, claim);
      assert.equal(created.status?.phase, 'Pending');
      assert.equal(created.spec.volumeMode, 'Filesystem');
      const patch = { spec: { storageClassName: 'other' } };
      const error = await expectRejection(client.mergePatch(persistentVolumeClaims, { namespace, name: 'a' }, patch));
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /spec: Forbidden: spec is immutable after creation/);
    },
  },
  {
    name: 'refuses a persistent volume claim without a size',
    run: async ({ client, namespace }) => {
      const claim = {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { namespace, name: 'a' },
        spec: { accessModes: ['ReadWriteOnce'] },
      };
      const error = await expectRejection(client.create(persistentVolumeClaims, claim));
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /spec\.resources\[storage\]: Required value/);
    },
  },
  {
    name: 'refuses a pod without containers',
    run: async ({ client, namespace }) => {
      const error = await expectRejection(client.create(pods, { ...pod(namespace, 'a'), spec: { containers: [] } }));
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /spec\.containers: Required value/);
    },
  },
  {
    name: 'sets the defaults of service ports',
    run: async ({ client, namespace }) => {
      const spec = { clusterIP: 'None', selector: { x: 'y' }, ports: [{ port: 80 }] };
      const created = await client.create(services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace, name: 'a' },
        spec,
      });
      assert.deepEqual(created.spec?.ports, [{ port: 80, targetPort: 80, protocol: 'TCP' }]);
    },
  },
  {
    name: 'refuses a service name with a dot',
    run: async ({ client, namespace }) => {
      const spec = { clusterIP: 'None', selector: { x: 'y' } };
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: 'a.b' }, spec };
      const error = await expectRejection(client.create(services, service));
      assert.equal(error.code, 'Invalid');
      assert.match(error.message, /metadata\.name: Invalid value: "a\.b": must not contain dots/);
    },
  },
  {
    name: 'treats a network policy without types as an ingress policy',
    run: async ({ client, namespace }) => {
      const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace, name: 'a' } };
      const created = await client.create(networkPolicies, { ...policy, spec: { podSelector: {} } });
      assert.deepEqual(created.spec?.policyTypes, ['Ingress']);
    },
  },
  {
    name: 'keeps a deleted persistent volume claim until no scheduled pod uses it',
    run: async ({ client, namespace }) => {
      const spec = {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 'none',
      };
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace, name: 'a' }, spec };
      const created = await client.create(persistentVolumeClaims, claim);
      assert.deepEqual(created.metadata.finalizers, ['kubernetes.io/pvc-protection']);
      const user = pod(namespace, 'user');
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'a' } }];
      await client.create(pods, { ...user, spec: { ...user.spec, nodeName: 'nowhere', volumes } });
      await client.delete(persistentVolumeClaims, { namespace, name: 'a' });
      const held = await client.get(persistentVolumeClaims, { namespace, name: 'a' });
      assert.notEqual(held.metadata.deletionTimestamp, undefined);
      await client.delete(pods, { namespace, name: 'user' }, { gracePeriodSeconds: 0 });
      await eventually(async () => {
        assert.equal(await exists(client, persistentVolumeClaims, { namespace, name: 'a' }), false);
      });
    },
  },
  {
    name: 'accepts only one lease patch per resourceVersion precondition',
    run: async ({ client, namespace }) => {
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace, name: 'a' },
        spec: { holderIdentity: 'one' },
      };
      const { resourceVersion } = (await client.create(leases, lease)).metadata;
      const take = (holderIdentity: string): Promise<unknown> =>
        client.mergePatch(
          leases,
          { namespace, name: 'a' },
          { metadata: { resourceVersion }, spec: { holderIdentity } },
        );
      await take('two');
      assert.equal((await expectRejection(take('three'))).code, 'Conflict');
      assert.equal((await client.get(leases, { namespace, name: 'a' })).spec?.holderIdentity, 'two');
    },
  },
  {
    name: 'labels a namespace with its name, and deletes it with its content',
    run: async ({ client, namespace }) => {
      const name = `${namespace}-inner`;
      const created = await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      assert.equal(created.metadata.labels?.['kubernetes.io/metadata.name'], name);
      assert.equal(created.status?.phase, 'Active');
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: name, name: 'a', finalizers: ['example.com/hold'] },
      };
      await client.create(secrets, secret);
      await client.delete(namespaces, { name });
      assert.equal((await client.get(namespaces, { name })).status?.phase, 'Terminating');
      const error = await expectRejection(
        client.create(secrets, { ...secret, metadata: { namespace: name, name: 'b' } }),
      );
      assert.equal(error.code, 'Forbidden');
      assert.match(error.message, /unable to create new content in namespace .* because it is being terminated/);
      await eventually(async () => {
        assert.notEqual(
          (await client.get(secrets, { namespace: name, name: 'a' })).metadata.deletionTimestamp,
          undefined,
        );
      });
      await client.mergePatch(secrets, { namespace: name, name: 'a' }, { metadata: { finalizers: null } });
      await eventually(async () => assert.equal(await exists(client, namespaces, { name }), false));
    },
  },
];

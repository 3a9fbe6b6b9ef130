// The volume-controller as its image runs it, with the rights of its role, on a real API server with a real file server. No node runs Pods.
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildTombstone, buildVolumeObject, formatVolumeObjectName, VOLUMES_NAME } from '@sandlot/api-types';
import { configMaps, createKubeClient, loadCredentials, namespaces, persistentVolumeClaims } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startControlPlane, startFileServer } from '@sandlot/local-cluster';
import type { ControlPlane, FileServerProcess } from '@sandlot/local-cluster';
import { startServiceProcess, waitUntil as waitFor } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { listVolumeHopKeys, TokenKeys } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildObject, resources } from './objects/build-objects.ts';
import { parts } from './plan/scene.ts';
import type { Part } from './plan/scene.ts';

const MAIN = new URL('../src/main.ts', import.meta.url);
const USER = 'volume-controller';
const REGISTRY = 'registry';
const TEAM = 'team-a';
const KEY = Buffer.alloc(32, 1).toString('base64');
const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const NAMED = { resourceNames: [VOLUMES_NAME], verbs: ['delete', 'get', 'patch'] };
const core = { apiGroups: [''], resources: ['persistentvolumeclaims', 'services'] };
const apps = { apiGroups: ['apps'], resources: ['deployments'] };
const networking = { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'] };
/** Everything the service may do: a verb that it needs and that is missing here fails the tests. */
const RULES = [
  ...[core, apps, networking].flatMap((kinds) => [
    { ...kinds, verbs: ['create'] },
    { ...kinds, ...NAMED },
  ]),
  { apiGroups: [''], resources: ['configmaps'], verbs: ['delete', 'list', 'watch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'patch', 'watch'] },
];

let plane: ControlPlane;
let client: KubeClient;
let server: FileServerProcess;
let env: Readonly<Record<string, string>>;
let process: ServiceProcess;
beforeAll(async () => {
  const keys = listVolumeHopKeys(new TokenKeys({ key: KEY, number: 1 }));
  [plane, server] = await Promise.all([startControlPlane(), startFileServer({ namespace: TEAM, keys })]);
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  for (const name of [REGISTRY, TEAM]) await client.create(namespaces, { metadata: { name } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: USER };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }];
  const items = [
    { ...rbac, kind: 'ClusterRole', metadata: { name: USER }, rules: RULES },
    { ...rbac, kind: 'ClusterRoleBinding', metadata: { name: USER }, roleRef, subjects },
  ];
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], list);
  if (code !== 0) throw new Error(stderr);
  env = {
    KUBECONFIG: await plane.kubeconfigFor(USER),
    POD_NAMESPACE: REGISTRY,
    VOLUMES_NAMESPACE: REGISTRY,
    VOLUMES_STORAGE_CLASS: 'shared',
    VOLUME_SERVER_IMAGE: 'registry.example.com/volume-server:1',
    VOLUME_SERVER_PEERS: '[{"podSelector":{"matchLabels":{"app":"api"}}}]',
    VOLUME_SERVER_URL: server.url,
    ENVD_TOKEN_KEY: KEY,
  };
  process = await startServiceProcess(MAIN, env);
});
afterAll(async () => {
  await process.kill();
  await client.close();
  await server.stop();
  await plane.stop();
});

const waitUntil = (holds: () => Promise<boolean>): Promise<void> => waitFor(String(holds), holds);
const id = (digit: number): string => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;

async function createVolume(digit: number, namespace = TEAM): Promise<void> {
  const volume = { id: id(digit), name: `data-${digit}`, namespace };
  await client.create(configMaps, buildVolumeObject(volume, REGISTRY));
  await mkdir(join(server.data, volume.id, 'content'), { recursive: true });
}

/** As the API deletes it. */
async function deleteVolume(digit: number): Promise<void> {
  await client.create(configMaps, buildTombstone({ id: id(digit), namespace: TEAM }, REGISTRY));
  await client.delete(configMaps, { namespace: REGISTRY, name: formatVolumeObjectName(TEAM, `data-${digit}`) });
}

const find = (part: Part) => client.find(resources[part], { namespace: TEAM, name: VOLUMES_NAME });

async function listRegistered(namespace = TEAM): Promise<readonly string[]> {
  const { items } = await client.listAll(configMaps, { namespace: REGISTRY });
  return items.filter(({ data }) => data?.['namespace'] === namespace).map(({ metadata }) => metadata.name ?? '');
}

async function untilAllAreThere(): Promise<void> {
  await waitUntil(async () => (await Promise.all(parts.map(find))).every((object) => object !== undefined));
}

/** What the garbage collector and the protection of disks do in a cluster. */
async function letGo(part: Part): Promise<void> {
  await waitUntil(async () => (await find(part))?.metadata.deletionTimestamp !== undefined);
  await client.mergePatch(resources[part], { namespace: TEAM, name: VOLUMES_NAME }, { metadata: { finalizers: null } });
}

describe('the volume-controller', () => {
  it('gives a namespace with a volume a disk that nodes share, and a file server that the API alone reaches', async () => {
    await createVolume(1);
    await untilAllAreThere();
    expect(await find('disk')).toMatchObject({
      spec: {
        accessModes: ['ReadWriteMany'],
        storageClassName: 'shared',
        resources: { requests: { storage: '100Gi' } },
      },
    });
    expect(await find('policy')).toMatchObject({
      spec: {
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: [{ podSelector: { matchLabels: { app: 'api' } } }] }],
      },
    });
    const text = JSON.stringify(await find('server'));
    expect(text).toContain(listVolumeHopKeys(new TokenKeys({ key: KEY, number: 1 })).join(','));
    expect(text).not.toContain(KEY);
  });

  it('mends what others have changed or deleted, after a restart', async () => {
    await process.kill();
    await client.delete(resources.service, { namespace: TEAM, name: VOLUMES_NAME });
    const stale = { metadata: { annotations: { 'checksum/settings': 'old' } }, spec: { replicas: 0 } };
    await client.mergePatch(resources.server, { namespace: TEAM, name: VOLUMES_NAME }, stale);
    process = await startServiceProcess(MAIN, env);
    await untilAllAreThere();
    await waitUntil(async () => JSON.stringify((await find('server'))?.spec).includes('"replicas":1'));
  });

  it('removes the data of a deleted volume, and that of no other', async () => {
    await createVolume(2);
    await deleteVolume(2);
    await waitUntil(async () => (await listRegistered()).length === 1);
    expect(existsSync(join(server.data, id(2)))).toBe(false);
    expect(existsSync(join(server.data, id(1), 'content'))).toBe(true);
  });

  it('completes a deletion that the API had begun, and spares the volume that has its name by now', async () => {
    await createVolume(3);
    await client.create(configMaps, buildTombstone({ id: id(3), namespace: TEAM }, REGISTRY));
    await waitUntil(async () => (await listRegistered()).length === 1);
    expect(existsSync(join(server.data, id(3)))).toBe(false);
    const volume = { id: id(4), name: 'data-3', namespace: TEAM };
    await client.create(configMaps, buildVolumeObject(volume, REGISTRY));
    await client.create(configMaps, buildTombstone({ id: id(3), namespace: TEAM }, REGISTRY));
    await waitUntil(async () => (await listRegistered()).every((name) => !name.startsWith('gone-')));
    expect(await listRegistered()).toHaveLength(2);
    await client.delete(configMaps, { namespace: REGISTRY, name: formatVolumeObjectName(TEAM, 'data-3') });
  });

  it('leaves nothing behind the last volume, whenever it is killed', async () => {
    await deleteVolume(1);
    await letGo('server');
    await process.kill();
    process = await startServiceProcess(MAIN, env);
    await letGo('disk');
    await process.kill();
    process = await startServiceProcess(MAIN, env);
    await waitUntil(async () => (await listRegistered()).length === 0);
    for (const part of parts) expect([part, await find(part)]).toEqual([part, undefined]);
  });

  it('keeps the disk for a volume that comes while the file server ends', async () => {
    await createVolume(5);
    await untilAllAreThere();
    const before = await client.get(persistentVolumeClaims, { namespace: TEAM, name: VOLUMES_NAME });
    await deleteVolume(5);
    await waitUntil(async () => (await find('server'))?.metadata.deletionTimestamp !== undefined);
    await createVolume(6);
    await letGo('server');
    await untilAllAreThere();
    await waitUntil(async () => (await find('server'))?.metadata.deletionTimestamp === undefined);
    const after = await client.get(persistentVolumeClaims, { namespace: TEAM, name: VOLUMES_NAME });
    expect(after.metadata.uid).toBe(before.metadata.uid);
  });

  it('forgets the volumes of a namespace that is gone', async () => {
    await createVolume(7, 'nowhere');
    await waitUntil(async () => (await listRegistered('nowhere')).length === 0);
  });

  it('touches nothing of its names that it has not made', async () => {
    const settings = {
      ...{ VOLUMES_STORAGE_CLASS: 'own', VOLUMES_SIZE: '1Gi', VOLUME_SERVER_IMAGE: 'x' },
      ...{ VOLUME_SERVER_PULL_POLICY: 'Always', VOLUME_SERVER_RESOURCES: {}, VOLUME_SERVER_PEERS: [], hopKeys: [] },
    };
    await client.create(namespaces, { metadata: { name: 'team-b' } });
    const { spec } = buildObject('disk', 'team-b', settings);
    await client.create(resources.disk, { metadata: { namespace: 'team-b', name: VOLUMES_NAME }, spec });
    await createVolume(8, 'team-b');
    await createVolume(9);
    await untilAllAreThere();
    const key = { namespace: 'team-b', name: VOLUMES_NAME };
    expect(await client.find(resources.server, key)).toBeUndefined();
    expect((await client.get(resources.disk, key)).metadata.labels).toBeUndefined();
  });
});

import { fileURLToPath } from 'node:url';
import { findCondition, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { createKubeClient, findShard, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { readCompleteLines, startControlPlane, startNats, startRedis } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import {
  findGaps,
  findOverlaps,
  findStrayWrites,
  parseWrites,
  ShardedReplicas,
  waitForHolders,
  waitUntilReconnected,
  watchTerms,
} from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { container } from '../test/real-cluster.ts';

const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const SHARDS = 2;
const NAMESPACES = Array.from({ length: 6 }, (_, at) => `tenant-${at}`);
const PATIENCE = { timeout: 120_000, interval: 100 };

/** Kinds whose objects have the name of their Sandbox. */
const NAMED_ALIKE = new Set(['sandboxes', 'pods']);

const stack = new AsyncDisposableStack();
let plane: ControlPlane;
let client: KubeClient;
let replicas: ShardedReplicas;

beforeAll(async () => {
  const simulated = { audit: true, kwokNodes: 2, scheduler: true, controllerManager: true };
  plane = stack.use(await startControlPlane({ crds: [CRDS], ...simulated }));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  stack.defer(() => client.close());
  const nats = stack.use(await startNats({ jetstream: true }));
  const redis = stack.use(await startRedis());
  replicas = stack.use(
    new ShardedReplicas({
      client,
      name: 'sandbox-controller',
      main: new URL('main.ts', import.meta.url),
      shards: SHARDS,
      env: { NATS_URL: nats.url, REDIS_URL: redis.url },
      kubeconfigFor: (user) => plane.kubeconfigFor(user, ['system:masters']),
    }),
  );
  await Promise.all(NAMESPACES.map((name) => client.create(namespaces, { metadata: { name } })));
});
afterAll(() => stack.disposeAsync());

const isReady = ({ status }: Sandbox): boolean => findCondition(status?.conditions, 'Ready')?.status === 'True';
const listSandboxes = async (): Promise<readonly Sandbox[]> => (await client.listAll(sandboxes)).items;

/** Creates so many Sandboxes in each namespace. */
async function createWave(wave: string, count: number): Promise<void> {
  const spec = { podTemplate: { spec: { containers: [container] } } };
  const names = Array.from({ length: count }, (_, at) => `${wave}-${at}`);
  const keys = NAMESPACES.flatMap((namespace) => names.map((name) => ({ namespace, name })));
  await Promise.all(keys.map((metadata) => client.create(sandboxes, { metadata, spec })));
}

const allReady = (): Promise<void> =>
  vi.waitFor(async () => expect((await listSandboxes()).filter((one) => !isReady(one))).toEqual([]), PATIENCE);
const someReady = (wave: string): Promise<void> =>
  vi.waitFor(async () => {
    const ready = (await listSandboxes()).filter(isReady).map(({ metadata: { name = '' } }) => name);
    expect(ready.some((name) => name.startsWith(wave))).toBe(true);
  }, PATIENCE);

/** No replica wrote to a Sandbox or Pod of a shard that it did not hold, and no two wrote to one at the same time. */
async function expectNoStrays(): Promise<void> {
  const lines = await readCompleteLines(plane.auditLogPath ?? '');
  const writes = parseWrites(lines, replicas.users).filter(({ resource }) => NAMED_ALIKE.has(resource));
  expect(findGaps(replicas.terms)).toEqual([]);
  const shardOf = ({ namespace, name }: { namespace: string; name: string }): number =>
    findShard(`${namespace}/${name}`, SHARDS);
  expect(findStrayWrites(writes, replicas.terms, shardOf)).toEqual([]);
  expect(findOverlaps(writes)).toEqual([]);
  expect(new Set(writes.map(({ user }) => user)).size).toBeGreaterThanOrEqual(SHARDS);
}

it('three replicas share the Sandboxes, and the shard of a killed one moves', async () => {
  await replicas.start(3);
  await waitForHolders(replicas, SHARDS);
  await createWave('shared', 3);
  await allReady();
  const [killed = ''] = replicas.listHolders();
  const untilMoved = watchTerms(replicas, replicas.listShardsOf(killed));
  const created = createWave('killed', 6);
  await someReady('killed');
  await replicas.kill(killed);
  await created;
  await untilMoved();
  await createWave('after', 1);
  await allReady();
  await expectNoStrays();
}, 240_000);

it('a replica that was stopped for longer than its lease writes nothing more for the shard that it lost', async () => {
  await waitForHolders(replicas, SHARDS);
  // The third replica takes the shard, so that the stopped one gets none again.
  await replicas.start(1);
  const [frozen = ''] = replicas.listHolders();
  const untilMoved = watchTerms(replicas, replicas.listShardsOf(frozen));
  const created = createWave('frozen', 12);
  await someReady('frozen');
  await replicas.freeze(frozen);
  await created;
  await untilMoved();
  await createWave('meanwhile', 1);
  await allReady();
  replicas.thaw(frozen);
  await createWave('thawed', 1);
  await allReady();
  await waitUntilReconnected(frozen, () => readCompleteLines(plane.auditLogPath ?? ''));
  await expectNoStrays();
}, 240_000);

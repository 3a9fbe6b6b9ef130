import { sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
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
  waitUntil,
  watchTerms,
} from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CRDS } from '../test/control-plane.ts';

const SHARDS = 2;
const NAMESPACES = Array.from({ length: 8 }, (_, at) => `tenant-${at}`);
const POOL = 'pool';
/** Kinds of objects that belong to a pool, by its name or by that of a member. */
const OF_POOLS = new Set(['sandboxwarmpools', 'sandboxes']);

const stack = new AsyncDisposableStack();
let plane: ControlPlane;
let client: KubeClient;
let replicas: ShardedReplicas;

beforeAll(async () => {
  plane = stack.use(await startControlPlane({ crds: [CRDS], audit: true }));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  stack.defer(() => client.close());
  const nats = stack.use(await startNats({ jetstream: true }));
  const redis = stack.use(await startRedis());
  replicas = stack.use(
    new ShardedReplicas({
      client,
      name: 'warmpool-controller',
      main: new URL('main.ts', import.meta.url),
      shards: SHARDS,
      // No kubelet makes a member Ready here.
      env: { NATS_URL: nats.url, REDIS_URL: redis.url, MAX_IN_FLIGHT: '100' },
      kubeconfigFor: (user) => plane.kubeconfigFor(user, ['system:masters']),
    }),
  );
  await Promise.all(NAMESPACES.map((namespace) => addPool(namespace)));
});
afterAll(() => stack.disposeAsync());

async function addPool(namespace: string): Promise<void> {
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await client.create(namespaces, { metadata: { name: namespace } });
  await client.create(sandboxTemplates, { metadata: { namespace, name: 'template' }, spec: { podTemplate } });
  const spec = { replicas: 0, sandboxTemplateRef: { name: 'template' } };
  await client.create(sandboxWarmPools, { metadata: { namespace, name: POOL }, spec });
}

async function scaleAll(count: number): Promise<void> {
  const keys = NAMESPACES.map((namespace) => ({ namespace, name: POOL }));
  await Promise.all(keys.map((key) => client.mergePatch(sandboxWarmPools, key, { spec: { replicas: count } })));
}

/** Members of each pool, in the order of the namespaces. */
async function countMembers(): Promise<readonly number[]> {
  const { items } = await client.listAll(sandboxes);
  return NAMESPACES.map((name) => items.filter(({ metadata: { namespace } }) => namespace === name).length);
}

const untilAllHave = (count: number): Promise<void> =>
  waitUntil(`each pool has ${count} members`, async () => (await countMembers()).every((members) => members === count));
const untilSomeHave = (count: number): Promise<void> =>
  waitUntil(`a pool has ${count} members`, async () => (await countMembers()).some((members) => members >= count));

/** No replica wrote to a pool of a shard that it did not hold or to a member, and no two wrote to one object at the same time. */
async function expectNoStrays(): Promise<void> {
  const lines = await readCompleteLines(plane.auditLogPath ?? '');
  const writes = parseWrites(lines, replicas.users).filter(({ resource }) => OF_POOLS.has(resource));
  expect(findGaps(replicas.terms)).toEqual([]);
  expect(findStrayWrites(writes, replicas.terms, ({ namespace }) => findShard(`${namespace}/${POOL}`, SHARDS))).toEqual(
    [],
  );
  expect(findOverlaps(writes)).toEqual([]);
  expect(new Set(writes.map(({ user }) => user)).size).toBeGreaterThanOrEqual(SHARDS);
}

it('three replicas share the pools, and another one fills the pools of a killed one', async () => {
  expect(new Set(NAMESPACES.map((namespace) => findShard(`${namespace}/${POOL}`, SHARDS))).size).toBe(SHARDS);
  await replicas.start(3);
  await waitForHolders(replicas, SHARDS);
  await scaleAll(5);
  await untilAllHave(5);
  const [killed = ''] = replicas.listHolders();
  const untilMoved = watchTerms(replicas, replicas.listShardsOf(killed));
  await scaleAll(25);
  await untilSomeHave(10);
  await replicas.kill(killed);
  await untilMoved();
  await untilAllHave(25);
  await scaleAll(20);
  await untilAllHave(20);
  await expectNoStrays();
}, 240_000);

it('a replica that was stopped for longer than its lease writes nothing more for the pools that it lost', async () => {
  await waitForHolders(replicas, SHARDS);
  // The third replica takes the shard, so that the stopped one gets none again.
  await replicas.start(1);
  const [frozen = ''] = replicas.listHolders();
  const untilMoved = watchTerms(replicas, replicas.listShardsOf(frozen));
  await scaleAll(40);
  await untilSomeHave(25);
  await replicas.freeze(frozen);
  await untilMoved();
  await untilAllHave(40);
  replicas.thaw(frozen);
  await scaleAll(45);
  await untilAllHave(45);
  await expectNoStrays();
}, 240_000);

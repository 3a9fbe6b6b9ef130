// Replicas as their image runs them, with the rights of the role, on a real API server, against an agent over mutual TLS.
import { sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { findShard } from '@sandlot/kube';
import { startRedis } from '@sandlot/local-cluster';
import {
  findGaps,
  findOverlaps,
  findStrayWrites,
  parseWrites,
  ShardedReplicas,
  waitForHolders,
  waitUntil,
  waitUntilReconnected,
  watchTerms,
} from '@sandlot/service-testkit';
import type { AuditedWrite } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RealStage } from '../test/real-stage.ts';

const SHARDS = 2;
const NAMESPACES = Array.from({ length: 8 }, (_, at) => `tenant-${at}`);
/** A class whose quota allows so many snapshots in a namespace. */
const [SCARCE, QUOTA] = ['scarce', 2];

const stack = new AsyncDisposableStack();
let stage: RealStage;
let replicas: ShardedReplicas;

beforeAll(async () => {
  stage = stack.use(await RealStage.start({ audit: true, places: NAMESPACES }));
  const redis = stack.use(await startRedis());
  replicas = stack.use(
    new ShardedReplicas({
      client: stage.client,
      name: 'snapshot-controller',
      main: new URL('main.ts', import.meta.url),
      shards: SHARDS,
      env: { ...stage.env, REDIS_URL: redis.url },
      kubeconfigFor: (user) => stage.kubeconfigFor(user),
    }),
  );
});
afterAll(() => stack.disposeAsync());

async function listSnapshots(wave: string): Promise<readonly SandboxSnapshot[]> {
  const { items } = await stage.client.listAll(sandboxSnapshots);
  return items.filter(({ metadata: { name = '' } }) => name.startsWith(`${wave}-`));
}

/** Hibernates so many Sandboxes in each namespace. */
async function hibernate(wave: string, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `${wave}-${at}`);
  await Promise.all(NAMESPACES.flatMap((namespace) => names.map((name) => stage.hibernate(name, namespace))));
}

/** Their data is in the bucket as well, after which nothing more is written. */
const untilSaved = (wave: string, count: number): Promise<void> =>
  waitUntil(`all of ${wave} are saved`, async () => {
    const saved = (await listSnapshots(wave)).filter(({ status }) => status?.remote?.state === 'Uploaded');
    return saved.length === count * NAMESPACES.length;
  });
const untilSome = (wave: string, phase: string): Promise<void> =>
  waitUntil(`one of ${wave} is ${phase}`, async () =>
    (await listSnapshots(wave)).some(({ status }) => status?.phase === phase),
  );

/** Deletes the snapshots of a wave, which their finalizer keeps until the agent has erased their data. */
async function forget(wave: string): Promise<void> {
  const all = await listSnapshots(wave);
  await Promise.all(
    all.map(({ metadata: { namespace, name = '' } }) => stage.client.delete(sandboxSnapshots, { namespace, name })),
  );
  await waitUntil(`all of ${wave} are gone`, async () => (await listSnapshots(wave)).length === 0);
}

const shardOf = ({ resource, namespace, name }: AuditedWrite): number =>
  findShard(resource === 'nodes' ? name : namespace, SHARDS);

/** No replica wrote to an object of a shard that it did not hold, and no two wrote to one object at the same time. */
async function expectNoStrays(): Promise<void> {
  const writes = parseWrites(await stage.readAuditLog(), replicas.users);
  expect(findGaps(replicas.terms)).toEqual([]);
  expect(findStrayWrites(writes, replicas.terms, shardOf)).toEqual([]);
  expect(findOverlaps(writes)).toEqual([]);
  const ofSnapshots = writes.filter(({ resource }) => resource === 'sandboxsnapshots');
  expect(new Set(ofSnapshots.map(({ user }) => user)).size).toBeGreaterThanOrEqual(SHARDS);
}

it('three replicas share the snapshots, and another one joins the saves of a killed one', async () => {
  expect(new Set(NAMESPACES.map((namespace) => findShard(namespace, SHARDS))).size).toBe(SHARDS);
  await replicas.start(3);
  await waitForHolders(replicas, SHARDS);
  await hibernate('shared', 2);
  await untilSaved('shared', 2);
  await forget('shared');
  stage.agent.holdsSaves = true;
  const [killed = ''] = replicas.listHolders();
  const untilMoved = watchTerms(replicas, replicas.listShardsOf(killed));
  const created = hibernate('killed', 5);
  await untilSome('killed', 'Saving');
  await replicas.kill(killed);
  await created;
  await untilMoved();
  await waitUntil('all saves have begun', () => stage.agent.begun.length === 7 * NAMESPACES.length);
  stage.agent.finishSaves();
  await untilSaved('killed', 5);
  await hibernate('after', 1);
  await untilSaved('after', 1);
  expect(stage.agent.begun).toHaveLength(8 * NAMESPACES.length);
  await expectNoStrays();
}, 240_000);

it('a replica that was stopped for longer than its lease writes nothing more for the snapshots that it lost', async () => {
  await waitForHolders(replicas, SHARDS);
  // The third replica takes the shard, so that the stopped one gets none again.
  await replicas.start(1);
  const [frozen = ''] = replicas.listHolders();
  const untilMoved = watchTerms(replicas, replicas.listShardsOf(frozen));
  const created = hibernate('frozen', 8);
  await untilSome('frozen', 'Ready');
  await replicas.freeze(frozen);
  await created;
  await untilMoved();
  await untilSaved('frozen', 8);
  replicas.thaw(frozen);
  await hibernate('thawed', 1);
  await untilSaved('thawed', 1);
  await waitUntilReconnected(frozen, () => stage.readAuditLog());
  await expectNoStrays();
}, 240_000);

it('replicas keep the quota of each namespace, whose snapshots are asked for at once', async () => {
  await waitForHolders(replicas, SHARDS);
  const metadata = { name: SCARCE };
  await stage.client.create(sandboxSnapshotClasses, {
    metadata,
    spec: { quota: { snapshotsPerNamespace: QUOTA } },
  });
  await Promise.all(NAMESPACES.map((namespace) => stage.addSandbox({ namespace, name: 'busy' })));
  const names = Array.from({ length: 6 }, (_, at) => `wanted-${at}`);
  const keys = NAMESPACES.flatMap((namespace) => names.map((name) => ({ namespace, name })));
  const spec = { sandboxName: 'busy', whenSaved: 'Resume', snapshotClassName: SCARCE } as const;
  await Promise.all(keys.map((key) => stage.client.create(sandboxSnapshots, { metadata: key, spec })));
  const inPhase = async (phase: string): Promise<readonly SandboxSnapshot[]> =>
    (await listSnapshots('wanted')).filter(({ status }) => status?.phase === phase);
  await waitUntil('each has an answer', async () => {
    const [ready, failed] = await Promise.all([inPhase('Ready'), inPhase('Failed')]);
    return ready.length + failed.length === keys.length;
  });
  const ready = await inPhase('Ready');
  const counts = NAMESPACES.map((namespace) => ready.filter(({ metadata }) => metadata.namespace === namespace).length);
  expect(counts).toEqual(NAMESPACES.map(() => QUOTA));
  await expectNoStrays();
}, 240_000);

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { findCondition, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { findShard } from '@sandlot/kube';
import { startNats, startRedis } from '@sandlot/local-cluster';
import { findGaps, findOverlaps, findStrayWrites, parseWrites, ShardedReplicas } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Platform } from '../test/platform.ts';

const SHARDS = 3;
const NAMESPACES = Array.from({ length: 12 }, (_, at) => `tenant-${at}`);
const shardOf = (namespace: string): number => findShard(namespace, SHARDS);

const stack = new AsyncDisposableStack();
let platform: Platform;
let natsUrl: string;
let replicas: ShardedReplicas;

beforeAll(async () => {
  platform = stack.use(await Platform.start());
  natsUrl = stack.use(await startNats({ jetstream: true })).url;
  const redis = stack.use(await startRedis());
  const env = { NATS_URL: natsUrl, REDIS_URL: redis.url };
  await platform.startController('warmpool-controller', env);
  await platform.startController('sandbox-controller', env);
  replicas = stack.use(
    new ShardedReplicas({
      client: platform.client,
      name: 'claim-controller',
      main: new URL('main.ts', import.meta.url),
      shards: SHARDS,
      env,
      kubeconfigFor: (user) => platform.kubeconfigFor(user),
    }),
  );
  await Promise.all(NAMESPACES.map((namespace) => platform.fillPool(namespace, 1)));
});
afterAll(() => stack.disposeAsync());

const isReady = ({ status }: SandboxClaim): boolean => findCondition(status?.conditions, 'Ready')?.status === 'True';

async function listClaims(): Promise<readonly SandboxClaim[]> {
  return (await platform.client.listAll(sandboxClaims)).items;
}

/** Creates a claim of each name in each namespace. */
async function claim(names: readonly string[], namespaces = NAMESPACES): Promise<void> {
  await Promise.all(namespaces.map((namespace) => platform.claim(namespace, names)));
}

const allBound = (): Promise<void> => platform.until(async () => (await listClaims()).every(isReady));

/** Some claims in the namespaces are bound, and some are not. */
async function untilInTheMiddle(wave: string, namespaces: readonly string[]): Promise<void> {
  await platform.until(async () => {
    const ofWave = (await listClaims()).filter(
      ({ metadata: { namespace = '', name = '' } }) => namespaces.includes(namespace) && name.startsWith(wave),
    );
    return ofWave.some(isReady);
  });
}

const nameWave = (wave: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${wave}-${at}`);

/** No replica wrote to an object of a shard that it did not hold, and no two wrote to one object at the same time. */
async function expectNoStrays(): Promise<void> {
  const writes = parseWrites(await platform.readAuditLog(), replicas.users);
  expect(findGaps(replicas.terms)).toEqual([]);
  expect(findStrayWrites(writes, replicas.terms, ({ namespace }) => shardOf(namespace))).toEqual([]);
  expect(findOverlaps(writes)).toEqual([]);
  const ofHolders = new Set(writes.map(({ user }) => user));
  expect([...ofHolders].sort()).toEqual([...new Set(replicas.terms.map(({ holder }) => holder))].sort());
}

/** Ids of the events of claims on the stream, as `uid/type`, in order. */
async function listEvents(): Promise<readonly string[]> {
  const connection = await connect({ servers: natsUrl });
  try {
    const { state } = await (await jetstreamManager(connection)).streams.info('SANDLOT_EVENTS');
    const consumer = await jetstream(connection).consumers.get('SANDLOT_EVENTS', {
      filter_subjects: ['sandlot.*.claim.submitted', 'sandlot.*.claim.bound'],
    });
    const ids: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: state.messages, expires: 1_000 }))
      ids.push(message.headers?.get('Nats-Msg-Id') ?? '');
    return ids;
  } finally {
    await connection.close();
  }
}

/** Every claim has each of its two events on the stream once. */
async function expectEvents(): Promise<void> {
  const claims = await listClaims();
  const expected = claims.flatMap(({ metadata: { uid = '' } }) => [`${uid}/claim.bound`, `${uid}/claim.submitted`]);
  let ids: readonly string[] = [];
  const haveAll = async (): Promise<boolean> => (ids = await listEvents()).length >= expected.length;
  // The comparison names the events that are missing.
  await platform.until(haveAll).catch(() => undefined);
  const types = ids.map((id) => id.split('/').slice(0, 2).join('/'));
  expect([...types].sort()).toEqual([...expected].sort());
  expect(new Set(ids).size).toBe(ids.length);
}

it('three replicas share the claims of many namespaces', async () => {
  await replicas.start(3);
  await platform.until(async () => replicas.listHolders().length === 3);
  await claim(nameWave('shared', 3));
  await allBound();
  await expectNoStrays();
  expect(new Set(NAMESPACES.map(shardOf)).size).toBe(SHARDS);
});

it('the shards of a killed replica move, all claims bind, and no event is lost with the first shard', async () => {
  const killed = replicas.findTerm(0)?.holder ?? '';
  const lost = replicas.listShardsOf(killed);
  const before = lost.map((shard) => replicas.findTerm(shard)?.token ?? 0);
  const theirs = NAMESPACES.filter((namespace) => lost.includes(shardOf(namespace)));
  const claimed = claim(nameWave('killed', 8));
  await untilInTheMiddle('killed', theirs);
  await replicas.kill(killed);
  await claimed;
  await claim(nameWave('after', 2), theirs);
  await allBound();
  const now = lost.map((shard) => replicas.findTerm(shard));
  for (const [at, term] of now.entries()) expect(term?.token).toBeGreaterThan(before[at] ?? 0);
  expect(now.map((term) => term?.holder)).not.toContain(killed);
  await expectNoStrays();
  await expectEvents();
}, 240_000);

it('a replica that was stopped for longer than its lease writes nothing more for the shards that it lost', async () => {
  await replicas.start(1);
  await platform.until(async () => replicas.listHolders().length === 3);
  const frozen = replicas.findTerm(0)?.holder ?? '';
  const lost = replicas.listShardsOf(frozen);
  const before = lost.map((shard) => replicas.findTerm(shard)?.token ?? 0);
  const theirs = NAMESPACES.filter((namespace) => lost.includes(shardOf(namespace)));
  const claimed = claim(nameWave('frozen', 25), theirs);
  await untilInTheMiddle('frozen', theirs);
  await replicas.freeze(frozen);
  await claimed;
  await platform.until(async () =>
    lost.every((shard, at) => (replicas.findTerm(shard)?.token ?? 0) > (before[at] ?? 0)),
  );
  await claim(nameWave('meanwhile', 2), theirs);
  await allBound();
  const tokens = new Map(lost.map((shard) => [shard, replicas.findTerm(shard)?.token ?? 0]));
  replicas.thaw(frozen);
  await claim(nameWave('thawed', 2));
  await allBound();
  // It asks for a shard again, and gets one.
  await platform.until(async () => replicas.listHolders().includes(frozen));
  for (const shard of replicas.listShardsOf(frozen))
    expect(replicas.findTerm(shard)?.token).toBeGreaterThan(tokens.get(shard) ?? 0);
  await expectNoStrays();
  await expectEvents();
}, 240_000);

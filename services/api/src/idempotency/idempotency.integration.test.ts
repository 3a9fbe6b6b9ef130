import { annotations, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { configMaps, isNotFound } from '@sandlot/kube';
import type { ConfigMap } from '@sandlot/kube';
import { silentLogger, systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CreateLedger, RECORDS_LABEL } from './ledger.ts';
import { encodeRecord, RECORD_KEPT_MS, shardOf } from './record.ts';
import { KEYS_NAMESPACE, Stack } from '../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const namespace = KEYS_NAMESPACE;

let stack: Stack;
let api: ApiUnderTest;
let other: ApiUnderTest;
let key: string;
beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0, sandboxes: 0 } });
  [api, other] = await Promise.all([stack.api(), stack.api()]);
});
afterAll(async () => {
  await Promise.all([api[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  await stack[Symbol.asyncDispose]();
});

let orders = 0;
function order(): string {
  orders += 1;
  return `order-${orders}`;
}

const BODY = { templateID: 'base', metadata: { a: '1' }, network: { allowPublicTraffic: false } };
function create(by: ApiUnderTest, name: string, body: object = BODY): Promise<Reply> {
  return by.call('POST /v2/sandboxes', { key, body, headers: { 'Idempotency-Key': name } });
}

function idOf({ body }: Reply): string {
  return (body as { sandboxID: string }).sandboxID;
}

async function shard(id: string): Promise<ConfigMap | undefined> {
  try {
    return await stack.client.get(configMaps, { namespace, name: shardOf(id) });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function gone(id: string): Promise<void> {
  const look = stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
  await expect(look).rejects.toMatchObject({ code: 'NotFound' });
}

type Ending = (id: string) => Promise<void>;
const ENDINGS: readonly (readonly [who: string, end: Ending])[] = [
  [
    'the API, told to this replica',
    async (id) => expect(await api.call(`DELETE /sandboxes/${id}`, { key })).toMatchObject({ status: 204 }),
  ],
  [
    'the API, told to another replica',
    async (id) => expect(await other.call(`DELETE /sandboxes/${id}`, { key })).toMatchObject({ status: 204 }),
  ],
  [
    'the API, as a claim',
    async (id) => expect(await other.call(`DELETE /api/v1/claims/${id}`, { key })).toMatchObject({ status: 204 }),
  ],
  [
    'kubectl, once its record is there',
    async (id) => {
      await vi.waitFor(async () => expect((await shard(id))?.data).toHaveProperty(id), PATIENCE);
      await stack.client.delete(sandboxClaims, { namespace: 'team-a', name: id });
    },
  ],
];

describe('a sandbox made with an Idempotency-Key', () => {
  it.each(ENDINGS)('and killed by %s is answered again, and not made again', async (_who, end) => {
    const name = order();
    const first = await create(api, name);
    expect(first.status).toBe(201);
    await end(idOf(first));
    await vi.waitFor(() => gone(idOf(first)), PATIENCE);
    for (const replica of [api, other]) {
      const again = await create(replica, name);
      expect([again.status, again.body]).toEqual([201, first.body]);
      const changed = await create(replica, name, { ...BODY, timeout: 77 });
      expect(changed).toMatchObject({ status: 422, body: { error_code: 'idempotency_request_mismatch' } });
    }
    await gone(idOf(first));
  });

  it('is recorded by any replica that finds no record, as after the death of the one that made it', async () => {
    const first = await create(api, order());
    const id = idOf(first);
    await vi.waitFor(async () => expect((await shard(id))?.data).toHaveProperty(id), PATIENCE);
    await stack.client.delete(configMaps, { namespace, name: shardOf(id) });
    const claims = await stack.client.listAll(sandboxClaims, { namespace: 'team-a' });
    await ledger(claims.items).repair();
    expect((await shard(id))?.data).toHaveProperty(id);
  });

  it('leaves no record when it was never given to anybody, so that the next try is a first one', async () => {
    const name = order();
    const body = { templateID: 'broken' };
    expect((await create(api, name, body)).status).toBe(500);
    expect((await create(api, name, body)).status).toBe(500);
    const { items } = await stack.client.listAll(configMaps, { namespace, labelSelector: `${RECORDS_LABEL}=true` });
    expect(JSON.stringify(items)).not.toContain('broken');
  });

  it('holds no secret in its record', async () => {
    const first = await create(api, order(), { ...BODY, envVars: { TOKEN: 'hunter2' } });
    const id = idOf(first);
    await vi.waitFor(async () => expect((await shard(id))?.data).toHaveProperty(id), PATIENCE);
    const text = JSON.stringify(await shard(id));
    const { envdAccessToken, trafficAccessToken } = first.body as Record<string, string>;
    for (const secret of ['hunter2', envdAccessToken, trafficAccessToken, key]) expect(text).not.toContain(secret);
    const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
    expect(text).toContain(claim.metadata.annotations?.[annotations.requestDigest]);
  });
});

function ledger(claims: readonly SandboxClaim[] = []): CreateLedger {
  return new CreateLedger({
    client: stack.client,
    clock: systemClock,
    log: silentLogger,
    namespace,
    envdVersion: '0.6.4',
    claims: () => claims,
  });
}

describe('records of more than a day ago', () => {
  it('count no more, and are taken away, and objects that are empty then with them', async () => {
    const old = { digest: 'd', templateID: 'base', envdVersion: '0', closed: false, createdMs: 0 };
    const young = { ...old, createdMs: systemClock.now() - RECORD_KEPT_MS + 600_000 };
    const labels = { [RECORDS_LABEL]: 'true' };
    const objects = {
      '00': { '001': encodeRecord(old), '002': 'none' },
      '01': { '011': encodeRecord(old), '012': encodeRecord(young) },
    };
    for (const [name, data] of Object.entries(objects)) {
      await stack.client.create(configMaps, { metadata: { namespace, name: `sandbox-creates-${name}`, labels }, data });
    }
    const books = ledger();
    expect(await books.find('001')).toBeUndefined();
    expect(await books.find('012')).toEqual(young);
    await Promise.all([books.prune(), ledger().prune()]);
    expect(await shard('001')).toBeUndefined();
    expect(Object.keys((await shard('012'))?.data ?? {})).toEqual(['012']);
  });
});

import { annotations, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { configMaps } from '@sandlot/kube';
import type { ConfigMap } from '@sandlot/kube';
import { silentLogger, systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CreateLedger, RECORDS_LABEL } from './ledger.ts';
import { encodeRecord, RECORD_KEPT_MS, formatShard } from './record.ts';
import { apiEnvironment, Stack } from '../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const namespace = apiEnvironment.POD_NAMESPACE;

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

let keys = 0;
function newIdempotencyKey(): string {
  keys += 1;
  return `order-${keys}`;
}

const BODY = { templateID: 'base', metadata: { a: '1' }, network: { allowPublicTraffic: false } };
function create(replica: ApiUnderTest, idempotencyKey: string, body: object = BODY): Promise<Reply> {
  return replica.call('POST /v2/sandboxes', { key, body, headers: { 'Idempotency-Key': idempotencyKey } });
}

function getId({ body }: Reply): string {
  return (body as { sandboxID: string }).sandboxID;
}

function readShard(id: string): Promise<ConfigMap | undefined> {
  return stack.client.find(configMaps, { namespace, name: formatShard(id) });
}

async function expectGone(id: string): Promise<void> {
  const look = stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
  await expect(look).rejects.toMatchObject({ code: 'NotFound' });
}

type Kill = (id: string) => Promise<void>;
const KILLS: readonly (readonly [by: string, kill: Kill])[] = [
  [
    'the same replica',
    async (id) => expect(await api.call(`DELETE /sandboxes/${id}`, { key })).toMatchObject({ status: 204 }),
  ],
  [
    'another replica',
    async (id) => expect(await other.call(`DELETE /sandboxes/${id}`, { key })).toMatchObject({ status: 204 }),
  ],
  [
    'a delete of the claim over /api/v1',
    async (id) => expect(await other.call(`DELETE /api/v1/claims/${id}`, { key })).toMatchObject({ status: 204 }),
  ],
  [
    'kubectl, after its record is stored',
    async (id) => {
      await vi.waitFor(async () => expect((await readShard(id))?.data).toHaveProperty(id), PATIENCE);
      await stack.client.delete(sandboxClaims, { namespace: 'team-a', name: id });
    },
  ],
];

describe('a sandbox created with an Idempotency-Key', () => {
  it.each(KILLS)('and killed by %s gets the same answer again and is not created again', async (_by, kill) => {
    const name = newIdempotencyKey();
    const first = await create(api, name);
    expect(first.status).toBe(201);
    await kill(getId(first));
    await vi.waitFor(() => expectGone(getId(first)), PATIENCE);
    for (const replica of [api, other]) {
      const again = await create(replica, name);
      expect([again.status, again.body]).toEqual([201, first.body]);
      const changed = await create(replica, name, { ...BODY, timeout: 77 });
      expect(changed).toMatchObject({ status: 422, body: { error_code: 'idempotency_request_mismatch' } });
    }
    await expectGone(getId(first));
  });

  it('is recorded by any replica if the one that created it died before', async () => {
    const first = await create(api, newIdempotencyKey());
    const id = getId(first);
    await vi.waitFor(async () => expect((await readShard(id))?.data).toHaveProperty(id), PATIENCE);
    await stack.client.delete(configMaps, { namespace, name: formatShard(id) });
    const claims = await stack.client.listAll(sandboxClaims, { namespace: 'team-a' });
    await createLedger(claims.items).repair();
    expect((await readShard(id))?.data).toHaveProperty(id);
  });

  it('leaves no record if its create failed, so that the next attempt is a new create', async () => {
    const name = newIdempotencyKey();
    const body = { templateID: 'broken' };
    expect((await create(api, name, body)).status).toBe(500);
    expect((await create(api, name, body)).status).toBe(500);
    const { items } = await stack.client.listAll(configMaps, { namespace, labelSelector: `${RECORDS_LABEL}=true` });
    expect(JSON.stringify(items)).not.toContain('broken');
  });

  it('has no secret in its record', async () => {
    const first = await create(api, newIdempotencyKey(), { ...BODY, envVars: { TOKEN: 'hunter2' } });
    const id = getId(first);
    await vi.waitFor(async () => expect((await readShard(id))?.data).toHaveProperty(id), PATIENCE);
    const text = JSON.stringify(await readShard(id));
    const { envdAccessToken, trafficAccessToken } = first.body as Record<string, string>;
    for (const secret of ['hunter2', envdAccessToken, trafficAccessToken, key]) expect(text).not.toContain(secret);
    const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
    expect(text).toContain(claim.metadata.annotations?.[annotations.requestDigest]);
  });
});

function createLedger(claims: readonly SandboxClaim[] = []): CreateLedger {
  return new CreateLedger({
    client: stack.client,
    clock: systemClock,
    log: silentLogger,
    namespace,
    envdVersion: '0.6.4',
    listClaims: () => claims,
  });
}

describe('records older than a day', () => {
  it('are ignored, and pruned together with ConfigMaps that become empty', async () => {
    const old = { digest: 'd', templateID: 'base', envdVersion: '0', closed: false, tokenKey: 1, createdMs: 0 };
    const young = { ...old, createdMs: systemClock.now() - RECORD_KEPT_MS + 600_000 };
    const labels = { [RECORDS_LABEL]: 'true' };
    const objects = {
      '00': { '001': encodeRecord(old), '002': 'none' },
      '01': { '011': encodeRecord(old), '012': encodeRecord(young) },
    };
    for (const [name, data] of Object.entries(objects)) {
      await stack.client.create(configMaps, { metadata: { namespace, name: `sandbox-creates-${name}`, labels }, data });
    }
    const records = createLedger();
    expect(await records.find('001')).toBeUndefined();
    expect(await records.find('012')).toEqual(young);
    await Promise.all([records.prune(), createLedger().prune()]);
    expect(await readShard('001')).toBeUndefined();
    expect(Object.keys((await readShard('012'))?.data ?? {})).toEqual(['012']);
  });
});

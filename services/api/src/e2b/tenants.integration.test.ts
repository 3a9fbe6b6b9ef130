import { createSandlotClient } from '@sandlot/client';
import { sandboxClaims } from '@sandlot/api-types';
import { persistentVolumeClaims, secrets } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ENVS_NAMESPACE, Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };

let stack: Stack;
let api: ApiUnderTest;
let ours: string;
let theirs: string;
let admin: string;
beforeAll(async () => {
  stack = await Stack.start();
  // The refused creates of this file, one after the other, come faster than the default rate.
  ours = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0 } });
  theirs = await stack.key({ namespace: 'team-b' });
  admin = await stack.key({ namespace: 'team-a', role: 'admin' });
  api = await stack.api();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function create(key: string, body: object = {}): Promise<string> {
  const reply = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base', ...body } });
  expect(reply).toMatchObject({ status: 201 });
  return (reply.body as { sandboxID: string }).sandboxID;
}

describe('a sandbox of another team', () => {
  it.each([
    ['GET /sandboxes/{id}', undefined],
    ['DELETE /sandboxes/{id}', undefined],
    ['POST /sandboxes/{id}/timeout', { timeout: 5 }],
    ['POST /sandboxes/{id}/refreshes', { duration: 5 }],
    ['POST /sandboxes/{id}/pause', {}],
    ['POST /sandboxes/{id}/connect', { timeout: 5 }],
    ['POST /v2/sandboxes/{id}/connect', { timeout: 5 }],
    ['POST /sandboxes/{id}/resume', {}],
    ['GET /sandboxes/{id}/metrics', undefined],
    ['PUT /sandboxes/{id}/network', {}],
    ['GET /api/v1/claims/{id}', undefined],
    ['DELETE /api/v1/claims/{id}', undefined],
  ])('is answered by %s like an unknown one', async (request, body) => {
    const id = await create(theirs);
    const unknown = 'a'.repeat(20);
    const reply = await api.call(request.replace('{id}', id), { key: ours, body });
    const other = await api.call(request.replace('{id}', unknown), { key: ours, body });
    expect(reply.status).toBe(404);
    expect(JSON.stringify(reply.body).replaceAll(id, unknown).replaceAll('team-b', 'team-a')).toBe(
      JSON.stringify(other.body),
    );
    expect((await api.call(`GET /sandboxes/${id}`, { key: theirs })).status).toBe(200);
  });

  it('is in no list, and no query parameter reaches its namespace', async () => {
    const id = await create(theirs);
    for (const path of ['/v2/sandboxes', '/sandboxes', '/api/v1/claims']) {
      expect(JSON.stringify((await api.call(`GET ${path}`, { key: ours })).body)).not.toContain(id);
      expect(JSON.stringify((await api.call(`GET ${path}`, { key: theirs })).body)).toContain(id);
    }
    for (const path of ['pools', 'templates', 'claims', 'events']) {
      expect((await api.call(`GET /api/v1/${path}?namespace=team-b`, { key: ours })).status).toBe(403);
    }
  });

  it('is not returned for the same Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'order-1' };
    const body = { templateID: 'base' };
    const first = await api.call('POST /v2/sandboxes', { key: ours, body, headers });
    const again = await api.call('POST /v2/sandboxes', { key: ours, body, headers });
    expect(again.body).toEqual(first.body);
    const foreign = await api.call('POST /v2/sandboxes', { key: theirs, body, headers });
    expect((foreign.body as { sandboxID: string }).sandboxID).not.toBe((first.body as { sandboxID: string }).sandboxID);
    const changed = await api.call('POST /v2/sandboxes', { key: ours, body: { ...body, timeout: 9 }, headers });
    expect(changed).toMatchObject({ status: 422, body: { code: 422, error_code: 'idempotency_request_mismatch' } });
  });
});

describe('a create', () => {
  it.each([
    [
      'empty',
      503,
      'sandbox_capacity_unavailable',
      { metadata: { 'e2b.agents.kruise.io/create-on-no-stock': 'false' } },
    ],
    ['refusing', 400, undefined, {}],
    ['broken', 500, 'sandbox_create_failed', {}],
    ['silent', 504, 'sandbox_placement_timeout', { metadata: { 'e2b.agents.kruise.io/claim-timeout-seconds': '1' } }],
    ['nonesuch', 404, undefined, {}],
    ['team-b/base', 404, undefined, {}],
  ])('from %s answers %i and leaves nothing behind', async (...[templateID, status, errorCode, fields]) => {
    const body = { templateID, envVars: { A: 'secret' }, ...fields };
    const before = await countLeftovers();
    const reply = await api.call('POST /v2/sandboxes', { key: ours, body });
    expect(reply).toMatchObject({
      status,
      body: { code: status, ...(errorCode === undefined ? {} : { error_code: errorCode }) },
    });
    await vi.waitFor(async () => expect(await countLeftovers()).toEqual(before), PATIENCE);
  });

  it('has a chosen name only if its key may choose names, and a generated one always', async () => {
    const prefix = 'e2b.agents.kruise.io/';
    const body = { templateID: 'unpooled', metadata: { [`${prefix}sandbox-name`]: 'chosen' } };
    const before = await countLeftovers();
    expect((await api.call('POST /v2/sandboxes', { key: ours, body })).status).toBe(403);
    expect(await countLeftovers()).toEqual(before);
    const readName = async (id: string): Promise<string | undefined> =>
      (await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id })).spec.sandboxName;
    const trusted = await stack.key({ namespace: 'team-a', limits: { chooseName: true } });
    await vi.waitFor(
      async () => expect((await api.call('GET /sandboxes', { key: trusted })).status).toBe(200),
      PATIENCE,
    );
    const chosen = await create(trusted, body);
    expect(chosen).not.toBe('chosen');
    expect(await readName(chosen)).toBe('chosen');
    const generated = await create(ours, { ...body, metadata: { [`${prefix}sandbox-generate-name`]: 'made-' } });
    expect(await readName(generated)).toMatch(/^made-[0-9a-f]{8}$/);
  });

  it('stores environment variables under the UID of the claim, where tenants have no rights', async () => {
    const id = await create(ours, { envVars: { A: 'hunter2' } });
    const { metadata: claim } = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
    const key = { namespace: ENVS_NAMESPACE, name: `envs-${claim.uid ?? ''}` };
    const { metadata, data, immutable } = await stack.client.get(secrets, key);
    expect(Buffer.from(data?.['env-0'] ?? '', 'base64').toString()).toBe('hunter2');
    expect([metadata.annotations, immutable]).toEqual([{ 'sandlot.dev/stored-for': `team-a/${id}` }, true]);
  });

  it('is limited in number and rate per key, with RateLimit headers', async () => {
    const few = await stack.key({ namespace: 'team-a', limits: { sandboxes: 1, createsPerSecond: 0 } });
    await vi.waitFor(async () => expect((await api.call('GET /sandboxes', { key: few })).status).toBe(200), PATIENCE);
    await create(few);
    const more = await api.call('POST /v2/sandboxes', { key: few, body: { templateID: 'base' } });
    expect(more).toMatchObject({ status: 429, body: { code: 429 } });
    const slow = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0.1 } });
    await vi.waitFor(async () => expect((await api.call('GET /sandboxes', { key: slow })).status).toBe(200), PATIENCE);
    await create(slow);
    const { status, headers } = await api.call('POST /v2/sandboxes', { key: slow, body: { templateID: 'base' } });
    expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([429, '1', '0']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('a volume of another team', () => {
  const prefix = 'e2b.agents.kruise.io/';
  const buildBody = (pvName: string, spelling: 'list' | 'keys', mountPath = '/loot') => ({
    templateID: 'unpooled',
    metadata:
      spelling === 'list'
        ? { [`${prefix}csi-volume-config`]: JSON.stringify([{ pvName, mountPath }]) }
        : { [`${prefix}csi-volume-name`]: pvName, [`${prefix}csi-mount-point`]: mountPath },
  });

  it.each(['list', 'keys'] as const)('is reached by no name and no path: %s', async (spelling) => {
    const before = await countLeftovers();
    const foreign = ['team-b/dataset', '../team-b/dataset', 'team-b%2Fdataset', '/dataset', 'team-b:dataset', '..', ''];
    const bodies = [
      ...foreign.map((name) => buildBody(name, spelling)),
      ...['loot', '../loot', '/a/../../loot', '/'].map((path) => buildBody('dataset', spelling, path)),
    ];
    for (const body of bodies) {
      const reply = await api.call('POST /v2/sandboxes', { key: ours, body });
      expect(reply.status).toBe(400);
      expect((reply.body as { message: string }).message).toContain(`${prefix}csi-`);
    }
    expect(await countLeftovers()).toEqual(before);
  });

  it.each(['list', 'keys'] as const)('that has the name means the one of the own team: %s', async (spelling) => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const metadata = { namespace: 'team-b', name: `secret-${spelling}` };
    await stack.client.create(persistentVolumeClaims, { metadata, spec });
    const id = await create(ours, buildBody(metadata.name, spelling));
    const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
    expect(claim.spec.dynamicVolumes).toEqual([{ mountPath: '/loot', persistentVolumeClaimName: metadata.name }]);
    expect(await stack.client.find(sandboxClaims, { namespace: 'team-b', name: id })).toBeUndefined();
  });
});

/** Numbers of claims, and of Secrets that the tenant could read. */
async function countLeftovers(): Promise<number[]> {
  const claims = await stack.client.listAll(sandboxClaims, { namespace: 'team-a' });
  const envs = await stack.client.listAll(secrets, { namespace: 'team-a' });
  return [claims.items.length, envs.items.length];
}

describe('an error answer', () => {
  it.each([
    ['GET /sandboxes', {}, 401],
    ['GET /nowhere', {}, 404],
    ['POST /v2/sandboxes', { body: '{' }, 400],
    ['POST /v2/sandboxes', { body: '[]' }, 400],
    ['GET /sandboxes/%zz', {}, 400],
    ['POST /sandboxes/x/fork', { body: {} }, 403],
    ['GET /volumes', {}, 403],
    ['GET /v2/sandboxes?limit=0', {}, 400],
    ['GET /api/v1/keys', {}, 404],
  ])('to %s has the JSON body and headers of all errors', async (...[request, input, status]) => {
    const key = status === 401 ? {} : { key: ours };
    const reply = await api.call(request, { ...key, ...input });
    expect(reply).toMatchObject({ status, body: { code: status, message: expect.any(String) as string } });
    expect(reply.headers.get('x-request-id')).toBeTruthy();
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('an operation of admins', () => {
  it.each([
    ['GET /api/v1/keys', 404],
    ['POST /api/v1/keys', 404],
    ['DELETE /api/v1/keys/0', 404],
    // Tenants may read pools under the same paths.
    ['POST /api/v1/pools', 405],
    ['PATCH /api/v1/pools/base', 405],
    ['DELETE /api/v1/pools/base', 405],
  ])('is not served on the public port, whatever the key: %s', async (request, status) => {
    const body = request.startsWith('POST') ? { namespace: 'team-a', name: 'more', template: 'base' } : undefined;
    expect((await api.call(request, { key: admin, body })).status).toBe(status);
    expect((await api.call(request, { body })).status).toBe(status);
  });

  it('is refused on the admin port to the key of a tenant, and served to that of an admin', async () => {
    const url = api.adminUrl;
    expect((await api.call('GET /api/v1/keys', { key: ours, url })).status).toBe(403);
    expect((await api.call('GET /api/v1/keys', { url })).status).toBe(401);
    expect((await api.call('GET /api/v1/keys', { key: admin, url })).status).toBe(200);
    expect((await api.call('GET /sandboxes', { key: admin, url })).status).toBe(200);
  });
});

describe('/api/v1 through the typed client', () => {
  it('shows pools, serves claims, and lets only admins manage keys', async () => {
    const client = createSandlotClient({ baseUrl: api.url, apiKey: ours });
    const pools = await client.GET('/api/v1/pools');
    expect(pools.data?.map(({ name }) => name)).toContain('base');
    const created = await client.POST('/api/v1/claims', {
      params: { query: { wait: 20 } },
      body: { name: 'job-1', pool: 'base', replicas: 1 },
    });
    expect(created.data).toMatchObject({ name: 'job-1', phase: 'Completed', sandboxes: [{ ready: true }] });
    expect(
      (await client.DELETE('/api/v1/claims/{name}', { params: { path: { name: 'job-1' } } })).response.status,
    ).toBe(204);
    const adminClient = createSandlotClient({ baseUrl: api.adminUrl, apiKey: admin });
    const newKey = await adminClient.POST('/api/v1/keys', {
      body: { namespace: 'team-b', role: 'tenant', description: '', limits: {} },
    });
    const { key = '', id = '' } = newKey.data ?? {};
    expect((await api.call('GET /sandboxes', { key })).status).toBe(200);
    expect((await adminClient.DELETE('/api/v1/keys/{id}', { params: { path: { id } } })).response.status).toBe(204);
    expect((await api.call('GET /sandboxes', { key })).status).toBe(401);
  });

  it('publishes audit records of creates and refused kills', async () => {
    const records: object[] = [];
    const subscription = stack.bus.onHint('audit.recorded', ({ data }) => records.push(data));
    const id = await create(ours);
    await vi.waitFor(
      () =>
        expect(records).toContainEqual(
          expect.objectContaining({ name: id, action: 'sandbox.create', status: 201, outcome: 'done' }),
        ),
      PATIENCE,
    );
    await api.call(`DELETE /sandboxes/${id}`, { key: theirs });
    const denied = { namespace: 'team-b', name: id, action: 'sandbox.kill', status: 404, outcome: 'refused' };
    await vi.waitFor(() => expect(records).toContainEqual(expect.objectContaining(denied)), PATIENCE);
    subscription[Symbol.dispose]();
  });

  it('streams the events of the key’s own namespace', async () => {
    await stack.bus.ensureStreams();
    const stop = new AbortController();
    const response = await fetch(`${api.url}/api/v1/events?type=claim.*&since=600`, {
      headers: { 'X-API-KEY': ours },
      signal: stop.signal,
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    await create(theirs);
    const id = await create(ours);
    let text = '';
    while (!text.includes(id)) text += (await reader?.read())?.value ?? '';
    expect(text).toMatch(/id: \d+\nevent: claim\.bound\ndata: \{/);
    expect(text).not.toContain('team-b');
    stop.abort();
  });
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKey, revokeKey } from '@sandlot/tenancy';
import type { EventData } from '@sandlot/bus';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { KEYS_NAMESPACE, Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const DOCUMENT = join(import.meta.dirname, '../../../../docs/openapi/sandlot.json');

/**
 * Every operation of the OpenAPI document that is not a GET, so that new operations are tested too. Contents of volumes are like files in
 * sandboxes, which the log does not have either.
 */
const operation = z.object({ operationId: z.string() }).loose();
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(JSON.parse(await readFile(DOCUMENT, 'utf8')));
const mutations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => method !== 'get' && !path.startsWith('/volumecontent/'))
    .map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`] as const),
);

/** An administrator may do these to any team. */
const OF_ANY_TEAM: ReadonlySet<string> = new Set(['killTeamSandboxes', 'cancelTeamBuilds']);

type Audit = EventData['audit.recorded'];

let stack: Stack;
let api: ApiUnderTest;
let other: ApiUnderTest;
let admin: string;
const received: Audit[] = [];
beforeAll(async () => {
  stack = await Stack.start();
  admin = await stack.key({ namespace: 'team-a', role: 'admin' });
  [api, other] = [await stack.api(), await stack.api()];
  stack.bus.onHint('audit.recorded', ({ data }) => received.push(data));
  await vi.waitFor(() => expect(stack.bus.isConnected()).toBe(true), PATIENCE);
});
afterAll(async () => {
  await Promise.all([api[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  await stack[Symbol.asyncDispose]();
});

async function waitForAudit(requestId: string): Promise<Audit> {
  return vi.waitFor(() => {
    const found = received.find((record) => record.requestId === requestId);
    if (found === undefined) throw new Error(`no audit record of ${requestId}`);
    return found;
  }, PATIENCE);
}

function nameOutcome(status: number): string {
  if (status < 400) return 'done';
  if (status >= 500) return 'failed';
  return status === 403 ? 'denied' : 'refused';
}

describe('an operation that changes something', () => {
  it.each(mutations)('%s records the key, the object, the source and the result', async (id, request) => {
    const requestId = `audit-${id}`;
    const headers = { 'X-Request-ID': requestId, 'User-Agent': 'auditor/1' };
    const withNames = request.replaceAll(/\{\w+\}/g, 'nonesuch');
    const { status } = await api.call(withNames, { url: api.adminUrl, key: admin, headers, body: {} });
    expect(await waitForAudit(requestId)).toMatchObject({
      action: expect.stringMatching(/^[a-z]+\.[a-z]+$/) as string,
      namespace: OF_ANY_TEAM.has(id) ? 'nonesuch' : 'team-a',
      actor: { key: expect.stringMatching(/^[0-9a-f]{12}$/) as string, team: 'team-a', role: 'admin' },
      source: { address: '127.0.0.1', userAgent: 'auditor/1' },
      status,
      outcome: nameOutcome(status),
    });
    expect(JSON.stringify(received)).not.toContain(admin);
  });

  it('is found more than 15 times in the document', () => {
    expect(mutations.length).toBeGreaterThan(15);
  });

  it('is recorded as denied if the key does not have the role', async () => {
    const tenant = await stack.key({ namespace: 'team-b' });
    await vi.waitFor(
      async () => expect((await api.call('GET /sandboxes', { key: tenant })).status).toBe(200),
      PATIENCE,
    );
    const headers = { 'X-Request-ID': 'audit-denied' };
    await api.call('POST /api/v1/keys', { url: api.adminUrl, key: tenant, headers, body: { namespace: 'team-a' } });
    expect(await waitForAudit('audit-denied')).toMatchObject({ action: 'key.create', outcome: 'denied', status: 403 });
  });
});

describe('a key that is created and revoked outside the API', () => {
  it('is recorded once by all replicas together, with the Kubernetes user', async () => {
    const place = { client: stack.client, namespace: KEYS_NAMESPACE, by: 'ana@example.com' };
    const input = { namespace: 'team-b', team: 'team-b', role: 'tenant', description: '', limits: {} } as const;
    await stack.bus.ensureStreams();
    const stop = new AbortController();
    const events = stack.bus.follow({ filter: 'sandlot.*.audit.>', sinceMs: 0, signal: stop.signal });
    const { key, text } = await createKey(place, input);
    expect(await revokeKey({ ...place, by: 'bob@example.com' }, key.id)).toBe(true);
    const ids = new Map<string, string[]>();
    for await (const { event } of events ?? []) {
      const data = event.data as Audit;
      if (data.name !== key.id) continue;
      ids.set(data.action, [...(ids.get(data.action) ?? []), data.actor.user ?? '']);
      expect(JSON.stringify(event)).not.toContain(text);
      if (ids.has('key.revoke')) break;
    }
    stop.abort();
    expect(Object.fromEntries(ids)).toEqual({ 'key.create': ['ana@example.com'], 'key.revoke': ['bob@example.com'] });
  });

  it('is recorded only by the request if the API made the change', async () => {
    const headers = { 'X-Request-ID': 'audit-created' };
    const created = await api.call('POST /api/v1/keys', {
      url: api.adminUrl,
      key: admin,
      headers,
      body: { namespace: 'team-b' },
    });
    const { id } = created.body as { id: string };
    expect(await waitForAudit('audit-created')).toMatchObject({ action: 'key.create', name: id, status: 201 });
    const deletion = { 'X-Request-ID': 'audit-deleted' };
    await api.call(`DELETE /api/v1/keys/${id}`, { url: api.adminUrl, key: admin, headers: deletion });
    await waitForAudit('audit-deleted');
    expect(received.filter(({ name, actor }) => name === id && actor.user !== undefined)).toEqual([]);
  });
});

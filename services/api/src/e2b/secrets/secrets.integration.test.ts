import { formatVaultSecretName, labels } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { Secret } from 'e2b';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { collectLog } from '../../../test/collected-log.ts';
import { Stack, VAULT_NAMESPACE } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const VALUE = 'hunter2-5d1c';
const NOT_FOUND = { status: 404, body: { code: 404, message: 'Secret not found' } };
const CONFLICT = { code: 409, message: 'Secret cannot be modified in its current state' };

const log = collectLog();
const audited: object[] = [];
let stack: Stack;
let api: ApiUnderTest;
let other: ApiUnderTest;
let ours: string;
let theirs: string;
beforeAll(async () => {
  stack = await Stack.start();
  [ours, theirs] = [await stack.key({ namespace: 'team-a' }), await stack.key({ namespace: 'team-b' })];
  const settings = { VAULT_NAMESPACE, VAULT_SECRETS_LIMIT: '5' };
  [api, other] = [await stack.api(settings, log), await stack.api(settings, log)];
  stack.bus.onHint('audit.recorded', ({ data }) => audited.push(data));
});
afterAll(async () => {
  await Promise.all([api[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  await stack[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const { metadata } of await listStored()) {
    await stack.client.delete(secrets, { namespace: VAULT_NAMESPACE, name: metadata.name ?? '' });
  }
});

const listStored = async () => (await stack.client.listAll(secrets, { namespace: VAULT_NAMESPACE })).items;
const call = (request: string, body?: unknown, { key = ours, from = api } = {}): Promise<Reply> =>
  from.call(request, { key, body });
const create = (name: string, more: object = {}, key = ours): Promise<Reply> =>
  call('POST /secrets', { name, value: VALUE, ...more }, { key });
const getId = ({ body }: Reply): string => (body as { secretID: string }).secretID;
const readValue = async (name: string): Promise<string> => {
  const key = { namespace: VAULT_NAMESPACE, name: formatVaultSecretName('team-a', name) };
  const { data } = await stack.client.get(secrets, key);
  return Buffer.from(data?.['value'] ?? '', 'base64').toString();
};

describe('secrets of a team', () => {
  it('are created, listed, updated and deleted by the stock client, which never sees their values', async () => {
    const connection = { apiKey: ours, apiUrl: api.url };
    const created = await Secret.create('Build-Key', VALUE, { ...connection, metadata: { team: 'a' } });
    expect(created).toMatchObject({ name: 'build-key', version: 1, metadata: { team: 'a' } });
    const updated = await Secret.update('build-key', 'second', connection);
    expect(updated).toMatchObject({ version: 2, metadata: { team: 'a' } });
    expect(await readValue('build-key')).toBe('second');
    expect(await Secret.getInfo('BUILD-KEY', connection)).toEqual(updated);
    await Secret.create('other', VALUE, connection);
    const paginator = Secret.list({ ...connection, limit: 1 });
    const names: string[] = [];
    while (paginator.hasNext) names.push(...(await paginator.nextItems()).map(({ name }) => name));
    expect(names).toEqual(['build-key', 'other']);
    expect(await Secret.exists('other', connection)).toBe(true);
    expect(await Secret.destroy('other', connection)).toBe(true);
    expect(await Secret.destroy('other', connection)).toBe(false);
    expect(await Secret.exists('other', connection)).toBe(false);
  });

  it('are found by id and by name, and marked for the proxy in a namespace where tenants have no rights', async () => {
    const created = await create('key');
    expect(created.status).toBe(201);
    expect(getId(created)).toMatch(/^sec_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(await call(`GET /secrets/${getId(created)}`)).toMatchObject({ status: 200, body: created.body as object });
    expect(await call('GET /secrets/KEY')).toMatchObject({ status: 200, body: created.body as object });
    const [stored] = await listStored();
    expect(stored).toMatchObject({
      type: 'sandlot.dev/vault-secret',
      metadata: { labels: { [labels.egressCredential]: 'true', [labels.tenant]: 'team-a' } },
    });
    expect(JSON.stringify(stored?.metadata)).not.toContain(VALUE);
  });

  it('keep their metadata without any in an update, and lose it with an empty one', async () => {
    await create('key', { metadata: { a: 'b' } });
    expect((await call('POST /secrets/key', { value: 'x' })).body).toMatchObject({ metadata: { a: 'b' } });
    expect((await call('POST /secrets/key', { value: 'x', metadata: {} })).body).toMatchObject({
      metadata: {},
      currentVersion: 3,
    });
  });

  it('are seen at once by the other replica', async () => {
    await create('key');
    expect(await call('GET /secrets/key', undefined, { from: other })).toMatchObject({ status: 200 });
    expect(await call('DELETE /secrets/key', undefined, { from: other })).toMatchObject({ status: 204 });
    expect(await call('GET /secrets/key')).toMatchObject(NOT_FOUND);
  });
});

describe('a secret of another team', () => {
  it.each([
    ['GET', undefined],
    ['POST', { value: 'mine' }],
    ['DELETE', undefined],
  ])('is unknown to %s, by its id and by its name', async (method, body) => {
    const id = getId(await create('key', {}, theirs));
    for (const name of [id, 'key']) {
      expect(await call(`${method} /secrets/${name}`, body)).toMatchObject(NOT_FOUND);
    }
    expect((await call('GET /secrets')).body).toEqual([]);
    expect(await call('GET /secrets/key', undefined, { key: theirs })).toMatchObject({
      body: { secretID: id, currentVersion: 1 },
    });
  });

  it('may have the same name', async () => {
    const [first, second] = [await create('key'), await create('key', {}, theirs)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(getId(first)).not.toBe(getId(second));
  });
});

describe('a request about secrets', () => {
  it.each<readonly [string, object, string]>([
    ['no value', { value: undefined }, 'value'],
    ['an empty value', { value: '' }, 'value'],
    ['a value over 64 KiB', { value: `${'ä'.repeat(32_768)}x` }, 'value: expected at most 65536 bytes'],
    ['no name', { name: undefined }, 'name'],
    ['the prefix of ids', { name: 'SEC_a' }, 'name: expected'],
    ['a path', { name: '../a' }, 'name: expected'],
    ['a long name', { name: 'a'.repeat(129) }, 'name: expected'],
    ['a name of two lines', { name: 'a\n' }, 'name: expected'],
    [
      'too many entries',
      { metadata: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`k${at}`, 'v'])) },
      'metadata: expected at most 32',
    ],
    ['a long key', { metadata: { ['k'.repeat(129)]: 'v' } }, 'metadata: expected keys'],
    ['a long entry', { metadata: { k: 'v'.repeat(1_025) } }, 'metadata: expected values'],
    [
      'much metadata',
      { metadata: Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`k${at}`, 'v'.repeat(1_000)])) },
      'metadata: expected at most 8192',
    ],
    ['metadata that is no text', { metadata: { k: 1 } }, 'metadata.k'],
  ])('with %s is refused', async (_what, fields, problem) => {
    const { status, body } = await create('key', fields);
    expect([status, (body as { message: string }).message]).toEqual([400, expect.stringContaining(problem)]);
    expect((body as { message: string }).message).toMatch(/^Invalid secrets request: /);
    expect(await listStored()).toEqual([]);
  });

  it.each([
    'sec_',
    `sec_${'0'.repeat(26)}`,
    '..%2F..',
    '%00',
    'a%20b',
    'ключ',
    'a'.repeat(200),
    '$%7Bx%7D',
    '__proto__',
  ])('for %s finds none', async (name) => {
    expect(await call(`GET /secrets/${name}`)).toMatchObject(NOT_FOUND);
    expect(await call(`DELETE /secrets/${name}`)).toMatchObject(NOT_FOUND);
  });

  it('with a body that is too large is refused before it is read', async () => {
    expect(await create('key', { value: 'x'.repeat(2_000_000) })).toMatchObject({ status: 413 });
  });

  it('has an answer that no cache keeps', async () => {
    await create('key');
    for (const request of ['GET /secrets', 'GET /secrets/key', 'GET /secrets/none', 'DELETE /secrets/key']) {
      expect((await call(request)).headers.get('cache-control')).toBe('no-store');
    }
  });

  it('is refused where the installation has no vault', async () => {
    await using without = await stack.api();
    for (const request of [
      'GET /secrets',
      'GET /secrets/key',
      'DELETE /secrets/key',
      'POST /secrets',
      'POST /secrets/key',
    ]) {
      const body = request.startsWith('POST') ? { name: 'key', value: VALUE } : undefined;
      const refusal = { code: 403, message: 'secrets are not enabled in this installation', error_code: 'not_enabled' };
      expect(await call(request, body, { from: without })).toMatchObject({ status: 403, body: refusal });
    }
  });
});

describe('requests at the same time', () => {
  it('create one secret of a name', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        call('POST /secrets', { name: 'key', value: `v${at}` }, { from: at % 2 ? api : other }),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
    expect(replies.find(({ status }) => status === 409)?.body).toEqual(CONFLICT);
    const winner = replies.findIndex(({ status }) => status === 201);
    expect(await readValue('key')).toBe(`v${winner}`);
  });

  it('give a secret as many versions as they are, and the value of the last one', async () => {
    await create('key');
    const values = ['one', 'two', 'three', 'four'];
    const replies = await Promise.all(
      values.map((value, at) => call('POST /secrets/key', { value }, { from: at % 2 ? api : other })),
    );
    const versions = replies.map(({ body }) => (body as { currentVersion: number }).currentVersion);
    expect(versions.toSorted()).toEqual([2, 3, 4, 5]);
    expect(await readValue('key')).toBe(values[versions.indexOf(5)]);
  });

  it('never leave a namespace with more secrets than it may have', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        call('POST /secrets', { name: `n${at}`, value: VALUE }, { from: at % 2 ? api : other }),
      ),
    );
    expect((await listStored()).length).toBeLessThanOrEqual(5);
    const refused = { status: 409, body: { ...CONFLICT, error_code: 'secret_limit_reached' } };
    expect(replies.filter(({ status }) => status !== 201)[0]).toMatchObject(refused);
    while ((await listStored()).length < 5) await create(`m${(await listStored()).length}`);
    expect(await create('more')).toMatchObject(refused);
    expect(await create('key', {}, theirs)).toMatchObject({ status: 201 });
  });
});

it('no log line, audit record or answer has the value of a secret', async () => {
  const replies = [
    await create('key', { metadata: { note: 'x' } }),
    await create('key'),
    await call('POST /secrets/key', { value: VALUE }),
    await call('POST /secrets/none', { value: VALUE }),
    await call('POST /secrets', `{"name":"key","value":${VALUE}}`),
    await call('POST /secrets', `{"name":"key","value":"${VALUE}"`),
    await call('POST /secrets', { name: 'b', value: [VALUE] }),
    await call('POST /secrets', { name: 'b', value: VALUE, metadata: [VALUE] }),
    await call('GET /secrets'),
    await call('DELETE /secrets/key'),
  ];
  expect(replies.map(({ status }) => status)).toEqual([201, 409, 200, 404, 400, 400, 400, 400, 200, 204]);
  await vi.waitFor(
    () =>
      expect(audited).toContainEqual(expect.objectContaining({ action: 'secret.delete', name: 'key', status: 204 })),
    PATIENCE,
  );
  expect(log.lines.join('\n')).toContain('secret.create');
  expect(JSON.stringify(replies.map(({ body }) => body))).not.toContain(VALUE);
  expect(JSON.stringify(audited)).not.toContain(VALUE);
  expect(log.lines.join('\n')).not.toContain(VALUE);
});

import { annotations, formatStoredHeadersName, sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { Sandbox, Secret } from 'e2b';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { collectLog } from '../../../test/collected-log.ts';
import { ENVS_NAMESPACE, Stack, VAULT_NAMESPACE } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';
import { buildHeaderSweep } from '../../vault/drop-headers.ts';
import { storeRules } from '../../vault/stored-headers.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const VALUE = 'hunter2-5d1c';
const NAMESPACE = 'team-a';

const log = collectLog();
const audited: object[] = [];
let stack: Stack;
let api: ApiUnderTest;
let key: string;
beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: NAMESPACE, limits: { createsPerSecond: 0, sandboxes: 0 } });
  api = await stack.api({ VAULT_NAMESPACE, SNAPSHOTS_ENABLED: 'true' }, log);
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'debian' }] } };
  await stack.client.create(sandboxTemplates, {
    metadata: { namespace: NAMESPACE, name: 'bare' },
    spec: { podTemplate },
  });
  await api.call('POST /secrets', { key, body: { name: 'token', value: VALUE } });
  stack.bus.onHint('audit.recorded', ({ data }) => audited.push(data));
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const rule = (headers: Record<string, string>, host = 'api.example.com') => ({ [host]: [{ transform: { headers } }] });
const RULES = rule({ Authorization: `Bearer ${VALUE}`, 'X-Team': 'a' });
const create = (rules: object, more: object = {}): Promise<Reply> =>
  api.call('POST /v2/sandboxes', { key, body: { templateID: 'base', network: { rules }, ...more } });
const put = (id: string, body: object): Promise<Reply> => api.call(`PUT /sandboxes/${id}/network`, { key, body });
const readClaim = (name: string): Promise<SandboxClaim> =>
  stack.client.get(sandboxClaims, { namespace: NAMESPACE, name });

async function start(rules: object = RULES, more: object = {}): Promise<string> {
  const reply = await create(rules, more);
  expect(reply).toMatchObject({ status: 201 });
  return (reply.body as { sandboxID: string }).sandboxID;
}

const findStored = ({ metadata }: Pick<SandboxClaim, 'metadata'>) =>
  stack.client.find(secrets, { namespace: VAULT_NAMESPACE, name: formatStoredHeadersName(metadata) });

/** The values stored for a claim, by key. */
async function readValues(claim: SandboxClaim): Promise<Record<string, string>> {
  const { data = {} } = (await findStored(claim)) ?? {};
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
  );
}

/** Headers of a claim with the values that their keys lead to. */
async function resolve(claim: SandboxClaim): Promise<unknown> {
  const values = await readValues(claim);
  const { rules = [] } = JSON.parse(claim.metadata.annotations?.[annotations.network] ?? '{}') as {
    rules?: { host: string; headers: { name: string; stored: string }[] }[];
  };
  return rules.map(({ host, headers }) => [host, headers.map(({ name, stored }) => [name, values[stored]])]);
}

describe('header rules of a create', () => {
  it('are in the claim, and their values in a Secret under its UID, where tenants have no rights', async () => {
    const claim = await readClaim(await start());
    const network = claim.metadata.annotations?.[annotations.network] ?? '';
    expect(claim.metadata.annotations?.[annotations.networkApplied]).toBe(network);
    expect(JSON.stringify(claim)).not.toContain(VALUE);
    expect(await resolve(claim)).toEqual([
      [
        'api.example.com',
        [
          ['Authorization', `Bearer ${VALUE}`],
          ['X-Team', 'a'],
        ],
      ],
    ]);
    expect(await findStored(claim)).toMatchObject({
      type: 'sandlot.dev/egress-headers',
      metadata: {
        labels: { 'sandlot.dev/egress-credential': 'true', 'sandlot.dev/sandbox-id': claim.metadata.name },
        annotations: { 'sandlot.dev/stored-for': `${NAMESPACE}/${claim.metadata.name ?? ''}` },
      },
    });
  });

  it('deny nothing, and show names of headers alone', async () => {
    const id = await start();
    const { body } = await api.call(`GET /sandboxes/${id}`, { key });
    expect(body).toMatchObject({ allowInternetAccess: null });
    expect((body as { network: object }).network).toEqual({
      allowPublicTraffic: true,
      allowOut: [],
      denyOut: [],
      rules: rule({ Authorization: '***', 'X-Team': '***' }),
    });
  });

  it('work with the stock client, placeholders included', async () => {
    const connection = { apiKey: key, apiUrl: api.url, sandboxUrl: api.url };
    const rules = rule({ Authorization: `Bearer ${Secret.fill('token')}` });
    const sandbox = await Sandbox.create('base', { ...connection, network: { rules } });
    expect((await sandbox.getInfo()).network?.rules).toEqual(rule({ Authorization: '***' }));
    await sandbox.updateNetwork({ rules: rule({ 'X-Other': VALUE }, '*.example.org') });
    expect((await sandbox.getInfo()).network?.rules).toEqual(rule({ 'X-Other': '***' }, '*.example.org'));
    expect(await resolve(await readClaim(sandbox.sandboxId))).toEqual([['*.example.org', [['X-Other', VALUE]]]]);
    await sandbox.kill();
  });

  it.each<readonly [string, object, object, string]>([
    [
      'for a secret that does not exist',
      rule({ A: '${e2b.secrets.None}' }),
      {},
      'network.rules: there is no secret "none"',
    ],
    [
      'for a template without the daemon',
      RULES,
      { templateID: 'bare' },
      'network.rules: template "bare" has no runtime to prove who calls',
    ],
    [
      'without an init of the daemon',
      RULES,
      { metadata: { 'e2b.agents.kruise.io/skip-init-runtime': 'true' } },
      'network.rules need the runtime',
    ],
    ['for an identity', rule({ A: '${e2b.identity.tokens.x}' }), {}, 'asks for an identity'],
    ['for all hosts', rule({ A: 'b' }, '*'), {}, 'is no name such as example.com'],
  ])('%s are refused, and nothing is left', async (...[, rules, more, problem]) => {
    const list = async (): Promise<readonly (string | undefined)[]> => {
      const { items } = await stack.client.listAll(secrets, { namespace: VAULT_NAMESPACE });
      return items.map(({ metadata }) => metadata.name);
    };
    const before = await list();
    const { status, body } = await create(rules, more);
    expect([status, (body as { message: string }).message]).toEqual([400, expect.stringContaining(problem)]);
    // Those of the tests before may go meanwhile.
    expect(before).toEqual(expect.arrayContaining([...(await list())]));
  });

  it('are refused for a secret of another team', async () => {
    const theirs = await stack.key({ namespace: 'team-b' });
    await vi.waitFor(async () => expect((await api.call('GET /secrets', { key: theirs })).status).toBe(200), PATIENCE);
    const body = { templateID: 'base', network: { rules: rule({ A: '${e2b.secrets.token}' }) } };
    expect(await api.call('POST /v2/sandboxes', { key: theirs, body })).toMatchObject({
      status: 400,
      body: { message: 'network.rules: there is no secret "token"' },
    });
  });

  it('are refused where the installation has no vault', async () => {
    await using without = await stack.api();
    const body = { templateID: 'base', network: { rules: RULES } };
    const refusal = { status: 400, body: { message: 'network.rules is not available in this installation' } };
    expect(await without.call('POST /v2/sandboxes', { key, body })).toMatchObject(refusal);
  });
});

describe('a repeated create whose first process died between the claim and its Secrets', () => {
  const body = { templateID: 'base', network: { rules: RULES }, envVars: { A: '1' } };
  const repeat = (name: string): Promise<Reply> =>
    api.call('POST /v2/sandboxes', { key, body, headers: { 'Idempotency-Key': name } });
  const remove = (namespace: string, name: string) => stack.client.delete(secrets, { namespace, name });

  it('stores the values of headers, and changes none that are there', async () => {
    const id = ((await repeat('headers')).body as { sandboxID: string }).sandboxID;
    const claim = await readClaim(id);
    const wanted = await resolve(claim);
    await remove(VAULT_NAMESPACE, formatStoredHeadersName(claim.metadata));
    expect((await repeat('headers')).status).toBe(201);
    expect(await resolve(claim)).toEqual(wanted);
    const name = formatStoredHeadersName(claim.metadata);
    const [first = '', second = ''] = Object.keys(await readValues(claim));
    const data = { [first]: Buffer.from('changed').toString('base64'), [second]: null };
    await stack.client.mergePatch(secrets, { namespace: VAULT_NAMESPACE, name }, { data });
    await repeat('headers');
    expect(await readValues(claim)).toEqual({ [first]: 'changed', [second]: 'a' });
  });

  it('stores none once the rules were changed', async () => {
    const id = ((await repeat('changed')).body as { sandboxID: string }).sandboxID;
    expect((await put(id, { rules: rule({ 'X-Other': 'b' }) })).status).toBe(204);
    const claim = await readClaim(id);
    await remove(VAULT_NAMESPACE, formatStoredHeadersName(claim.metadata));
    expect((await repeat('changed')).status).toBe(201);
    expect(await findStored(claim)).toBeUndefined();
  });

  it('stores the variables, without which the claim would not become Ready', async () => {
    const served = Promise.withResolvers<undefined>();
    stack.standIn.mayServe = () => served.promise;
    const first = repeat('variables');
    const find = async () => {
      const { items } = await stack.client.listAll(secrets, { namespace: ENVS_NAMESPACE });
      return items.find(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '') >= begunMs);
    };
    const begunMs = Math.floor(Date.now() / 1_000) * 1_000;
    const stored = await vi.waitFor(async () => (await find()) ?? Promise.reject(new Error('none yet')), PATIENCE);
    await remove(ENVS_NAMESPACE, stored.metadata.name ?? '');
    expect((await repeat('variables')).status).toBe(409);
    expect((await find())?.data).toEqual(stored.data);
    served.resolve(undefined);
    expect((await first).status).toBe(201);
    stack.standIn.mayServe = () => Promise.resolve();
  });
});

describe('a change of header rules', () => {
  it('stores new values, and drops those that no rule has any more', async () => {
    const id = await start();
    expect(await put(id, { rules: rule({ Authorization: 'second' }) })).toMatchObject({ status: 204 });
    const claim = await readClaim(id);
    expect(await resolve(claim)).toEqual([['api.example.com', [['Authorization', 'second']]]]);
    expect(Object.values(await readValues(claim))).toEqual(['second']);
    expect(await put(id, {})).toMatchObject({ status: 204 });
    expect(await readValues(await readClaim(id))).toEqual({});
    expect((await api.call(`GET /sandboxes/${id}`, { key })).body).not.toHaveProperty('network.rules');
  });

  it('never leaves rules without values, however many come at a time', async () => {
    const id = await start();
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, at) => put(id, { rules: rule({ A: `v${at}`, B: `w${at}` }) })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 204));
    const claim = await readClaim(id);
    const [[, headers] = []] = (await resolve(claim)) as [string, [string, string][]][];
    const [last = ''] = headers?.map(([, value]) => value.slice(1)) ?? [];
    expect(headers).toEqual([
      ['A', `v${last}`],
      ['B', `w${last}`],
    ]);
    await vi.waitFor(
      async () => expect(Object.values(await readValues(claim)).toSorted()).toEqual([`v${last}`, `w${last}`]),
      PATIENCE,
    );
  });

  it('is refused for a sandbox whose Pod does not ask the egress resolver, and stores nothing', async () => {
    const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
    const id = (body as { sandboxID: string }).sandboxID;
    const reply = await put(id, { rules: RULES });
    expect([reply.status, reply.body]).toEqual([
      409,
      expect.objectContaining({
        message: expect.stringContaining('network.rules are not available for this sandbox') as string,
      }),
    ]);
    expect(await findStored(await readClaim(id))).toBeUndefined();
  });

  it('for a secret that does not exist leaves the rules as they are', async () => {
    const id = await start();
    const before = await readClaim(id);
    expect(await put(id, { rules: rule({ A: '${e2b.secrets.none}' }) })).toMatchObject({ status: 400 });
    const after = await readClaim(id);
    expect(after.metadata.annotations).toEqual(before.metadata.annotations);
    expect(await resolve(after)).toEqual(await resolve(before));
  });
});

describe('a fork', () => {
  it('has the headers of its source in a Secret of its own, and keeps them when the source changes', async () => {
    const id = await start(RULES, { templateID: 'memory' });
    const reply = await api.call(`POST /sandboxes/${id}/fork`, { key, body: { timeout: 60 } });
    const [{ sandbox } = { sandbox: undefined }] = reply.body as { sandbox?: { sandboxID: string } }[];
    const [source, fork] = [await readClaim(id), await readClaim(sandbox?.sandboxID ?? '')];
    expect(await resolve(fork)).toEqual(await resolve(source));
    await put(id, {});
    expect(await resolve(fork)).toEqual([
      [
        'api.example.com',
        [
          ['Authorization', `Bearer ${VALUE}`],
          ['X-Team', 'a'],
        ],
      ],
    ]);
    expect(await put(sandbox?.sandboxID ?? '', { rules: RULES })).toMatchObject({ status: 400 });
    expect(Object.keys(await readValues(fork))).toHaveLength(2);
  });

  it('of a sandbox whose values are gone is refused', async () => {
    const id = await start(RULES, { templateID: 'memory' });
    const { metadata } = await readClaim(id);
    await stack.client.delete(secrets, { namespace: VAULT_NAMESPACE, name: formatStoredHeadersName(metadata) });
    expect(await api.call(`POST /sandboxes/${id}/fork`, { key, body: {} })).toMatchObject({
      status: 409,
      body: { message: 'the network rules of the sandbox are being changed; try again' },
    });
  });
});

describe('header values that no claim has', () => {
  it('go with the claim', async () => {
    const id = await start();
    const claim = await readClaim(id);
    expect(await api.call(`DELETE /sandboxes/${id}`, { key })).toMatchObject({ status: 204 });
    await vi.waitFor(async () => expect(await findStored(claim)).toBeUndefined(), PATIENCE);
  });

  it('are removed by the sweep, which keeps those of claims and of requests that may still run', async () => {
    const id = await start();
    const claim = await readClaim(id);
    const kept = await readValues(claim);
    const given = [{ host: 'a.example', headers: [['A', 'left']] }] as const;
    const [old, young] = [
      storeRules(given, systemClock.now() - 3_600_000).values,
      storeRules(given, systemClock.now()).values,
    ];
    const encoded = Object.entries({ ...old, ...young }).map(([name, value]) => [
      name,
      Buffer.from(value).toString('base64'),
    ]);
    const place = { namespace: VAULT_NAMESPACE, name: formatStoredHeadersName(claim.metadata) };
    await stack.client.mergePatch(secrets, place, { data: Object.fromEntries(encoded) as Record<string, string> });
    const gone = { uid: 'c7b8f0a2-0000-4000-8000-000000000000' };
    await stack.client.create(secrets, {
      metadata: {
        namespace: VAULT_NAMESPACE,
        name: formatStoredHeadersName(gone),
        labels: { 'sandlot.dev/sandbox-id': id },
        annotations: { [annotations.storedFor]: `${NAMESPACE}/${id}` },
      },
      type: 'sandlot.dev/egress-headers',
    });
    const known = new Map([[`${NAMESPACE}/${id}`, claim]]);
    const deps = { client: stack.client, vaultNamespace: VAULT_NAMESPACE, clock: systemClock };
    const sweep = buildHeaderSweep({ ...deps, claims: { store: known } });
    await sweep.run();
    expect(await readValues(claim)).toEqual({ ...kept, ...young });
    expect(await findStored({ metadata: gone })).toBeUndefined();
    // The cache may lag behind a claim of a moment ago.
    known.clear();
    await sweep.run();
    expect(await readValues(claim)).toEqual({ ...kept, ...young });
  });
});

it('no log line, audit record, answer or claim has the value of a header', async () => {
  const id = await start();
  const replies = [
    await put(id, { rules: RULES }),
    await put(id, { rules: rule({ [`${VALUE} x`]: VALUE }) }),
    await put(id, { rules: rule({ A: `${VALUE}\n` }) }),
    await put(id, { rules: rule({ A: `${VALUE}\${e2b.identity.x}` }) }),
    await put(id, { rules: { 'a.example': [{ transform: { headers: { A: [VALUE] } } }] } }),
    await create(rule({ A: VALUE, a: VALUE })),
    await create(RULES, { templateID: 'bare' }),
    await create(RULES, { templateID: 'refusing' }),
    await api.call('GET /v2/sandboxes', { key }),
    await api.call(`GET /sandboxes/${id}`, { key }),
    await api.call(`GET /api/v1/claims/${id}`, { key }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([204, 400, 400, 400, 400, 400, 400, 400, 200, 200, 200]);
  const claims = await stack.client.listAll(sandboxClaims, { namespace: NAMESPACE });
  await vi.waitFor(
    () => expect(audited).toContainEqual(expect.objectContaining({ action: 'sandbox.create', status: 400 })),
    PATIENCE,
  );
  expect(log.lines.join('\n')).toContain('sandbox.network');
  const texts = [
    log.lines.join('\n'),
    JSON.stringify(audited),
    JSON.stringify(replies.map(({ body }) => body)),
    JSON.stringify(claims),
  ];
  for (const text of texts) expect(text).not.toContain(VALUE);
});

// Answers that say that rules hold, while a replica of the egress proxy does not have them.
import { annotations, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startReplica } from '../../test/egress-replica.ts';
import type { ReplicaServer } from '../../test/egress-replica.ts';
import { Stack, VAULT_NAMESPACE } from '../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const NAMESPACE = 'team-a';
const NAMES = { network: { denyOut: ['0.0.0.0/0'], allowOut: ['a.example.com'] } };
const OTHER_NAMES = { denyOut: ['0.0.0.0/0'], allowOut: ['b.example.com'] };

let stack: Stack;
let replica: ReplicaServer;
let api: ApiUnderTest;
/** Another replica of the API, which waits for a second. */
let hasty: ApiUnderTest;
let key: string;
/** UIDs of the claims that the replica was asked about. */
let asked: Set<string>;
/** Whether the replica has what is in the claim now. */
let follows: boolean;

beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: NAMESPACE, limits: { createsPerSecond: 0, sandboxes: 0 } });
  replica = await startReplica((request, response) => {
    const [uid = ''] = (request.url ?? '').split('/').slice(-1);
    asked.add(uid);
    const answer = follows ? readApplied(uid) : Promise.resolve({});
    void answer.then((body) => response.end(JSON.stringify(body)));
  });
  const env = {
    VAULT_NAMESPACE,
    SNAPSHOTS_ENABLED: 'true',
    EGRESS_REPORTS_HOST: '127.0.0.1',
    EGRESS_REPORTS_PORT: String(replica.port),
  };
  api = await stack.api(env);
  hasty = await stack.api({ ...env, CREATE_TIMEOUT: '3s', TRANSITION_TIMEOUT: '1s' });
});
beforeEach(() => {
  [asked, follows] = [new Set(), true];
});
afterAll(async () => {
  for (const each of [api, hasty, replica, stack]) await each[Symbol.asyncDispose]();
});

async function readApplied(uid: string): Promise<object> {
  const { items } = await stack.client.listAll(sandboxClaims, { namespace: NAMESPACE });
  const claim = items.find(({ metadata }) => metadata.uid === uid);
  return { text: claim?.metadata.annotations?.[annotations.network], addresses: claim?.status?.sandbox?.podIPs ?? [] };
}

const create = (body: object, to = api): Promise<Reply> =>
  to.call('POST /v2/sandboxes', { key, body: { templateID: 'base', ...body } });
const getId = ({ body }: Reply): string => (body as { sandboxID: string }).sandboxID;
const put = (id: string, body: object, to = api): Promise<Reply> =>
  to.call(`PUT /sandboxes/${id}/network`, { key, body });
const connect = (id: string, to = api): Promise<Reply> =>
  to.call(`POST /v2/sandboxes/${id}/connect`, { key, body: { timeout: 60 } });
const listNames = async (): Promise<readonly string[]> =>
  (await stack.client.listAll(sandboxClaims, { namespace: NAMESPACE })).items.map(
    ({ metadata }: SandboxClaim) => metadata.name ?? '',
  );

/** Waits until the replica was asked, and the request has no answer yet; then the replica gets the rules. */
async function expectHeld(request: Promise<Reply>): Promise<Reply> {
  const seen: { reply?: Reply } = {};
  const done = request.then((reply) => (seen.reply = reply));
  await vi.waitFor(() => expect(asked.size).toBe(1), PATIENCE);
  expect(seen.reply).toBeUndefined();
  follows = true;
  return done;
}

describe('a create', () => {
  it.each([
    ['names', NAMES],
    ['header rules', { network: { rules: { 'a.example.com': [{ transform: { headers: { A: 'b' } } }] } } }],
  ])('with %s is answered once a replica has them', async (_, body) => {
    follows = false;
    expect(await expectHeld(create(body))).toMatchObject({ status: 201 });
  });

  it.each([
    ['without rules', {}],
    ['with addresses alone', { network: { denyOut: ['192.0.2.0/24'] } }],
  ])('%s asks no replica', async (_, body) => {
    follows = false;
    expect(await create(body)).toMatchObject({ status: 201 });
    expect(asked.size).toBe(0);
  });

  it('whose rules no replica has in time fails, and nothing of it is left', async () => {
    follows = false;
    const before = await listNames();
    expect(await create(NAMES, hasty)).toMatchObject({
      status: 503,
      body: {
        message: 'the rules of the sandbox were not in force in time: 0 of 1 replicas of the egress proxy have them',
      },
    });
    await vi.waitFor(async () => expect((await listNames()).toSorted()).toEqual(before.toSorted()), PATIENCE);
  });
});

describe('a change of the rules', () => {
  it('is answered once a replica has them', async () => {
    const id = getId(await create(NAMES));
    [asked, follows] = [new Set(), false];
    expect(await expectHeld(put(id, OTHER_NAMES))).toMatchObject({ status: 204 });
  });

  it('that takes them away is answered once a replica has none', async () => {
    const id = getId(await create(NAMES));
    [asked, follows] = [new Set(), false];
    expect(await expectHeld(put(id, {}))).toMatchObject({ status: 204 });
  });

  it('that no replica has in time is answered with 503', async () => {
    const id = getId(await create(NAMES));
    follows = false;
    expect(await put(id, OTHER_NAMES, hasty)).toMatchObject({
      status: 503,
      body: {
        message:
          'the rules of the sandbox are noted and not in force yet: 0 of 1 replicas of the egress proxy have them',
      },
    });
  });

  it('of a sandbox that does not use the proxy asks no replica', async () => {
    const id = getId(await create({}));
    follows = false;
    expect(await put(id, { denyOut: ['192.0.2.0/24'] })).toMatchObject({ status: 204 });
    expect(asked.size).toBe(0);
  });
});

describe('a sandbox that is resumed', () => {
  const pause = (id: string): Promise<Reply> => api.call(`POST /sandboxes/${id}/pause`, { key });

  it('with names is answered once a replica has them', async () => {
    const id = getId(await create(NAMES));
    expect(await pause(id)).toMatchObject({ status: 204 });
    [asked, follows] = [new Set(), false];
    expect(await expectHeld(connect(id))).toMatchObject({ status: 201 });
  });

  it('whose names no replica has in time is answered with 503', async () => {
    const id = getId(await create(NAMES));
    await pause(id);
    follows = false;
    expect(await connect(id, hasty)).toMatchObject({ status: 503 });
  });

  it('without names asks no replica', async () => {
    const id = getId(await create({}));
    await pause(id);
    follows = false;
    expect(await connect(id)).toMatchObject({ status: 201 });
    expect(asked.size).toBe(0);
  });
});

it('a fork is answered once a replica has the rules of its source for it', async () => {
  const id = getId(await create({ templateID: 'memory', ...NAMES }));
  [asked, follows] = [new Set(), false];
  const reply = await expectHeld(api.call(`POST /sandboxes/${id}/fork`, { key, body: { timeout: 60 } }));
  expect(reply).toMatchObject({ status: 201, body: [{ sandbox: {} }] });
});

import { sandboxClaims } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const REFUSAL = {
  status: 403,
  body: {
    code: 403,
    message: "namespace 'team-b' is not served by this installation: it is not in watchNamespaces",
  },
};

let stack: Stack;
let api: ApiUnderTest;
let ours: string;
let theirs: string;
let admin: string;
beforeAll(async () => {
  stack = await Stack.start();
  ours = await stack.key({ namespace: 'team-a' });
  theirs = await stack.key({ namespace: 'team-b' });
  admin = await stack.key({ namespace: 'team-b', role: 'admin' });
  api = await stack.api({ WATCH_NAMESPACES: 'team-a,team-c' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const createIn = { name: 'job', template: 'base' };

describe('a namespace that the release does not serve', () => {
  it.each([
    ['POST /v2/sandboxes', { templateID: 'base' }],
    ['GET /v2/sandboxes', undefined],
    ['GET /sandboxes/abc', undefined],
    ['POST /api/v1/claims', createIn],
    ['GET /api/v1/claims', undefined],
    ['GET /api/v1/pools', undefined],
  ])('answers %s of its own key with a 403 that names it and the setting', async (request, body) => {
    expect(await api.call(request, { key: theirs, body })).toMatchObject(REFUSAL);
    expect((await stack.client.listAll(sandboxClaims, { namespace: 'team-b' })).items).toEqual([]);
  });

  it.each([
    ['POST /api/v1/claims?namespace=team-b', createIn],
    ['POST /api/v1/pools?namespace=team-b', { name: 'pool', template: 'base', replicas: 1 }],
    ['POST /api/v1/keys', { namespace: 'team-b' }],
  ])('answers %s of an admin in the same way', async (request, body) => {
    expect(await api.call(request, { url: api.adminUrl, key: admin, body })).toMatchObject(REFUSAL);
  });

  it('keeps no tenant from naming a namespace that is not theirs', async () => {
    const reply = await api.call('GET /api/v1/claims?namespace=team-b', { key: ours });
    expect(reply).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('is for one namespace') as string },
    });
  });

  it('shows every key whose it is, and lets admins manage keys', async () => {
    expect(await api.call('GET /api/v1/key', { key: theirs })).toMatchObject({ status: 200 });
    const body = { namespace: 'team-a' };
    expect(await api.call('POST /api/v1/keys', { url: api.adminUrl, key: admin, body })).toMatchObject({ status: 201 });
  });
});

describe('a namespace that the release serves', () => {
  it('has sandboxes, for its own key and for an admin who names it', async () => {
    expect(await api.call('POST /v2/sandboxes', { key: ours, body: { templateID: 'base' } })).toMatchObject({
      status: 201,
    });
    const reply = await api.call('GET /api/v1/claims?namespace=team-a', { key: admin });
    expect(reply).toMatchObject({ status: 200, body: [{ namespace: 'team-a' }] });
  });
});

import { annotations, labels, sandboxClaims } from '@sandlot/api-types';
import { PREVIEW_PARAMETER, checkPreview } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const NAMESPACE = 'team-a';
const LIMITS = { createsPerSecond: 0, sandboxes: 0 };

let stack: Stack;
let api: ApiUnderTest;
let key: string;
let theirs: string;
beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: NAMESPACE, limits: LIMITS });
  theirs = await stack.key({ namespace: 'team-b', limits: LIMITS });
  api = await stack.api({ SANDBOX_DOMAIN: 'sandbox.test' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function create(allowPublicTraffic = false): Promise<string> {
  const body = { templateID: 'base', network: { allowPublicTraffic } };
  const answer = await api.call('POST /v2/sandboxes', { key, body });
  expect(answer.status).toBe(201);
  return (answer.body as { sandboxID: string }).sandboxID;
}

const make = (id: string, body: object, as = key) => api.call(`POST /api/v1/claims/${id}/previews`, { key: as, body });
const revoke = (id: string, as = key) => api.call(`DELETE /api/v1/claims/${id}/previews`, { key: as });

interface Made {
  readonly url: string;
  readonly expiresAt: string;
}

/** What the gateway says of the preview, which knows no more than the claim. */
async function check(id: string, { url }: Made): Promise<string> {
  const { metadata } = await stack.client.get(sandboxClaims, { namespace: NAMESPACE, name: id });
  const token = new URL(url).searchParams.get(PREVIEW_PARAMETER) ?? '';
  const place = { uid: metadata.uid ?? '', port: 3000, nowMs: Date.now() };
  return checkPreview(token, { ...place, key: metadata.annotations?.[annotations.previewKey] }).kind;
}

describe('a preview', () => {
  it('is a URL of the port that the gateway accepts by the claim alone, until it expires', async () => {
    const id = await create();
    const before = Date.now();
    const { status, body } = await make(id, { port: 3000, expiresInSeconds: 60 });
    const made = body as Made;
    expect([status, new URL(made.url).hostname]).toEqual([201, `3000-${id}.sandbox.test`]);
    expect(new URL(made.url).port).toBe(new URL(api.url).port);
    const lastsMs = Date.parse(made.expiresAt) - before;
    expect(lastsMs).toBeGreaterThan(58_000);
    expect(await check(id, made)).toBe('valid');
  });

  it('is revoked with all the others of its claim; the next ones are not', async () => {
    const [id, other] = [await create(), await create()];
    const made = (await make(id, { port: 3000 })).body as Made;
    const neighbour = (await make(other, { port: 3000 })).body as Made;
    expect((await revoke(id)).status).toBe(204);
    expect(await check(id, made)).toBe('revoked');
    expect(await check(id, (await make(id, { port: 3000 })).body as Made)).toBe('valid');
    expect(await check(other, neighbour)).toBe('valid');
  });

  it('of a claim that an earlier release made works, too', async () => {
    const id = await create();
    const nothing = { metadata: { annotations: { [annotations.previewKey]: null } } };
    await stack.client.mergePatch(sandboxClaims, { namespace: NAMESPACE, name: id }, nothing);
    await expect.poll(async () => check(id, (await make(id, { port: 3000 })).body as Made)).toBe('valid');
  });

  it.each([
    [{}, 'port'],
    [{ port: 0 }, 'port'],
    [{ port: 65_536 }, 'port'],
    [{ port: 49_983 }, 'daemon'],
    [{ port: 3000, expiresInSeconds: 0 }, 'expiresInSeconds'],
    [{ port: 3000, expiresInSeconds: 604_801 }, 'expiresInSeconds'],
    [{ port: 3000, path: '/' }, 'path'],
  ])('is refused for %j', async (body, named) => {
    const answer = await make(await create(), body);
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(named) as string } });
  });

  it('is refused where the ports are public', async () => {
    const id = await create(true);
    const refusal = { status: 409, body: { message: expect.stringContaining('are public') as string } };
    expect(await make(id, { port: 3000 })).toMatchObject(refusal);
    expect(await revoke(id)).toMatchObject(refusal);
  });

  it('of the sandbox of another tenant, or of none, is not found, and not revoked', async () => {
    const id = await create();
    const made = (await make(id, { port: 3000 })).body as Made;
    expect((await make(id, { port: 3000 }, theirs)).status).toBe(404);
    expect((await revoke(id, theirs)).status).toBe(404);
    expect((await make('nothing', { port: 3000 })).status).toBe(404);
    expect(await check(id, made)).toBe('valid');
  });

  it('is not there for a claim that only seems to be of the API', async () => {
    const name = 'lookalike';
    const metadata = { namespace: NAMESPACE, name, annotations: { [annotations.trafficTokenHash]: 'ab' } };
    const spec = { warmPoolRef: { name: 'base' } };
    await stack.client.create(sandboxClaims, { metadata: { ...metadata, labels: { [labels.sandboxId]: 'x' } }, spec });
    expect((await make(name, { port: 3000 })).status).toBe(404);
  });

  it('counts against the rate of creates', async () => {
    const id = await create();
    const slow = await stack.key({ namespace: NAMESPACE, limits: { createsPerSecond: 1 } });
    const answers = await Promise.all(Array.from({ length: 30 }, () => make(id, { port: 3000 }, slow)));
    expect(answers.map(({ status }) => status)).toContain(429);
  });
});

describe('an installation without a domain', () => {
  it('refuses previews', async () => {
    const id = await create();
    await using single = await stack.api();
    const answer = await single.call(`POST /api/v1/claims/${id}/previews`, { key, body: { port: 3000 } });
    expect(answer).toMatchObject({ status: 403, body: { message: expect.stringContaining('domain') as string } });
  });
});

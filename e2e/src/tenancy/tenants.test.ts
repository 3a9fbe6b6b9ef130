import { sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, isNotFound, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox, SandboxNotFoundError } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/team.ts';
import { readAccess, openSandbox } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { callApi } from '../support/security/tenants.ts';

const WHOSE = `mine-${process.pid}`;

/** A sandbox of the first tenant, and the access of the second tenant, who knows its id. */
let mine: Sandbox & AsyncDisposable;
let stranger: Access;
let client: KubeClient;
beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  mine = await openSandbox({ metadata: { whose: WHOSE } });
  stranger = await readAccess('E2B_API_KEY_2');
  await mine.files.write('private.txt', 'private');
});
afterAll(async () => {
  await mine[Symbol.asyncDispose]();
  await client.close();
});

describe('a sandbox of another tenant', () => {
  it('is in no list of another tenant', async () => {
    const own = await Sandbox.list({
      ...(await readAccess()),
      query: { metadata: { whose: WHOSE } },
    }).nextItems();
    expect(own.map(({ sandboxId }) => sandboxId)).toEqual([mine.sandboxId]);
    const all: string[] = [];
    const pages = Sandbox.list(stranger);
    while (pages.hasNext) all.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
    expect(all).not.toContain(mine.sandboxId);
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ['read', (id) => Sandbox.getInfo(id, stranger)],
    ['connected to', (id) => Sandbox.connect(id, stranger)],
    ['extended', (id) => Sandbox.setTimeout(id, 1_000, stranger)],
    ['paused', (id) => Sandbox.pause(id, stranger)],
    ['measured', (id) => Sandbox.getMetrics(id, stranger)],
  ])('cannot be %s', async (_, attempt) => {
    await expect(attempt(mine.sandboxId)).rejects.toThrow(SandboxNotFoundError);
    expect((await mine.getInfo()).state).toBe('running');
  });

  it('cannot be killed', async () => {
    expect(await Sandbox.kill(mine.sandboxId, stranger)).toBe(false);
    expect(await mine.isRunning()).toBe(true);
  });

  it('cannot be reached with the token of another sandbox', async () => {
    await using own = await openSandbox(stranger);
    const token: unknown = Reflect.get(own, 'envdAccessToken');
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const disguised = new Sandbox({
      ...stranger,
      sandboxId: mine.sandboxId,
      envdVersion: '0.6.4',
      envdAccessToken: String(token),
    });
    await expect(disguised.commands.run('cat private.txt')).rejects.toThrow(/401|unauthenticated|access token/i);
    await expect(disguised.files.read('private.txt')).rejects.toThrow();
    await expect(disguised.files.list('/')).rejects.toThrow();
    expect(await mine.files.read('private.txt')).toBe('private');
  });

  it('has a daemon that refuses requests past the gateway without its token', async () => {
    const { status } = await client.get(sandboxClaims, { namespace: 'tenant-a', name: mine.sandboxId });
    // From the node, which network policies let through.
    const daemon = `http://${status?.sandbox?.podIPs?.[0] ?? ''}:49983`;
    expect((await fetch(`${daemon}/health`)).status).toBe(204);
    const json = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' };
    const guess = { ...json, headers: { ...json.headers, 'X-Access-Token': '0'.repeat(64) } };
    for (const [path, asked] of [
      ['/files?path=private.txt', {}],
      ['/envs', {}],
      ['/process.Process/List', json],
      ['/init', json],
      ['/init', guess],
    ] as const) {
      expect([path, (await fetch(daemon + path, asked)).status]).toEqual([path, 401]);
    }
  });

  it.each([49_983, 8888])('cannot be reached from another sandbox past the gateway on port %d', async (port) => {
    const { status } = await client.get(sandboxClaims, { namespace: 'tenant-a', name: mine.sandboxId });
    const address = status?.sandbox?.podIPs?.[0] ?? '';
    expect(address).toMatch(/^\d+\./);
    await using own = await openSandbox(stranger);
    const curl = `curl --silent --output /dev/null --write-out '%{http_code}' --max-time 3 http://${address}:${port}/`;
    expect((await own.commands.run(`${curl} || true`)).stdout).toBe('000');
  });

  it('refuses the agent-sandbox API, which has no tokens, even from the node', async () => {
    const { status } = await client.get(sandboxClaims, { namespace: 'tenant-a', name: mine.sandboxId });
    // From the node, which network policies let through.
    const runtime = `http://${status?.sandbox?.podIPs?.[0] ?? ''}:8888`;
    expect((await fetch(runtime)).status).toBe(200);
    const execute = { method: 'POST', body: JSON.stringify({ command: 'cat private.txt' }) };
    for (const [path, asked] of [
      ['/execute', execute],
      ['/download/private.txt', {}],
      ['/list/', {}],
      ['/exists/private.txt', {}],
    ] as const) {
      const answer = await fetch(runtime + path, asked);
      expect([path, answer.status]).toEqual([path, 403]);
      expect(await answer.text()).toContain('not used by the agent-sandbox API');
    }
  });

  it('keeps its traffic when another tenant creates a claim with its id by kubectl', async () => {
    const key = { namespace: 'tenant-b', name: mine.sandboxId };
    const metadata = { ...key, labels: { 'sandlot.dev/sandbox-id': mine.sandboxId } };
    await client.create(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'base' } } });
    try {
      await eventually('the claim with the same id is served', async () => {
        const { status } = await client.get(sandboxClaims, key);
        return (status?.readyReplicas ?? 0) > 0 ? true : undefined;
      });
      expect(await mine.files.read('private.txt')).toBe('private');
      expect((await mine.getInfo()).metadata['whose']).toBe(WHOSE);
      // The stranger now has a sandbox with that id, and its token. Requests still go to the older one, whose token differs.
      const namesake = await eventually('the API returns the claim with the same id', () =>
        Sandbox.connect(mine.sandboxId, stranger),
      );
      await expect(namesake.files.read('private.txt')).rejects.toThrow();
      await expect(namesake.commands.run('cat private.txt')).rejects.toThrow('401');
      expect(await namesake.kill()).toBe(true);
    } finally {
      await client.delete(sandboxClaims, key).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
    expect(await mine.isRunning()).toBe(true);
    expect(await mine.files.read('private.txt')).toBe('private');
  });
});

describe('a sandbox of its own', () => {
  it('obeys a key in all that the key cannot do with the sandbox of another tenant', async () => {
    await using first = await openSandbox(stranger);
    await using second = await openSandbox(stranger);
    const calls: readonly (readonly [request: string, status: number, body?: object])[] = [
      ['GET /sandboxes/{id}', 200],
      ['GET /sandboxes/{id}/metrics', 200],
      ['GET /api/v1/claims/{id}', 200],
      ['POST /sandboxes/{id}/timeout', 204, { timeout: 600 }],
      ['POST /sandboxes/{id}/connect', 200, { timeout: 1 }],
      ['PUT /sandboxes/{id}/network', 204, {}],
      ['POST /sandboxes/{id}/pause', 204, {}],
      ['DELETE /sandboxes/{id}', 204],
    ];
    for (const [request, status, body] of calls) {
      const reply = await callApi(request.replace('{id}', first.sandboxId), stranger.apiKey, body);
      expect([request, reply.status]).toEqual([request, status]);
    }
    const path = `/api/v1/claims/${second.sandboxId}`;
    expect((await callApi(`GET ${path}?namespace=tenant-b`, stranger.apiKey)).status).toBe(200);
    expect((await callApi('GET /api/v1/claims?namespace=tenant-b', stranger.apiKey)).status).toBe(200);
    expect((await callApi(`DELETE ${path}?namespace=tenant-b`, stranger.apiKey)).status).toBe(204);
  });
});

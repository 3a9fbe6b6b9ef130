import { annotations, formatStoredEnvsName, labels, sandboxClaims, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxClaim, SandboxSnapshot } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { Sandbox, ServiceBusyError } from 'e2b';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ENVS_NAMESPACE, Stack } from '../../../test/stack.ts';
import type { ApiUnderTest } from '../../../test/stack.ts';

const NAMESPACE = 'team-a';

let stack: Stack;
let api: ApiUnderTest;
let apiKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  api = await stack.api({ SNAPSHOTS_ENABLED: 'true', CREATE_TIMEOUT: '8s' });
  apiKey = await makeKey({ namespace: NAMESPACE });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});
afterEach(async () => {
  Object.assign(stack.snapshots, { busy: undefined, failure: undefined });
  stack.standIn.restores = () => 'ready';
  for (const { metadata } of await listClaims()) {
    await stack.client.delete(sandboxClaims, { namespace: NAMESPACE, name: metadata.name ?? '' });
  }
});

const connection = (key = apiKey) => ({ apiKey: key, apiUrl: api.url, sandboxUrl: api.url });
const listClaims = async (): Promise<readonly SandboxClaim[]> =>
  (await stack.client.listAll(sandboxClaims, { namespace: NAMESPACE })).items;
const listSnapshots = async (): Promise<readonly SandboxSnapshot[]> =>
  (await stack.client.listAll(sandboxSnapshots, { namespace: NAMESPACE })).items;
const getClaim = (name: string) => stack.client.get(sandboxClaims, { namespace: NAMESPACE, name });
const fork = (id: string, body: unknown = {}, key = apiKey) => api.call(`POST /sandboxes/${id}/fork`, { key, body });
const isSandbox = (found: Sandbox | Error): found is Sandbox => found instanceof Sandbox;
const source = (options: object = {}, template = 'memory', key = apiKey): Promise<Sandbox> =>
  Sandbox.create(template, { ...connection(key), timeoutMs: 300_000, ...options });

/** A key that the replica knows. */
async function makeKey(input: Parameters<Stack['key']>[0]): Promise<string> {
  const key = await stack.key(input);
  while ((await api.call('GET /sandboxes', { key })).status !== 200) continue;
  return key;
}

/** Waits until there are so many claims besides that of the source. */
async function waitForForks(count: number): Promise<readonly SandboxClaim[]> {
  for (;;) {
    const forks = (await listClaims()).filter(({ metadata }) => metadata.annotations?.[annotations.forkedTemplate]);
    if (forks.length === count) return forks;
  }
}

/** From the request for the claim to this moment. */
function getLifetimeMs({ metadata }: SandboxClaim, end = ''): number {
  return Date.parse(end) - Date.parse(metadata.annotations?.[annotations.createdAt] ?? '');
}

/** The values that the API stored for a sandbox. */
async function readEnvs(id: string): Promise<Record<string, string>> {
  const claim = await getClaim(id);
  const { data = {} } = await stack.client.get(secrets, {
    namespace: ENVS_NAMESPACE,
    name: formatStoredEnvsName(claim),
  });
  const value = (key = ''): string => Buffer.from(data[key] ?? '', 'base64').toString();
  return Object.fromEntries(
    (claim.spec.envs ?? []).map(({ name, valueFrom }) => [name, value(valueFrom?.secretKeyRef.key)]),
  );
}

describe('forks of the stock e2b client', () => {
  it('are sandboxes of their own with the metadata, variables, template and egress of the source', async () => {
    const parent = await source({
      metadata: { user: 'ana', 'label:job': 'x' },
      envs: { A: '1', B: 'zwei' },
      allowInternetAccess: false,
      network: { allowPublicTraffic: false },
    });
    const before = await parent.getInfo();
    const found = await parent.fork({ count: 3, timeoutMs: 60_000 });
    expect(found.filter(isSandbox)).toHaveLength(3);
    const parentClaim = await getClaim(parent.sandboxId);
    const ids = new Set([parent.sandboxId]);
    for (const child of found.filter(isSandbox)) {
      ids.add(child.sandboxId);
      const info = await child.getInfo();
      expect(info).toMatchObject({
        templateId: 'memory',
        state: 'running',
        metadata: { user: 'ana', 'label:job': 'x' },
      });
      const livesMs = info.endAt.getTime() - info.startedAt.getTime();
      expect([livesMs >= 60_000, livesMs <= 65_000]).toEqual([true, true]);
      expect(await readEnvs(child.sandboxId)).toEqual({ A: '1', B: 'zwei' });
      const { metadata } = await getClaim(child.sandboxId);
      expect(metadata.labels).toMatchObject({ job: 'x', [labels.sandboxId]: child.sandboxId });
      const { network, networkApplied, trafficTokenHash } = annotations;
      expect(metadata.annotations?.[network]).toBe(parentClaim.metadata.annotations?.[network]);
      expect(metadata.annotations?.[networkApplied]).toBe(parentClaim.metadata.annotations?.[network]);
      // A token of the source opens no fork.
      expect(metadata.annotations?.[trafficTokenHash]).toMatch(/^[0-9a-f]{64}$/);
      expect(metadata.annotations?.[trafficTokenHash]).not.toBe(parentClaim.metadata.annotations?.[trafficTokenHash]);
      expect(child.trafficAccessToken).not.toBe(parent.trafficAccessToken);
      const rules = { key: apiKey, body: { allowOut: ['1.1.1.1'] } };
      const message =
        'the egress rules of a fork stay as they are: the template that they narrow was there for its start alone';
      const refused = await api.call(`PUT /sandboxes/${child.sandboxId}/network`, rules);
      expect(refused).toMatchObject({ status: 400, body: { message } });
    }
    expect(ids.size).toBe(4);
    expect(await parent.getInfo()).toMatchObject({ state: 'running', endAt: before.endAt });
    expect(await listSnapshots()).toEqual([]);
    const bodies = (await fork(parent.sandboxId)).body as readonly { sandbox: { envdAccessToken: string } }[];
    const own = (await api.call(`GET /sandboxes/${parent.sandboxId}`, { key: apiKey })).body;
    expect(bodies).toHaveLength(1);
    expect(bodies[0]?.sandbox.envdAccessToken).not.toBe((own as { envdAccessToken: string }).envdAccessToken);
  });

  it('are saved once, and no list and no name leads to what they start from', async () => {
    const parent = await source();
    stack.standIn.restores = () => 'silent';
    const forking = fork(parent.sandboxId, { count: 2 });
    const [one, two] = await waitForForks(2);
    const saved = await listSnapshots();
    expect(saved).toHaveLength(1);
    const name = saved[0]?.metadata.name ?? '';
    expect([one?.spec.sandboxTemplateRef, two?.spec.sandboxTemplateRef]).toEqual([{ name }, { name }]);
    expect((await api.call('GET /snapshots', { key: apiKey })).body).toEqual([]);
    const listed = (await api.call('GET /templates', { key: apiKey })).body as readonly { templateID: string }[];
    expect(listed.map(({ templateID }) => templateID)).not.toContain(name);
    for (const request of [`GET /templates/${name}`, `GET /templates/aliases/${name}`, `DELETE /templates/${name}`])
      expect((await api.call(request, { key: apiKey })).status).toBe(404);
    const reply = await api.call('POST /v2/sandboxes', { key: apiKey, body: { templateID: name } });
    expect(reply.status).toBe(404);
    await forking;
  });

  it('fail one by one: the others are usable, and nothing of the failed is left', async () => {
    const parent = await source();
    let count = 0;
    stack.standIn.restores = () => ((count += 1) === 2 ? 'failed' : 'ready');
    const found = await parent.fork({ count: 5 });
    expect(found.filter(isSandbox)).toHaveLength(4);
    const [failure] = found.filter((entry): entry is Error => !isSandbox(entry));
    expect(failure).toBeInstanceOf(ServiceBusyError);
    expect(failure?.message).toContain('no node has its fingerprint');
    expect(await listClaims()).toHaveLength(5);
    expect(await listSnapshots()).toEqual([]);
  });

  it('that are too slow become errors 504, and go', async () => {
    const parent = await source();
    let count = 0;
    stack.standIn.restores = () => ((count += 1) === 1 ? 'silent' : 'ready');
    const { status, body } = await fork(parent.sandboxId, { count: 2 });
    expect(status).toBe(201);
    const codes = (body as readonly { error?: { code: number } }[]).map(({ error }) => error?.code);
    expect(codes.toSorted()).toEqual([504, undefined]);
    expect(await listClaims()).toHaveLength(2);
    expect(await listSnapshots()).toEqual([]);
  });

  it('pause at their end if the source does, once a client has their id', async () => {
    const parent = await source({ lifecycle: { onTimeout: 'pause', autoResume: true } });
    const [child] = (await parent.fork({ timeoutMs: 120_000 })).filter(isSandbox);
    expect((await child?.getInfo())?.lifecycle).toEqual({ onTimeout: 'pause', autoResume: true });
    const claim = await getClaim(child?.sandboxId ?? '');
    expect(claim.spec.lifecycle?.shutdownTime).toBeUndefined();
    expect(getLifetimeMs(claim, claim.metadata.annotations?.[annotations.endAt])).toBeGreaterThanOrEqual(120_000);
  });
});

describe('a save whose replica dies', () => {
  it('for a fork leaves claims that end, also where the source pauses, and a snapshot that ends', async () => {
    const parent = await source({ lifecycle: { onTimeout: 'pause' } });
    stack.standIn.restores = () => 'silent';
    const forking = fork(parent.sandboxId, { timeout: 20 });
    const [claim] = await waitForForks(1);
    const { shutdownTime, shutdownPolicy } = claim?.spec.lifecycle ?? {};
    expect(shutdownPolicy).toBe('Delete');
    expect(claim === undefined ? undefined : getLifetimeMs(claim, shutdownTime)).toBeLessThanOrEqual(29_000);
    const [snapshot] = await listSnapshots();
    expect(snapshot?.spec).toMatchObject({ whenSaved: 'Resume', ttlSeconds: 300 });
    await forking;
  });

  it.each(['fork', 'snapshot'])('leaves a %s that was never saved, which another replica deletes', async (kind) => {
    const metadata = {
      namespace: NAMESPACE,
      name: `left-${kind}`,
      labels: { [labels.e2bSnapshot]: kind },
      annotations: { [annotations.createdAt]: '2026-01-01T00:00:00.000Z' },
    };
    stack.snapshots.busy = { reason: 'NodeBusy', message: 'two saves run' };
    await stack.client.create(sandboxSnapshots, { metadata, spec: { sandboxName: 'gone' } });
    while ((await listSnapshots())[0]?.status === undefined) continue;
    await using other = await stack.api({ SNAPSHOTS_ENABLED: 'true' });
    while ((await listSnapshots()).length > 0) await other.call('GET /health');
  });
});

describe('a fork that is refused', () => {
  it('begins nothing', async () => {
    const [plain, disk, paused] = [await source({}, 'base'), await source({}, 'memory-and-disk'), await source()];
    await paused.pause();
    const few = await makeKey({ namespace: NAMESPACE, limits: { sandboxes: 3 } });
    const other = await makeKey({ namespace: 'team-b' });
    const parent = await source({}, 'memory', few);
    const id = parent.sandboxId;
    const rows: readonly (readonly [string, object, string, number, string])[] = [
      [id, { count: 0 }, apiKey, 400, 'Count must be at least 1'],
      [id, { count: 101 }, apiKey, 400, 'Count cannot be greater than 100'],
      [id, { count: 100 }, apiKey, 400, 'Count must be lower than the maximum number of concurrent sandboxes (100)'],
      [id, { count: 3 }, few, 400, 'Count must be lower than the maximum number of concurrent sandboxes (3)'],
      [id, { timeout: 0 }, apiKey, 400, 'timeout: expected more than 0 seconds, got 0'],
      [id, {}, other, 404, `sandbox '${id}' was not found`],
      ['nonesuch', {}, apiKey, 404, "sandbox 'nonesuch' was not found"],
      [
        paused.sandboxId,
        {},
        apiKey,
        409,
        `Sandbox '${paused.sandboxId}' is paused and cannot be forked; resume it first`,
      ],
      [
        plain.sandboxId,
        {},
        apiKey,
        400,
        "fork needs memory snapshots, and memory snapshots need the gVisor runtime; template 'base' runs without it",
      ],
      [
        disk.sandboxId,
        {},
        apiKey,
        400,
        "sandbox with disk 'work' cannot be forked: this installation does not copy disks",
      ],
    ];
    for (const [sandbox, body, key, status, message] of rows)
      expect(await fork(sandbox, body, key)).toMatchObject({ status, body: { message } });
    expect(await listSnapshots()).toEqual([]);
    expect(await listClaims()).toHaveLength(4);
  });

  it('for more sandboxes than its key may still have is refused whole, and its places are free again', async () => {
    const few = await makeKey({ namespace: NAMESPACE, limits: { sandboxes: 4, createsPerSecond: 0 } });
    const [parent, extra] = [await source({}, 'memory', few), await source({}, 'memory', few)];
    const refused = await fork(parent.sandboxId, { count: 3 }, few);
    expect(refused.status).toBe(429);
    expect((refused.body as { message: string }).message).toContain('4 sandboxes at a time');
    expect(await listSnapshots()).toEqual([]);
    const served = await fork(parent.sandboxId, { count: 2 }, few);
    expect((served.body as readonly { sandbox?: object }[]).filter(({ sandbox }) => sandbox)).toHaveLength(2);
    await extra.kill();
    expect((await fork(parent.sandboxId, { count: 1 }, few)).status).toBe(201);
  });

  it('counts each fork against the rate of its key', async () => {
    const slow = await makeKey({ namespace: NAMESPACE, limits: { createsPerSecond: 3 } });
    const parent = await source({}, 'memory', slow);
    // Forks that are being made give the rate time to recover, however slow the machine is; a save that waits does not.
    stack.snapshots.busy = { reason: 'Saving', message: 'Node n saves Pod p' };
    const first = fork(parent.sandboxId, { count: 50 }, slow);
    while ((await listSnapshots())[0]?.status === undefined) continue;
    expect((await fork(parent.sandboxId, {}, slow)).status).toBe(429);
    stack.snapshots.failure = { reason: 'SaveFailed', message: 'as the controller says' };
    await stack.snapshots.finish();
    expect((await first).status).toBe(500);
  });

  it('while the sandbox is saved for another request gets 409, and a save that fails leaves nothing', async () => {
    const parent = await source();
    stack.snapshots.busy = { reason: 'Saving', message: 'Node n saves Pod p' };
    const first = fork(parent.sandboxId, { count: 2 });
    while ((await listSnapshots())[0]?.status === undefined) continue;
    const second = await fork(parent.sandboxId);
    const message = `sandbox '${parent.sandboxId}' is being forked; try again`;
    expect(second).toMatchObject({ status: 409, body: { message } });
    const failed = await first;
    expect([failed.status, failed.headers.get('should-retry')]).toEqual([503, 'false']);
    expect(await listSnapshots()).toEqual([]);
    expect(await listClaims()).toHaveLength(1);
  });
});

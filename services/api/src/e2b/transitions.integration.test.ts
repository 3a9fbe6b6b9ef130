// Pauses, resumes and saves of one sandbox by two replicas, and pauses that fail.
import { annotations, formatRfc3339, labels, sandboxClaims, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox as SandboxObject, SandboxClaim } from '@sandlot/api-types';
import { systemClock } from '@sandlot/std';
import { Sandbox } from 'e2b';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const NAMESPACE = 'team-a';
const SAVES_MEMORY = { SNAPSHOTS_ENABLED: 'true', CREATE_TIMEOUT: '8s', TRANSITION_TIMEOUT: '8s' };

let stack: Stack;
let replicas: readonly [ApiUnderTest, ApiUnderTest];
let apiKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  replicas = [await stack.api(SAVES_MEMORY), await stack.api(SAVES_MEMORY)];
  apiKey = await stack.key({ namespace: NAMESPACE });
  for (const api of replicas) while ((await api.call('GET /sandboxes', { key: apiKey })).status !== 200) continue;
});
afterAll(async () => {
  for (const api of replicas) await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});
afterEach(() => {
  Object.assign(stack.snapshots, { busy: undefined, failure: undefined });
  stack.standIn.held = false;
});

const create = (options: object = {}): Promise<Sandbox> =>
  Sandbox.create('memory', {
    apiKey,
    apiUrl: replicas[0].url,
    sandboxUrl: replicas[0].url,
    timeoutMs: 300_000,
    ...options,
  });
const getClaim = (name: string): Promise<SandboxClaim> =>
  stack.client.get(sandboxClaims, { namespace: NAMESPACE, name });
const post = (api: ApiUnderTest, path: `${string}/${string}`, body: object = {}) =>
  api.call(`POST /sandboxes/${path}`, { key: apiKey, body });
const countStatuses = (replies: readonly { readonly status: number }[]) =>
  replies.map(({ status }) => status).toSorted((a, b) => a - b);

async function getSandbox(id: string): Promise<SandboxObject> {
  const { status } = await getClaim(id);
  return stack.client.get(sandboxes, { namespace: NAMESPACE, name: status?.sandbox?.name ?? '' });
}

const NO_SPACE = { reason: 'HibernationFailed', message: 'the disk of the node is full' };

/** Waits until the Sandbox is to be suspended, and says in place of its controller that its memory could not be saved. */
async function refuseToHibernate(id: string): Promise<void> {
  await setCondition(id, 'Suspended', { type: 'Suspended', status: 'False', ...NO_SPACE });
}

/** Writes the claim's Ready in place of the claim-controller. */
async function setClaimReady(name: string, state: 'True' | 'False'): Promise<void> {
  const lastTransitionTime = formatRfc3339(systemClock.now());
  const condition = { type: 'Ready', status: state, reason: 'Test', message: '', lastTransitionTime };
  const status = { conditions: [condition] };
  await stack.client.mergePatch(sandboxClaims, { namespace: NAMESPACE, name }, { status }, { subresource: 'status' });
}

/** Waits for the mode, and writes the condition in place of the controller. */
async function setCondition(id: string, mode: 'Running' | 'Suspended', condition: object): Promise<void> {
  for (;;) {
    const { metadata, spec } = await getSandbox(id);
    if (spec.operatingMode !== mode) continue;
    const lastTransitionTime = formatRfc3339(systemClock.now());
    const seen = { observedGeneration: metadata.generation ?? 0, lastTransitionTime };
    const status = { conditions: [{ ...condition, ...seen }] };
    const key = { namespace: NAMESPACE, name: metadata.name ?? '' };
    await stack.client.mergePatch(sandboxes, key, { status }, { subresource: 'status' });
    return;
  }
}

describe('two replicas', () => {
  it.each([
    [
      ['snapshots', 'snapshots'],
      [201, 409],
    ],
    [
      ['snapshots', 'fork'],
      [201, 409],
    ],
    [
      ['fork', 'fork'],
      [201, 409],
    ],
  ] as const)('save a sandbox once when %j come at the same time', async (actions, statuses) => {
    const { sandboxId, kill } = bind(await create());
    const replies = await Promise.all(
      actions.map((action, index) => post(replicas[index === 0 ? 0 : 1], `${sandboxId}/${action}`)),
    );
    expect(countStatuses(replies)).toEqual(statuses);
    const refused = replies.find(({ status }) => status === 409)?.body as { message: string };
    expect(refused.message).toMatch(/^sandbox '\w+' is being (snapshotted|forked); try again$/);
    await kill();
  });

  it('pause a sandbox once, and never while the other saves it', async () => {
    const { sandboxId, kill } = bind(await create());
    const both = await Promise.all(replicas.map((api) => post(api, `${sandboxId}/pause`)));
    expect(countStatuses(both)).toEqual([204, 409]);
    expect((await replicas[1].call(`POST /v2/sandboxes/${sandboxId}/connect`, { key: apiKey, body: {} })).status).toBe(
      201,
    );
    const [paused, saved] = await Promise.all([
      post(replicas[0], `${sandboxId}/pause`),
      post(replicas[1], `${sandboxId}/snapshots`),
    ]);
    expect([
      [204, 409],
      [409, 201],
    ]).toContainEqual([paused.status, saved.status]);
    await kill();
  });

  it('refuse nothing that comes after the end of what the other did', async () => {
    const { sandboxId, kill } = bind(await create());
    const [one, other] = replicas;
    for (const [api, action, status] of [
      [one, 'snapshots', 201],
      [other, 'snapshots', 201],
      [one, 'fork', 201],
      [other, 'pause', 204],
      [one, 'connect', 201],
      [other, 'pause', 204],
      [one, 'resume', 201],
      [other, 'snapshots', 201],
    ] as const)
      expect([action, (await post(api, `${sandboxId}/${action}`, { timeout: 60 })).status]).toEqual([action, status]);
    await kill();
  });
});

/** The id, and a kill for the end of a test. */
function bind(sandbox: Sandbox): { readonly sandboxId: string; readonly kill: () => Promise<boolean> } {
  return { sandboxId: sandbox.sandboxId, kill: () => sandbox.kill() };
}

/** Whether the save is in the hands of its controller, or the pause in those of another. */
async function isUnderWay(id: string): Promise<boolean> {
  const labelSelector = `${labels.sandboxId}=${id}`;
  const { items } = await stack.client.list(sandboxSnapshots, { namespace: NAMESPACE, labelSelector });
  const isSaving = items.some(({ status }) => status?.phase === 'Pending');
  return isSaving || (await getSandbox(id)).spec.operatingMode === 'Suspended';
}

describe('a kill', () => {
  it('wins over a save and over a pause', async () => {
    for (const action of ['snapshots', 'pause']) {
      const { sandboxId, kill } = bind(await create());
      stack.snapshots.busy = { reason: 'Saving', message: 'Node n saves Pod p' };
      stack.standIn.held = true;
      const begun = post(replicas[0], `${sandboxId}/${action}`);
      while (!(await isUnderWay(sandboxId))) continue;
      expect(await kill()).toBe(true);
      await stack.snapshots.finish();
      stack.standIn.held = false;
      expect([201, 404]).toContain((await begun).status);
      // The other replica learns of the kill by its watch, a moment later.
      const details = () => replicas[1].call(`GET /sandboxes/${sandboxId}`, { key: apiKey });
      await expect.poll(async () => (await details()).status, { timeout: 20_000 }).toBe(404);
    }
  });
});

describe('a client that disconnects', () => {
  it('ends neither a save nor a pause', async () => {
    const { sandboxId, kill } = bind(await create());
    const leave = async (action: string, isBegun: () => Promise<boolean>): Promise<void> => {
      const gone = new AbortController();
      const url = `${replicas[0].url}/sandboxes/${sandboxId}/${action}`;
      const left = fetch(url, { method: 'POST', headers: { 'X-API-KEY': apiKey }, signal: gone.signal });
      while (!(await isBegun())) continue;
      gone.abort();
      await expect(left).rejects.toThrow();
    };
    stack.snapshots.busy = { reason: 'Saving', message: 'Node n saves Pod p' };
    const isSaved = async () =>
      (await getSandbox(sandboxId)).metadata.annotations?.[annotations.transition] !== undefined;
    await leave('snapshots', () => isUnderWay(sandboxId));
    while ((await stack.snapshots.finish(), await isSaved())) continue;
    const listed = await replicas[1].call(`GET /snapshots?sandboxID=${sandboxId}`, { key: apiKey });
    expect(listed.body).toHaveLength(1);
    stack.standIn.held = true;
    await leave('pause', async () => (await getSandbox(sandboxId)).spec.operatingMode === 'Suspended');
    await refuseToHibernate(sandboxId);
    // Only the request that is left without its client resumes it.
    while ((await getSandbox(sandboxId)).spec.operatingMode !== 'Running') continue;
    await kill();
  });
});

describe('a pause that another client undoes', () => {
  it('is answered at once, and the sandbox keeps the end that it had', async () => {
    const { sandboxId, kill } = bind(await create());
    const before = await getClaim(sandboxId);
    stack.standIn.held = true;
    const pausing = post(replicas[0], `${sandboxId}/pause`);
    while ((await getSandbox(sandboxId)).spec.operatingMode !== 'Suspended') continue;
    const { name = '' } = (await getSandbox(sandboxId)).metadata;
    const spec = { operatingMode: 'Running' };
    await stack.client.mergePatch(sandboxes, { namespace: NAMESPACE, name }, { spec });
    const { status, body } = await pausing;
    expect([status, (body as { message: string }).message]).toEqual([
      503,
      'the sandbox was resumed while it was being paused: pause it again',
    ]);
    const after = await getClaim(sandboxId);
    expect(after.metadata.annotations?.[annotations.endAt]).toBe(before.metadata.annotations?.[annotations.endAt]);
    stack.standIn.held = false;
    await kill();
  });
});

describe('a pause that cannot save the memory', () => {
  it('leaves the sandbox with the end that it had, and answers once the next request is welcome', async () => {
    for (const lifecycle of [undefined, { onTimeout: 'pause' }] as const) {
      const { sandboxId, kill } = bind(await create({ lifecycle }));
      const before = await getClaim(sandboxId);
      stack.standIn.held = true;
      const pausing = post(replicas[0], `${sandboxId}/pause`);
      await refuseToHibernate(sandboxId);
      while ((await getSandbox(sandboxId)).spec.operatingMode !== 'Running') continue;
      const other = await post(replicas[1], `${sandboxId}/pause`);
      expect(other).toMatchObject({ status: 409, body: { message: `sandbox '${sandboxId}' is resuming; try again` } });
      expect(await Promise.race([pausing, Promise.resolve('still waiting')])).toBe('still waiting');
      await setClaimReady(sandboxId, 'False');
      await setCondition(sandboxId, 'Running', { type: 'Ready', status: 'True', reason: 'Ready', message: '' });
      // A save needs the claim, which is Ready later than its Sandbox.
      expect((await post(replicas[0], `${sandboxId}/snapshots`)).status).toBe(409);
      expect(await Promise.race([pausing, systemClock.sleep(300).then(() => 'still waiting')])).toBe('still waiting');
      await setClaimReady(sandboxId, 'True');
      const { status, body } = await pausing;
      expect((await post(replicas[0], `${sandboxId}/snapshots`)).status).toBe(201);
      expect([status, (body as { message: string }).message]).toEqual([
        503,
        'the sandbox goes on: the disk of the node is full',
      ]);
      const after = await getClaim(sandboxId);
      expect(after.spec.lifecycle?.shutdownTime).toBe(before.spec.lifecycle?.shutdownTime);
      expect(after.metadata.annotations?.[annotations.pausedRetention]).toBeUndefined();
      expect(after.metadata.annotations?.[annotations.endAt]).toBe(before.metadata.annotations?.[annotations.endAt]);
      stack.standIn.held = false;
      await kill();
    }
  });

  it('at the end of its time leaves a sandbox to which clients connect', async () => {
    const { sandboxId, kill } = bind(await create());
    const { metadata } = await getSandbox(sandboxId);
    stack.standIn.held = true;
    const spec = { operatingMode: 'Suspended' };
    await stack.client.mergePatch(sandboxes, { namespace: NAMESPACE, name: metadata.name ?? '' }, { spec });
    await refuseToHibernate(sandboxId);
    const reply = await replicas[1].call(`POST /v2/sandboxes/${sandboxId}/connect`, { key: apiKey, body: {} });
    expect(reply.status).toBe(201);
    expect((await getSandbox(sandboxId)).spec.operatingMode).toBe('Running');
    await kill();
  });
});

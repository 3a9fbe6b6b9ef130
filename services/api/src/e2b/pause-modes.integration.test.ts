// What a pause keeps, what a connect goes on with, and sandboxes whose daemon does not answer.
import { sandboxes, sandboxClaims } from '@sandlot/api-types';
import type { Sandbox as SandboxObject, SandboxClaim } from '@sandlot/api-types';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGatewayStandIn } from '../../test/gateway-stand-in.ts';
import type { GatewayStandIn } from '../../test/gateway-stand-in.ts';
import { createHibernation } from '../../test/stand-in-saves.ts';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const NAMESPACE = 'team-a';

let stack: Stack;
let gateway: GatewayStandIn;
let api: ApiUnderTest;
let apiKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  gateway = await startGatewayStandIn();
  api = await stack.api({ SNAPSHOTS_ENABLED: 'true', GATEWAY_URL: gateway.url, TRANSITION_TIMEOUT: '10s' });
  apiKey = await stack.key({ namespace: NAMESPACE });
  while ((await api.call('GET /sandboxes', { key: apiKey })).status !== 200) continue;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const create = (template: string): Promise<Sandbox> =>
  Sandbox.create(template, { apiKey, apiUrl: api.url, sandboxUrl: api.url, timeoutMs: 300_000 });
const post = (path: string, body: object = {}) => api.call(`POST ${path}`, { key: apiKey, body });
const show = async (id: string) => (await api.call(`GET /sandboxes/${id}`, { key: apiKey })).body;

describe('a pause with the stock client', () => {
  it('keeps memory where the template hibernates, and a connect goes on with it', async () => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    expect(await sandbox.pause()).toBe(true);
    expect(await show(sandboxId)).toMatchObject({ state: 'paused', pauseMode: 'full' });
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('memory');
    expect(await show(sandboxId)).not.toHaveProperty('pauseMode');
    await sandbox.kill();
  });

  it('keeps files and no memory if the client wants none, and the next pause keeps memory again', async () => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    expect(await show(sandboxId)).toMatchObject({ state: 'paused', pauseMode: 'filesystem' });
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('files');
    await sandbox.pause();
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('memory');
    await sandbox.kill();
  });

  it('keeps files alone where the template keeps no more, and refuses a client that asks for memory', async () => {
    const sandbox = await create('filer');
    const { sandboxId } = sandbox;
    const refused = await post(`/sandboxes/${sandboxId}/pause`, { memory: true });
    const message = 'memory cannot be kept: its template keeps files alone; pause with memory=false';
    expect(refused).toMatchObject({ status: 400, body: { message } });
    expect(await show(sandboxId)).toMatchObject({ state: 'running' });
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    expect(await show(sandboxId)).toMatchObject({ pauseMode: 'filesystem' });
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('files');
    await sandbox.kill();
  });

  it.each([
    [true, 'files'],
    [false, 'nothing'],
  ])('is followed by a boot if a connect wants that; files kept beside the memory: %s', async (keepsFiles, left) => {
    stack.standIn.keepsFiles = keepsFiles;
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    await sandbox.pause();
    await sandbox.connect({ onResume: 'reboot' });
    stack.standIn.keepsFiles = true;
    expect(stack.standIn.continued.get(sandboxId)).toBe(left);
    // On a running sandbox it means nothing.
    await sandbox.connect({ onResume: 'reboot' });
    expect(await show(sandboxId)).toMatchObject({ state: 'running' });
    await sandbox.kill();
  });

  it('says that files are lost which it was to keep', async () => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    stack.standIn.savesNothing = true;
    const reply = await post(`/sandboxes/${sandboxId}/pause`, { memory: false });
    stack.standIn.savesNothing = false;
    expect(reply).toMatchObject({ status: 503 });
    expect((reply.body as { message: string }).message).toContain('the files of the sandbox could not be saved');
    expect(await show(sandboxId)).toMatchObject({ state: 'paused', pauseMode: 'filesystem' });
    await sandbox.kill();
  });
});

describe('a sandbox whose daemon does not answer', () => {
  it('is paused with its memory, says so, and is resumed without it alone', async () => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    gateway.daemons.set(sandboxId, 'closed');
    expect(await sandbox.pause()).toBe(true);
    expect(await show(sandboxId)).toMatchObject({ pauseMode: 'full', envdUnresponsiveAtPause: true });
    const listed = (await api.call('GET /v2/sandboxes?state=paused', { key: apiKey })).body;
    expect(listed).toMatchObject([{ sandboxID: sandboxId, envdUnresponsiveAtPause: true }]);
    await expect(sandbox.connect()).rejects.toThrow('did not answer when its memory was saved');
    for (const path of [`/v2/sandboxes/${sandboxId}/connect`, `/sandboxes/${sandboxId}/resume`])
      expect(await post(path, { timeout: 60 })).toMatchObject({
        status: 409,
        body: { error_code: 'sandbox_snapshot_guest_agent_unresponsive' },
      });
    expect(await show(sandboxId)).toMatchObject({ state: 'paused', pauseMode: 'full' });
    gateway.daemons.delete(sandboxId);
    await sandbox.connect({ onResume: 'reboot' });
    expect(stack.standIn.continued.get(sandboxId)).toBe('files');
    expect(await show(sandboxId)).not.toHaveProperty('envdUnresponsiveAtPause');
    expect(await sandbox.pause()).toBe(true);
    expect(await show(sandboxId)).not.toHaveProperty('envdUnresponsiveAtPause');
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('memory');
    await sandbox.kill();
  });

  it.each([
    ['sleeper', { requireHealthyGuest: true }],
    ['sleeper', { memory: false }],
    ['memory', { memory: false }],
    ['memory', { requireHealthyGuest: true }],
  ])('made from %s is not paused with %j: nothing changes', async (template, body) => {
    const sandbox = await create(template);
    const { sandboxId } = sandbox;
    gateway.daemons.set(sandboxId, 'closed');
    const before = await readObjects(sandboxId);
    const reply = await post(`/sandboxes/${sandboxId}/pause`, body);
    expect(reply).toMatchObject({
      status: 503,
      body: { message: 'the sandbox was not paused: its daemon does not answer' },
    });
    expect(reply.headers.get('should-retry')).toBe('false');
    expect(await readObjects(sandboxId)).toEqual(before);
    await sandbox.kill();
  });

  it('because it hangs is found out in time', async () => {
    const sandbox = await create('sleeper');
    gateway.daemons.set(sandbox.sandboxId, 'silent');
    expect((await post(`/sandboxes/${sandbox.sandboxId}/pause`, { requireHealthyGuest: true })).status).toBe(503);
    await sandbox.kill();
  });

  it('for a moment, because it was killed, is healthy', async () => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    gateway.daemons.set(sandboxId, 'closed');
    const pausing = post(`/sandboxes/${sandboxId}/pause`, { requireHealthyGuest: true });
    while (!gateway.asked.includes(sandboxId)) await api.call('GET /health');
    gateway.daemons.delete(sandboxId);
    expect((await pausing).status).toBe(204);
    await sandbox.kill();
  });
});

describe('a daemon of which the gateway says nothing', () => {
  it('keeps only those pauses away that ask for certainty', async () => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    gateway.daemons.set(sandboxId, 'starting');
    const refused = await post(`/sandboxes/${sandboxId}/pause`, { requireHealthyGuest: true });
    expect(refused).toMatchObject({ status: 503 });
    expect((refused.body as { message: string }).message).toContain('cannot find out whether its daemon answers');
    expect((await post(`/sandboxes/${sandboxId}/pause`)).status).toBe(204);
    expect(await show(sandboxId)).not.toHaveProperty('envdUnresponsiveAtPause');
    await sandbox.kill();
  });
});

describe('a sandbox whose node is being emptied', () => {
  it.each([
    ['is being saved', 'Saving'],
    ['waits to go on from what was saved', 'Ready'],
  ] as const)('%s, and is paused although no daemon answers: a connect goes on with its memory', async (_, phase) => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    gateway.daemons.set(sandboxId, 'closed');
    const saved = { podUID: 'on-that-node', phase, keepsFiles: false };
    await createHibernation(stack.client, await readSandbox(sandboxId), saved);
    expect(await post(`/sandboxes/${sandboxId}/pause`, { requireHealthyGuest: true })).toMatchObject({ status: 503 });
    expect(await sandbox.pause()).toBe(true);
    expect(await show(sandboxId)).not.toHaveProperty('envdUnresponsiveAtPause');
    gateway.daemons.delete(sandboxId);
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('memory');
    await sandbox.kill();
  });
});

describe('a sandbox that is not Ready for a while', () => {
  const away = { status: 'False', lastTransitionTime: '2026-01-01T00:00:01Z' };
  const back = { status: 'True', lastTransitionTime: '2026-01-01T00:00:02Z' };

  it.each([
    ['resumes before the pause, and is Ready again when no daemon has answered', [away], [back]],
    ['ceases to be Ready during the pause', [], [away]],
    ['starts again during the pause', [], [away, back]],
  ])('%s: a connect goes on with its memory', async (_, before, during) => {
    const sandbox = await create('sleeper');
    const { sandboxId } = sandbox;
    for (const state of before) await setReady(sandboxId, state);
    gateway.daemons.set(sandboxId, 'closed');
    const pausing = post(`/sandboxes/${sandboxId}/pause`);
    while (!gateway.asked.includes(sandboxId)) await api.call('GET /health');
    for (const state of during) await setReady(sandboxId, state);
    expect((await pausing).status).toBe(204);
    expect(await show(sandboxId)).not.toHaveProperty('envdUnresponsiveAtPause');
    gateway.daemons.delete(sandboxId);
    await sandbox.connect();
    expect(stack.standIn.continued.get(sandboxId)).toBe('memory');
    await sandbox.kill();
  });
});

/** Gives the Sandbox another condition Ready, as the sandbox-controller does. */
async function setReady(id: string, state: { readonly status: string; readonly lastTransitionTime: string }) {
  const { metadata, status } = await readSandbox(id);
  const others = (status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  const ready = { type: 'Ready', reason: 'Test', message: '', ...state };
  const key = { namespace: NAMESPACE, name: metadata.name ?? '' };
  await stack.client.mergePatch(
    sandboxes,
    key,
    { status: { conditions: [...others, ready] } },
    { subresource: 'status' },
  );
}

const readClaim = (name: string): Promise<SandboxClaim> =>
  stack.client.get(sandboxClaims, { namespace: NAMESPACE, name });

async function readSandbox(id: string): Promise<SandboxObject> {
  const { status } = await readClaim(id);
  return stack.client.get(sandboxes, { namespace: NAMESPACE, name: status?.sandbox?.name ?? '' });
}

async function readObjects(id: string): Promise<unknown> {
  return [await readClaim(id), await readSandbox(id)];
}

import { findCondition, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox as SandboxObject, SandboxSpec } from '@sandlot/api-types';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectToCountOn, readCount, startCounter } from '../support/memory/counter.ts';
import type { Count } from '../support/memory/counter.ts';
import { patchSpec, waitForEvent, waitForPhase, waitForReadySandbox, waitForSandbox } from '../support/lifecycle.ts';
import { changeRelease } from '../support/nodes/release.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { hear, startWitness } from '../support/sdk/witness.ts';
import type { Testimony } from '../support/sdk/witness.ts';
import { callApi } from '../support/security/tenants.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** More than any disk has. */
const PETABYTE = 1e15;
const NO_SPACE = /has \d+ MiB free and a save needs \d+ MiB: delete snapshots/;

let team: Team;
let sandbox: Sandbox;
let before: Testimony;
let kept: Count;
let stopped: Count;
const stack = new AsyncDisposableStack();
const full = stack.use(new AsyncDisposableStack());

const hibernate = (onFailure: 'KeepRunning' | 'Stop'): Partial<SandboxSpec> => ({
  suspensionStrategy: { type: 'Hibernate', hibernate: { onFailure } },
});

beforeAll(async () => {
  team = stack.use(await createTeam('full-disk'));
  sandbox = stack.use(await openSandbox());
  before = await startWitness(sandbox);
  kept = await startCounter(team, 'kept', hibernate('KeepRunning'));
  stopped = await startCounter(team, 'stopped', hibernate('Stop'));
  full.use(await changeRelease({ hibernation: { node: { keepFreeBytes: PETABYTE } } }));
});
afterAll(() => stack.disposeAsync());

const getSuspended = ({ status }: SandboxObject) => findCondition(status?.conditions, 'Suspended');

/** Why the snapshot of this Sandbox has failed. */
async function readReason(name: string): Promise<string | undefined> {
  const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
  const snapshot = items.find(({ spec }) => spec.sandboxName === name);
  return findCondition(snapshot?.status?.conditions, 'Ready')?.reason;
}

async function expectWitness(): Promise<void> {
  const after = await hear(sandbox);
  expect(after).toMatchObject({ secret: before.secret, pid: before.pid, bytes: before.bytes });
  expect(after.count).toBeGreaterThan(before.count);
}

it('while the disk is full, a pause of a client answers 503 with the reason, and the sandbox goes on', async () => {
  await expect(sandbox.pause()).rejects.toThrow(NO_SPACE);
  await expectWitness();
  const { apiKey } = await readAccess();
  const { sandboxId } = sandbox;
  for (const [what, body] of [
    ['pause', {}],
    ['snapshots', {}],
    ['fork', { count: 2 }],
  ] as const) {
    const reply = await callApi(`POST /sandboxes/${sandboxId}/${what}`, apiKey, body);
    expect([what, reply.status]).toEqual([what, 503]);
    expect(reply.body).toMatch(NO_SPACE);
  }
  expect((await sandbox.getInfo()).state).toBe('running');
  await expectWitness();
});

it('while the disk is full, a Sandbox that may stop does, and says what its next start begins with', async () => {
  await patchSpec(team, 'stopped', { operatingMode: 'Suspended' });
  const { status } = await waitForPhase(team, 'stopped', 'Suspended');
  expect(status?.keeps).toBe('Volumes');
  expect((await waitForEvent(team, 'stopped', 'HibernationFailed')).note).toMatch(NO_SPACE);
  await patchSpec(team, 'stopped', { operatingMode: 'Running' });
  await waitForReadySandbox(team, 'stopped');
  const after = await eventually('its program starts anew', () => readCount(team, 'stopped'));
  expect(after.secret).not.toBe(stopped.secret);
});

it('while the disk is full, a Sandbox that may not stop goes on and says why', async () => {
  await patchSpec(team, 'kept', { operatingMode: 'Suspended' });
  const failed = await waitForSandbox(team, 'kept', (one) => getSuspended(one)?.reason === 'HibernationFailed');
  expect(getSuspended(failed)).toMatchObject({ status: 'False', message: expect.stringMatching(NO_SPACE) as string });
  expect(await readReason('kept')).toBe('NoSpace');
  await expectToCountOn(team, 'kept', kept);
});

it('once the disk has room, all of them sleep with their memory', async () => {
  await full.disposeAsync();
  expect(await sandbox.pause()).toBe(true);
  await Sandbox.connect(sandbox.sandboxId, await readAccess());
  await expectWitness();
  stopped = await readCount(team, 'stopped');
  for (const [name, count] of [
    ['kept', kept],
    ['stopped', stopped],
  ] as const) {
    // An edit makes a Sandbox try again that was to be suspended all the time.
    await patchSpec(team, name, { operatingMode: 'Running' });
    await waitForReadySandbox(team, name);
    await patchSpec(team, name, { operatingMode: 'Suspended' });
    expect((await waitForPhase(team, name, 'Suspended')).status?.keeps).toBe('Memory');
    await patchSpec(team, name, { operatingMode: 'Running' });
    await waitForReadySandbox(team, name);
    await expectToCountOn(team, name, count);
  }
});

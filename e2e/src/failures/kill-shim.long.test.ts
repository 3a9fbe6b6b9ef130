import { pods } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killDaemonIn, killDaemonLater, killShimsOf } from '../support/kill9.ts';
import { patchSpec } from '../support/lifecycle.ts';
import { isAsleep, pause, readStarts, startWriter } from '../support/memory/writer.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { readPodOf } from '../support/sdk/objects.ts';
import { hear, startWitness } from '../support/sdk/witness.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const DELAYS_MS = [10, 100, 300, 800];

let team: Team;
beforeAll(async () => {
  team = await createTeam('kill-shim');
});
afterAll(() => team[Symbol.asyncDispose]());

async function killShims(name: string): Promise<number> {
  const pod = await team.client.find(pods, { namespace: team.namespace, name });
  return pod === undefined ? 0 : killShimsOf(pod);
}

async function sleep(name: string): Promise<void> {
  await patchSpec(team, name, { operatingMode: 'Suspended' });
  await eventually('its Pod is gone', () => isAsleep(team, name));
}

/** Works with one Sandbox for each delay, all at the same time. */
async function withEach<T>(what: string, work: (name: string, delayMs: number) => Promise<T>): Promise<T[]> {
  return Promise.all(
    DELAYS_MS.map(async (delayMs) => {
      const name = `${what}-${delayMs}`;
      await startWriter(team, name);
      const done = await work(name, delayMs);
      await expectSleepKeepsMemory(name);
      return done;
    }),
  );
}

async function expectOneMoreAtMost(name: string, before: readonly string[]): Promise<void> {
  const now = await readStarts(team, name);
  expect(now.slice(0, before.length)).toEqual(before);
  expect(now.length - before.length).toBeLessThanOrEqual(1);
}

async function expectSleepKeepsMemory(name: string): Promise<void> {
  const starts = await readStarts(team, name);
  await sleep(name);
  await patchSpec(team, name, { operatingMode: 'Running' });
  expect(await readStarts(team, name)).toEqual(starts);
}

describe('kill -9 of the shims of a Pod', () => {
  // The end of its shims ends a sandbox, so a kill may cost the memory; it must not cost more than that.
  it('while it is saved leaves the Sandbox asleep, with its memory or without', async () => {
    const killed = await withEach('saved', async (name, delayMs) => {
      const starts = await readStarts(team, name);
      await patchSpec(team, name, { operatingMode: 'Suspended' });
      await pause(delayMs);
      const count = await killShims(name);
      await eventually(`the Pod of ${name} is gone`, () => isAsleep(team, name));
      await patchSpec(team, name, { operatingMode: 'Running' });
      await expectOneMoreAtMost(name, starts);
      return count;
    });
    expect(Math.max(...killed)).toBeGreaterThan(0);
  }, 600_000);

  it('while it is restored starts it from its memory or anew, and once', async () => {
    await withEach('restored', async (name, delayMs) => {
      const starts = await readStarts(team, name);
      await sleep(name);
      await patchSpec(team, name, { operatingMode: 'Running' });
      await pause(delayMs);
      await eventually(`a shim of ${name} runs`, async () => ((await killShims(name)) > 0 ? true : undefined));
      await expectOneMoreAtMost(name, starts);
    });
  }, 600_000);
});

describe('kill -9 of the daemon in a sandbox', () => {
  it('while the sandbox is saved, and as soon as it has resumed, costs neither its memory nor its daemon', async () => {
    const options = await readAccess();
    await using sandbox = await openSandbox();
    const before = await startWitness(sandbox);
    let duringSaves = 0;
    for (const delayMs of [0, 100, 200, 400]) {
      // One that comes after the save has stopped the sandbox kills the daemon when the sandbox goes on.
      const mark = `/tmp/killed-${delayMs}`;
      await killDaemonLater(sandbox, { delayMs, mark });
      const begunMs = Date.now();
      await sandbox.pause();
      const savedMs = Date.now();
      const resumed = await Sandbox.connect(sandbox.sandboxId, options);
      const { modifiedTime } = await eventually(`the daemon was killed after ${delayMs} ms`, () =>
        sandbox.files.getInfo(mark),
      );
      const killedMs = modifiedTime?.getTime() ?? 0;
      if (killedMs > begunMs && killedMs < savedMs) duringSaves += 1;
      await eventually('the daemon of the resumed sandbox is killed', async () => {
        await killDaemonIn(await readPodOf(team.client, sandbox));
        return true;
      });
      const { stdout } = await eventually('a command runs again', () => resumed.commands.run('echo again'));
      expect(stdout).toBe('again\n');
      const after = await hear(sandbox);
      expect(after, `after ${delayMs} ms`).toMatchObject({ secret: before.secret, pid: before.pid });
      expect(after.count).toBeGreaterThanOrEqual(before.count);
    }
    expect(duringSaves).toBeGreaterThan(0);
  }, 180_000);

  it('right before a pause and right after a resume costs its clients no process', async () => {
    const options = await readAccess();
    await using sandbox = await openSandbox();
    const before = await startWitness(sandbox);
    for (const round of [1, 2, 3]) {
      await killDaemonIn(await readPodOf(team.client, sandbox));
      await sandbox.pause();
      await Sandbox.connect(sandbox.sandboxId, options);
      expect(await hear(sandbox), `round ${round}`).toMatchObject({ secret: before.secret, pid: before.pid });
      await killDaemonIn(await readPodOf(team.client, sandbox));
      const { stdout } = await eventually('a command runs again', () => sandbox.commands.run('echo again'));
      expect(stdout).toBe('again\n');
      expect(await hear(sandbox)).toMatchObject({ secret: before.secret, pid: before.pid });
    }
  });
});

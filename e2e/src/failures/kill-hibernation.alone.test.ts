import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { patchSpec } from '../support/lifecycle.ts';
import { isAsleep, pause, readStarts, startWriter } from '../support/memory/writer.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** How long before the kill each Sandbox is edited, so that one kill meets several steps of a save or a restore. */
const DELAYS_MS = [20, 150, 500, 900];
const LONGEST_MS = Math.max(...DELAYS_MS);
const boxes = DELAYS_MS.map((delayMs) => ({ name: `after-${delayMs}`, delayMs }));

let team: Team;
beforeAll(async () => {
  team = await createTeam('kill-hibernation');
  await Promise.all(boxes.map(({ name }) => startWriter(team, name)));
});
afterAll(() => team[Symbol.asyncDispose]());

const readAllStarts = (): Promise<string[][]> => Promise.all(boxes.map(({ name }) => readStarts(team, name)));

async function killAfterEdits(victim: string, operatingMode: 'Running' | 'Suspended'): Promise<void> {
  await replaceRestartedPods(team.client, victim);
  const edited = boxes.map(async ({ name, delayMs }) => {
    await pause(LONGEST_MS - delayMs);
    await patchSpec(team, name, { operatingMode });
  });
  await Promise.all([...edited, pause(LONGEST_MS).then(() => killProcessesOf(team.client, victim))]);
}

describe.each(['node', 'snapshot-controller', 'sandbox-controller'])('kill -9 of %s', (victim) => {
  it('while Sandboxes are saved or restored loses no memory, and no memory goes on twice', async () => {
    const starts = await readAllStarts();
    await killAfterEdits(victim, 'Suspended');
    for (const { name } of boxes) await eventually(`the Pod of ${name} is gone`, () => isAsleep(team, name));
    await waitUntilRecovered(team.client, victim);
    await killAfterEdits(victim, 'Running');
    expect(await readAllStarts()).toEqual(starts);
    await waitUntilRecovered(team.client, victim);
  }, 600_000);
});

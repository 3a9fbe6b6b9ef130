import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { patchSpec } from '../support/lifecycle.ts';
import { isAsleep, pause, readStarts, startWriter } from '../support/memory-writer.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
beforeAll(async () => {
  team = await createTeam('kill-hibernation');
});
afterAll(() => team[Symbol.asyncDispose]());

describe.each(['node', 'snapshot-controller', 'sandbox-controller'])('kill -9 of %s', (victim) => {
  it('while a Sandbox is saved or restored loses no memory, and no memory goes on twice', async () => {
    const name = `of-${victim}`;
    await startWriter(team, name);
    const starts = await readStarts(team, name);
    for (const delayMs of [20, 150, 500]) {
      await replaceRestartedPods(team.client, victim);
      await patchSpec(team, name, { operatingMode: 'Suspended' });
      await pause(delayMs);
      await killProcessesOf(team.client, victim);
      await eventually('its Pod is gone', () => isAsleep(team, name));
      await waitUntilRecovered(team.client, victim);
      await replaceRestartedPods(team.client, victim);
      await patchSpec(team, name, { operatingMode: 'Running' });
      await pause(delayMs);
      await killProcessesOf(team.client, victim);
      expect(await readStarts(team, name)).toEqual(starts);
      await waitUntilRecovered(team.client, victim);
    }
  }, 600_000);
});

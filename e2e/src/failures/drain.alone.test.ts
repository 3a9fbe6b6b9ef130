import { findCondition } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BoxChoices } from '../support/boxes.ts';
import { drain, uncordon } from '../support/nodes/drain.ts';
import {
  RUNNING,
  createBox,
  waitForEvent,
  waitUntilOnlyDisksLeft,
  readIn,
  waitForReadySandbox,
  shown,
  listConditions,
  waitForSandbox,
} from '../support/lifecycle.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
beforeAll(async () => {
  team = await createTeam('drain');
});
afterAll(async () => {
  await uncordon(team);
  await team[Symbol.asyncDispose]();
});

const readPodNamed = (name: string): Promise<Pod> => team.client.get(pods, { namespace: team.namespace, name });

describe('a Sandbox whose node is drained', () => {
  it('shows the message of the scheduler, and is Ready with its data when the node is back', async () => {
    const labels = { 'e2e-drain': team.namespace };
    const choices: BoxChoices = { disk: 'default', labels };
    await createBox(team, 'evicted', choices);
    const before = await waitForReadySandbox(team, 'evicted');
    await team.sh('evicted', 'echo precious > /data/file && sync');
    const { uid } = (await readPodNamed('evicted')).metadata;
    await drain(team, `e2e-drain=${team.namespace}`);
    const waiting = await waitForSandbox(
      team,
      'evicted',
      ({ status }) => findCondition(status?.conditions, 'PodScheduled')?.status === 'False',
    );
    expect((await waitForEvent(team, 'evicted', 'PodEvicted')).note).toMatch(/A new one follows on the same volumes$/);
    const { metadata, status } = await readPodNamed('evicted');
    expect(metadata.uid).not.toBe(uid);
    const why = findCondition(status?.conditions, 'PodScheduled')?.message ?? '';
    expect(why).toMatch(/^0\/1 nodes are available: 1 node\(s\) were unschedulable/);
    expect(listConditions(waiting)).toEqual([
      shown.unschedulable(why),
      shown.notReady('DependenciesNotReady', 'Pod exists with phase: Pending; Service Exists'),
      shown.notSuspended,
    ]);
    expect(findCondition(waiting.status?.conditions, 'Suspended')).toEqual(
      findCondition(before.status?.conditions, 'Suspended'),
    );
    expect(waiting.status).not.toHaveProperty('podIPs');
    await uncordon(team);
    expect(listConditions(await waitForReadySandbox(team, 'evicted'))).toEqual(RUNNING);
    expect(await readIn(team, 'evicted', 'cat /data/file')).toBe('precious');
  });

  it('is deleted completely', async () => {
    await team.kubectl('delete', 'sandbox', 'evicted');
    await waitUntilOnlyDisksLeft(team);
  });
});

import { sandboxes } from '@sandlot/api-types';
import { findController, pods, services } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatDisk, endWith } from '../support/boxes.ts';
import type { BoxChoices } from '../support/boxes.ts';
import { startComponent, stopComponent } from '../support/components.ts';
import {
  RUNNING,
  SUSPENDED,
  createBox,
  listNames,
  waitUntilOnlyDisksLeft,
  patchSpec,
  readIn,
  waitForReadySandbox,
  shown,
  listConditions,
  waitForPhase,
} from '../support/lifecycle.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const RETAINED: BoxChoices = {
  disk: 'default',
  spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } },
};

let team: Team;
const buildKey = (name: string) => ({ namespace: team.namespace, name });
const readPodUid = async (name: string) => (await team.client.get(pods, buildKey(name))).metadata.uid;

/** What happens to each Sandbox while no controller runs. */
const EVENTS: Readonly<Record<string, { readonly choices?: BoxChoices; readonly happen: () => Promise<unknown> }>> = {
  suspends: { happen: () => patchSpec(team, 'suspends', { operatingMode: 'Suspended' }) },
  loses: { choices: { disk: 'default' }, happen: () => team.kubectl('delete', 'pod', 'loses') },
  ends: { happen: () => team.sh('ends', endWith(3)) },
  expires: { happen: () => patchSpec(team, 'expires', { ttlSeconds: 1 }) },
  leaves: { happen: () => patchSpec(team, 'leaves', { ttlSeconds: 1, shutdownPolicy: 'Delete' }) },
  returns: {
    choices: RETAINED,
    happen: async () => {
      await team.client.delete(sandboxes, buildKey('returns'));
      await eventually('its name is free', async () =>
        (await listNames(team, sandboxes)).includes('returns') ? undefined : true,
      );
      await createBox(team, 'returns', RETAINED);
    },
  },
};

describe('while the sandbox-controller is away', () => {
  const before = new Map<string, string | undefined>();
  beforeAll(async () => {
    team = await createTeam('away');
    const names = Object.keys(EVENTS);
    await Promise.all(names.map((name) => createBox(team, name, EVENTS[name]?.choices)));
    await Promise.all(names.map((name) => waitForReadySandbox(team, name)));
    await Promise.all(['loses', 'returns'].map((name) => team.sh(name, 'echo precious > /data/file && sync')));
    for (const name of names) before.set(name, await readPodUid(name));
    await stopComponent(team, 'sandbox-controller');
    await Promise.all([...Object.values(EVENTS).map(({ happen }) => happen()), createBox(team, 'arrives')]);
    await startComponent('sandbox-controller');
  });
  afterAll(async () => {
    await startComponent('sandbox-controller');
    await team[Symbol.asyncDispose]();
  });

  it('a suspension takes effect afterwards', async () => {
    expect(listConditions(await waitForPhase(team, 'suspends', 'Suspended'))).toEqual(SUSPENDED);
  });

  it('a deleted Pod is replaced on its disk afterwards', async () => {
    await eventually('there is another Pod', async () =>
      (await readPodUid('loses')) === before.get('loses') ? undefined : true,
    );
    expect(listConditions(await waitForReadySandbox(team, 'loses'))).toEqual(RUNNING);
    expect(await readIn(team, 'loses', 'cat /data/file')).toBe('precious');
  });

  it('the end of a container is reported afterwards', async () => {
    const ended = ['PodFailed', 'Pod failed'] as const;
    expect(listConditions(await waitForPhase(team, 'ends', 'Finished'))).toEqual([
      shown.finished(...ended),
      shown.scheduled,
      shown.notReady(...ended),
      shown.notSuspended,
    ]);
  });

  it('passed deadlines take effect afterwards, as their policies say', async () => {
    const expired = await waitForPhase(team, 'expires', 'Expired');
    expect(listConditions(expired)).toEqual([
      shown.notReady('SandboxExpired', 'Sandbox has expired'),
      shown.notSuspended,
    ]);
    await eventually('the other is deleted', async () =>
      (await listNames(team, sandboxes)).includes('leaves') ? undefined : true,
    );
  });

  it('a new Sandbox gets its Pod afterwards', async () => {
    expect(listConditions(await waitForReadySandbox(team, 'arrives'))).toEqual(RUNNING);
  });

  it('a recreated Sandbox has its own Pod and Service, and the disk of its name', async () => {
    const { metadata } = await waitForReadySandbox(team, 'returns');
    const children = await Promise.all([
      team.client.get(pods, buildKey('returns')),
      team.client.get(services, buildKey('returns')),
    ]);
    expect(children.map((child) => findController(child)?.uid)).toEqual([metadata.uid, metadata.uid]);
    expect(await readPodUid('returns')).not.toBe(before.get('returns'));
    expect(await readIn(team, 'returns', 'cat /data/file')).toBe('precious');
  });

  it('all Sandboxes can be deleted afterwards', async () => {
    await team.kubectl('delete', 'sandboxes', '--all');
    await waitUntilOnlyDisksLeft(team, [formatDisk('returns')]);
  });
});

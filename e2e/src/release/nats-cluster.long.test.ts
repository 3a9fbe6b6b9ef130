import { pods } from '@sandlot/kube';
import { expect, inject, it } from 'vitest';
import { EventRecorder } from '../support/events.ts';
import { claimManifest, formatTemplateManifest } from '../support/manifests.ts';
import { changeRelease } from '../support/nodes/release.ts';
import { waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const SERVERS = ['sandlot-nats-0', 'sandlot-nats-1', 'sandlot-nats-2'];
const CLAIMS = 8;

/** Deletes the Pod of a server without grace, and resolves with its UID. */
async function loseServer(team: Team, name: string): Promise<string> {
  const key = { namespace: inject('releaseNamespace'), name };
  const { metadata } = await team.client.get(pods, key);
  await team.client.delete(pods, key, { gracePeriodSeconds: 0 });
  return metadata.uid ?? '';
}

async function waitUntilReplaced(team: Team, name: string, uid: string): Promise<void> {
  await eventually(`another ${name} is ready`, async () => {
    const { metadata, status } = await team.client.get(pods, { namespace: inject('releaseNamespace'), name });
    const isReady = status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True');
    return metadata.uid !== uid && isReady === true ? true : undefined;
  });
}

/** How many different events say that each claim is bound. */
function countBinds({ events }: EventRecorder, names: readonly string[]): readonly number[] {
  const bound = events.filter(({ type }) => type === 'claim.bound');
  return names.map((name) => new Set(bound.filter(({ data }) => data.name === name).map(({ id }) => id)).size);
}

it('three NATS servers lose no event, and claims bind, while each of them is lost in turn', async () => {
  await using _release = await changeRelease({ nats: { replicas: 3, streamReplicas: 3 } });
  await using team = await createTeam('nats-cluster');
  await team.apply(formatTemplateManifest('box', 'image: busybox'));
  await using recorder = await EventRecorder.open(team);
  const names: string[] = [];
  for (const server of SERVERS) {
    const uid = await loseServer(team, server);
    const made = Array.from({ length: CLAIMS }, (_, index) => `${server}-${index}`);
    await team.apply(
      made.map((name) => claimManifest(name, '{sandboxTemplateRef: {name: box}, warmpool: none}')).join('---'),
    );
    await Promise.all(made.map((name) => waitForReadyClaim(team, name)));
    names.push(...made);
    await waitUntilReplaced(team, server, uid);
  }
  await expect.poll(() => countBinds(recorder, names), { timeout: 120_000, interval: 500 }).toEqual(names.map(() => 1));
});

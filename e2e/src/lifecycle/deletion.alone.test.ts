import { persistentVolumeClaims } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMPONENTS, startComponent, killComponent, stopComponent } from '../support/components.ts';
import { uncordon } from '../support/nodes/drain.ts';
import { POLICIES, createFleet } from '../support/fleet.ts';
import type { Fleet } from '../support/fleet.ts';
import { createBox, waitUntilOnlyDisksLeft, waitForReadySandbox } from '../support/lifecycle.ts';

/** How a round disturbs the deletion. Each round has its own fleet. */
const ROUNDS = ['undisturbed', ...COMPONENTS, 'killed'] as const;

const fleets = new Map<string, Fleet>();

function getFleet(round: (typeof ROUNDS)[number]): Fleet {
  const fleet = fleets.get(round);
  if (fleet === undefined) throw new Error(`no fleet for the round ${round}`);
  return fleet;
}

/** The undisturbed fleet has every scene with both policies; in the others the policies alternate by scene and round. */
beforeAll(async () => {
  await Promise.all(
    ROUNDS.map(async (round, turn) => {
      const listPolicies = (scene: number) =>
        turn === 0 ? POLICIES : POLICIES.filter((_, index) => index === (scene + turn) % 2);
      fleets.set(round, await createFleet(`deletion-${round}`, listPolicies));
    }),
  );
});
afterAll(async () => {
  await Promise.all([...fleets.values()].map((fleet) => fleet[Symbol.asyncDispose]()));
});

describe('Sandboxes that are deleted in any state', () => {
  afterAll(async () => {
    await uncordon(getFleet('undisturbed').team);
    await Promise.all(COMPONENTS.map(startComponent));
  });

  it('are deleted with their Pods and Services, and with their disks unless those are retained', async () => {
    const fleet = getFleet('undisturbed');
    await fleet.drain();
    await fleet.delete();
    await fleet.waitUntilGone();
    await uncordon(fleet.team);
  });

  it.each(COMPONENTS)('are deleted without %s, and the next Sandbox works when it is back', async (component) => {
    const fleet = getFleet(component);
    await fleet.drain();
    await stopComponent(fleet.team, component);
    await fleet.delete();
    await fleet.waitUntilGone();
    await uncordon(fleet.team);
    await startComponent(component);
    await createBox(fleet.team, 'next');
    await waitForReadySandbox(fleet.team, 'next');
    await fleet.team.kubectl('delete', 'sandbox', 'next');
    await waitUntilOnlyDisksLeft(fleet.team, fleet.retained);
  });

  it('are deleted when every component is killed right after the request', async () => {
    const fleet = getFleet('killed');
    await fleet.drain();
    await fleet.delete();
    await Promise.all(COMPONENTS.map((component) => killComponent(fleet.team, component)));
    await uncordon(fleet.team);
    await fleet.waitUntilGone();
    await Promise.all(COMPONENTS.map(startComponent));
  });

  it.each(ROUNDS)('leave only retained disks, without owner or deletion (%s)', async (round) => {
    const { team, retained } = getFleet(round);
    const { items } = await team.client.listAll(persistentVolumeClaims, { namespace: team.namespace });
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([...retained].sort());
    for (const { metadata } of items) {
      expect(metadata.ownerReferences).toBeUndefined();
      expect(metadata.deletionTimestamp).toBeUndefined();
    }
  });
});

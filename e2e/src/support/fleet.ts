import { sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { EATS_MEMORY, IGNORES_TERM, SMALL_MEMORY, formatDisk, endWith } from './boxes.ts';
import type { BoxChoices } from './boxes.ts';
import { drain } from './nodes/drain.ts';
import { createBox, waitUntilOnlyDisksLeft, patchSpec, waitForReadySandbox, waitForPhase } from './lifecycle.ts';
import { createTeam, eventually } from './team.ts';
import type { Team } from './team.ts';

/** A state in which a Sandbox stays until it is deleted. */
interface Scene {
  readonly choices: BoxChoices;
  /** Waits until the Sandbox is in this state. */
  readonly reach: (team: Team, name: string) => Promise<unknown>;
  /** Lets the Pod end after the deletion of the Sandbox. */
  readonly release?: (team: Team, name: string) => Promise<unknown>;
}

const suspended = { operatingMode: 'Suspended' } as const;

/** Waits until a container or init container of the Pod waits for one of these reasons. */
const waitsFor =
  (reasons: RegExp) =>
  (team: Team, name: string): Promise<true> =>
    eventually(`the Pod of ${name} waits: ${String(reasons)}`, async () => {
      const { status } = await team.client.get(pods, { namespace: team.namespace, name });
      const states = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
      return states.some(({ state }) => reasons.test(state?.waiting?.reason ?? '')) ? true : undefined;
    });

const SCENES: Readonly<Record<string, Scene>> = {
  starting: {
    choices: {
      pod: {
        initContainers: [{ name: 'first', image: 'busybox', command: ['sleep', 'infinity'] }],
        // Process 1 without a handler ignores SIGTERM.
        terminationGracePeriodSeconds: 1,
      },
    },
    reach: waitsFor(/PodInitializing/),
  },
  restarting: {
    choices: {
      run: EATS_MEMORY,
      container: SMALL_MEMORY,
      spec: { podFailurePolicy: { restart: 'OnFailure', backoffSeconds: 600, maxBackoffSeconds: 600 } },
    },
    reach: (team, name) => waitForPhase(team, name, 'Restarting'),
  },
  imageless: {
    choices: { container: { image: 'registry.invalid/ghost:1' } },
    reach: waitsFor(/ErrImagePull|ImagePullBackOff/),
  },
  diskless: { choices: { disk: 'no-such-class' }, reach: (team, name) => waitForPhase(team, name, 'Pending') },
  drained: { choices: { labels: { drained: 'true' } }, reach: waitForReadySandbox },
  suspending: {
    choices: { run: IGNORES_TERM, pod: { terminationGracePeriodSeconds: 3_600 } },
    reach: async (team, name) => {
      await waitForReadySandbox(team, name);
      await patchSpec(team, name, suspended);
      await waitForPhase(team, name, 'Suspending');
    },
    release: (team, name) => team.sh(name, endWith(0)),
  },
  suspended: {
    choices: {},
    reach: async (team, name) => {
      await waitForReadySandbox(team, name);
      await patchSpec(team, name, suspended);
      await waitForPhase(team, name, 'Suspended');
    },
  },
  expired: { choices: { spec: { ttlSeconds: 1 } }, reach: (team, name) => waitForPhase(team, name, 'Expired') },
};

export const POLICIES = ['Delete', 'Retain'] as const;
export type Policy = (typeof POLICIES)[number];

interface Member {
  readonly name: string;
  readonly scene: Scene;
  readonly whenDeleted: Policy;
}

/** Sandboxes in every state and with every policy, in one namespace. */
export interface Fleet extends AsyncDisposable {
  readonly team: Team;
  /** The disks that outlive their Sandboxes. */
  readonly retained: readonly string[];
  /** Brings the drained Sandboxes into their state. Call it last: no Pod starts on the node until it is uncordoned. */
  drain(): Promise<void>;
  /** Deletes all Sandboxes without waiting. */
  delete(): Promise<void>;
  /** Waits until only the retained disks are left. */
  waitUntilGone(): Promise<void>;
}

/** Creates a fleet and waits until each Sandbox is in its state. `policiesOf` returns the policies for the index of a scene. */
export async function createFleet(purpose: string, policiesOf: (scene: number) => readonly Policy[]): Promise<Fleet> {
  const team = await createTeam(purpose);
  const members = Object.entries(SCENES).flatMap(([title, scene], index) =>
    policiesOf(index).map((whenDeleted): Member => ({
      name: `${title}-${whenDeleted.toLowerCase()}`,
      scene,
      whenDeleted,
    })),
  );
  const each = async (act: (member: Member) => Promise<unknown>): Promise<void> => {
    await Promise.all(members.map(act));
  };
  const drained = members.filter(({ name }) => name.startsWith('drained-'));
  const retained = members.flatMap(({ name, whenDeleted }) => (whenDeleted === 'Retain' ? [formatDisk(name)] : []));
  await each((member) => reach(team, member));
  return {
    team,
    retained,
    drain: async () => {
      await drain(team, `fleet=${team.namespace},drained=true`);
      await Promise.all(drained.map(({ name }) => waitForPhase(team, name, 'Pending')));
    },
    delete: () => each(({ name }) => team.client.delete(sandboxes, { namespace: team.namespace, name })),
    waitUntilGone: async () => {
      await each(async ({ name, scene }) => scene.release?.(team, name));
      await waitUntilOnlyDisksLeft(team, retained);
    },
    [Symbol.asyncDispose]: () => team[Symbol.asyncDispose](),
  };
}

async function reach(team: Team, { name, scene: { choices, reach: arrive }, whenDeleted }: Member): Promise<void> {
  const labels = { ...choices.labels, fleet: team.namespace };
  const spec = { ...choices.spec, persistentVolumeClaimRetentionPolicy: { whenDeleted } };
  await createBox(team, name, { disk: 'default', ...choices, labels, spec });
  await arrive(team, name);
}

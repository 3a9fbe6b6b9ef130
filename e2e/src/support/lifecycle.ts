import { sandboxes } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Event, JsonObject, KubeObject, Resource } from '@sandlot/kube';
import { box } from './boxes.ts';
import type { BoxChoices } from './boxes.ts';
import { findReadyCondition, readSandboxNamed } from './sandboxes.ts';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

/** Creates a Sandbox without waiting. */
export function createBox(team: Team, name: string, choices: BoxChoices = {}): Promise<Sandbox> {
  return team.client.create(sandboxes, box(team.namespace, name, choices));
}

/** Patches the spec of a Sandbox. */
export function patchSpec(team: Team, name: string, spec: JsonObject): Promise<Sandbox> {
  return team.client.mergePatch(sandboxes, { namespace: team.namespace, name }, { spec });
}

/** Waits for a state of a Sandbox. The error shows its last status. */
export async function waitForSandbox(
  team: Team,
  name: string,
  isWanted: (sandbox: Sandbox) => boolean | undefined,
): Promise<Sandbox> {
  let last: Sandbox | undefined;
  try {
    return await eventually(`Sandbox ${name}`, async () => {
      last = await readSandboxNamed(team, name);
      return isWanted(last) === true ? last : undefined;
    });
  } catch (error) {
    throw new Error(`Sandbox ${name} stays as ${JSON.stringify(last?.status, undefined, 1)}`, { cause: error });
  }
}

/**
 * Returns every state of a Sandbox after `from`, up to the first wanted one. It uses a watch, which unlike polling misses no
 * short state.
 */
export async function collectStatesUntil(
  team: Team,
  from: Sandbox,
  isWanted: (sandbox: Sandbox) => boolean | undefined,
): Promise<Sandbox[]> {
  const { name = '', resourceVersion } = from.metadata;
  const states: Sandbox[] = [];
  const fieldSelector = `metadata.name=${name}`;
  const watch = { namespace: team.namespace, fieldSelector, resourceVersion, timeoutSeconds: 120 };
  for await (const event of team.client.watch(sandboxes, watch)) {
    if (event.type === 'BOOKMARK') continue;
    states.push(event.object);
    if (isWanted(event.object) === true) return states;
  }
  throw new Error(`Sandbox ${name} was only ${JSON.stringify(states.map(({ status }) => status))}`);
}

/** Whether the status belongs to the current spec. */
const isCurrent = ({ metadata, status }: Sandbox): boolean => status?.observedGeneration === metadata.generation;

export function waitForReadySandbox(team: Team, name: string): Promise<Sandbox> {
  return waitForSandbox(team, name, (sandbox) => isCurrent(sandbox) && findReadyCondition(sandbox)?.status === 'True');
}

export function waitForPhase(team: Team, name: string, phase: string): Promise<Sandbox> {
  return waitForSandbox(team, name, (sandbox) => isCurrent(sandbox) && sandbox.status?.phase === phase);
}

/** A condition without times and generation. */
export type ShownCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** The conditions of a Sandbox. Throws when one belongs to an old generation. */
export function listConditions({ metadata, status }: Sandbox): ShownCondition[] {
  return (status?.conditions ?? []).map(({ type, status: state, reason, message, observedGeneration }) => {
    if (observedGeneration !== metadata.generation) throw new Error(`${type} is about an old generation`);
    return { type, status: state, reason, message };
  });
}

const condition = (
  type: string,
  status: ShownCondition['status'],
  [reason, message]: readonly [string, string],
): ShownCondition => ({
  type,
  status,
  reason,
  message,
});

/** Conditions with their reasons and messages (docs/reference/sandbox.md#conditions). */
export const shown = {
  ready: (message: string): ShownCondition => condition('Ready', 'True', ['DependenciesReady', message]),
  notReady: (reason: string, message: string): ShownCondition => condition('Ready', 'False', [reason, message]),
  scheduled: condition('PodScheduled', 'True', ['PodScheduled', '']),
  unschedulable: (message: string): ShownCondition => condition('PodScheduled', 'False', ['Unschedulable', message]),
  suspended: condition('Suspended', 'True', ['PodTerminated', 'Pod has been terminated. Sandbox is suspended']),
  notSuspended: condition('Suspended', 'False', ['NotSuspended', 'Sandbox is not suspended']),
  suspending: condition('Suspended', 'False', ['PodTerminating', 'Pod is terminating. Sandbox is suspending']),
  finished: (reason: string, message: string): ShownCondition => condition('Finished', 'True', [reason, message]),
};

/** The conditions of a running Sandbox with a Service. */
export const RUNNING: readonly ShownCondition[] = [
  shown.scheduled,
  shown.ready('Pod is Ready; Service Exists'),
  shown.notSuspended,
];

export const SUSPENDED: readonly ShownCondition[] = [
  shown.notReady('SandboxSuspended', 'Sandbox is suspended'),
  shown.suspended,
];

/** Waits for an Event with this reason on a Sandbox. */
export function waitForEvent(team: Team, name: string, reason: string): Promise<Event> {
  return eventually(`${name} has an Event ${reason}`, async () => {
    const { items } = await team.client.listAll(events, { namespace: team.namespace });
    return items.find(
      (event) => event.regarding.kind === 'Sandbox' && event.regarding.name === name && event.reason === reason,
    );
  });
}

/** The sorted names of all objects of a kind in the team's namespace. */
export async function listNames(team: Team, resource: Resource<KubeObject>): Promise<string[]> {
  const { items } = await team.client.listAll(resource, { namespace: team.namespace });
  return items.map(({ metadata }) => metadata.name ?? '').sort();
}

/** Waits until no Sandbox, Pod or Service is left, and exactly these disks. */
export async function waitUntilOnlyDisksLeft(team: Team, disks: readonly string[] = []): Promise<void> {
  const wanted = JSON.stringify({ sandboxes: [], pods: [], services: [], disks: [...disks].sort() });
  let left = '';
  try {
    await eventually('everything is gone', async () => {
      const [boxes, podNames, serviceNames, diskNames] = await Promise.all(
        [sandboxes, pods, services, persistentVolumeClaims].map((resource) => listNames(team, resource)),
      );
      left = JSON.stringify({ sandboxes: boxes, pods: podNames, services: serviceNames, disks: diskNames });
      return left === wanted ? true : undefined;
    });
  } catch (error) {
    throw new Error(`left in ${team.namespace}: ${left}\nwanted: ${wanted}`, { cause: error });
  }
}

/** What a command in a pod prints. Retries, because a container may start a moment after its Sandbox is Ready. */
export function readIn(team: Team, pod: string, command: string): Promise<string> {
  return eventually(`${command} in ${pod}`, () => team.sh(pod, command), 30_000);
}

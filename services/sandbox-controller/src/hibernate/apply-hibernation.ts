import { annotations, findDaemonImage, isHibernationOf } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { RetryableError } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { carrier } from '@sandlot/telemetry';
import type { Snapshot } from '../plan/snapshot.ts';
import type { ChildStep } from '../plan/steps.ts';
import { buildObjectKey, createOrRead, deleteIncarnation } from '../writes/calls.ts';
import type { CallDeps } from '../writes/calls.ts';
import type { Collection } from '../writes/collections.ts';
import type { RejectedWrites } from '../writes/rejected-writes.ts';
import { sortNewestFirst } from './hibernations.ts';

export type HibernationStep = Extract<ChildStep, { readonly hibernation: SandboxSnapshot }>;

interface Deps extends CallDeps {
  readonly rejectedWrites: RejectedWrites;
}

/** Applies a step about a SandboxSnapshot. */
export async function applyToHibernation(deps: Deps, s: Snapshot, step: HibernationStep): Promise<Snapshot> {
  const collection = deps.collections.hibernations;
  if (collection === undefined)
    throw new Error('this installation does not hibernate, so no SandboxSnapshot is written');
  if (step.kind === 'createHibernation') return createHibernation(deps, s, { ...step, collection });
  const { hibernation } = step;
  const left = await deleteIncarnation(deps, collection, { object: hibernation, isUnchanged: true });
  return withHibernation(s, hibernation, left);
}

type Creation = Extract<HibernationStep, { readonly kind: 'createHibernation' }> & {
  readonly collection: Collection<SandboxSnapshot>;
};

async function createHibernation(
  deps: Deps,
  s: Snapshot,
  { hibernation, pod, collection }: Creation,
): Promise<Snapshot> {
  const image = pod === undefined ? undefined : findDaemonImage(await readPod(deps, pod));
  const { metadata } = hibernation;
  const noted = {
    ...(image === undefined ? {} : { [annotations.savedRuntimeImage]: image }),
    ...buildTrace(s.sandbox),
  };
  const whole = { ...hibernation, metadata: { ...metadata, annotations: { ...metadata.annotations, ...noted } } };
  const found = await createOrRead(deps, collection, whole);
  if (isHibernationOf(found, s.sandbox)) return withHibernation(s, hibernation, found);
  const message = `SandboxSnapshot "${metadata.name ?? ''}" is in the way, which this Sandbox does not control. Delete it`;
  const failure = deps.rejectedWrites.record(s.sandbox, { phase: 'hibernation', message });
  return { ...s, failures: [...s.failures, failure] };
}

/** The save, or the copy, belongs to the operation of this pass; without one, to the last that the Sandbox knows. */
function buildTrace({ metadata }: Sandbox): Record<string, string> {
  const trace = carrier.inject() ?? metadata.annotations?.[annotations.traceContext];
  return trace === undefined ? {} : { [annotations.traceContext]: trace };
}

/** The cache keeps no volumes of a Pod. */
async function readPod({ client, collections, signal }: Deps, pod: Pod): Promise<Pod> {
  const live = await client.get(collections.pods.resource, buildObjectKey(pod), { signal });
  if (live.metadata.uid === pod.metadata.uid) return live;
  throw new RetryableError('another Pod has taken the place of the one to save');
}

function withHibernation(s: Snapshot, asked: SandboxSnapshot, found: SandboxSnapshot | undefined): Snapshot {
  const others = s.hibernations.filter(({ metadata }) => metadata.name !== asked.metadata.name);
  return { ...s, hibernations: sortNewestFirst(found === undefined ? others : [...others, found]) };
}

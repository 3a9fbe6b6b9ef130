import { isDefaultClass } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotClass } from '@sandlot/api-types';
import { nodes as nodeResource, pods as podResource } from '@sandlot/kube';
import type { KubeClient, Node, OwnWrites, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { AgentCalls } from './agent/calls.ts';
import { callIds } from './agent/call-ids.ts';
import { lookAtOriginal } from './look/look-at-original.ts';
import { lookAtSource } from './look/look-at-source.ts';
import type { Calls, Kept, Scene } from './plan/scene.ts';
import { countKept } from './quota/count-kept.ts';
import { hasEnded, hasStopped } from './restore/decide-restore.ts';
import { BY_NAMESPACE, BY_SNAPSHOT } from './wiring/informers.ts';

export interface ObserveDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly calls: AgentCalls;
  /** The cache, ahead of it by our own writes. */
  readonly snapshots: OwnWrites<SandboxSnapshot>;
  readonly classes: Store<SandboxSnapshotClass>;
  readonly restoring: Store<Pod>;
  readonly nodes: Store<Node>;
  /** Keys of objects whose save this process has begun. */
  readonly begun: Set<string>;
}

/** What other snapshots take of the quota, at this very moment: no other pass decides between this and a decision. */
export function observeKept({ snapshots, classes, begun }: ObserveDeps, object: SandboxSnapshot): Kept {
  return countKept(object, {
    snapshots: snapshots.listByIndex(BY_NAMESPACE, object.metadata.namespace ?? ''),
    defaultClass: findDefaultClass(classes)?.metadata.name,
    begun,
  });
}

/** Everything known about one SandboxSnapshot but its quota. */
export async function observe(
  deps: ObserveDeps,
  object: SandboxSnapshot,
  signal: AbortSignal,
): Promise<Omit<Scene, 'kept'>> {
  const calls = findCalls(deps.calls, object);
  const marked = [...deps.restoring.listByIndex(BY_SNAPSHOT, object.metadata.uid ?? '')].sort(byAge);
  return {
    nowMs: deps.clock.now(),
    object,
    snapshotClass: findClass(deps.classes, object),
    source: needsLook(object, calls) ? await lookAtSource(deps.client, object, signal) : undefined,
    copied: needsLookAtOriginal(object) ? await lookAtOriginal(deps.client, object, signal) : undefined,
    isNodeGone: await isNodeGone(deps, object, signal),
    calls,
    pods: marked,
    isRestorePodGone: await isRestorePodGone({ deps, marked, signal }, object),
  };
}

function byAge(a: Pod, b: Pod): number {
  const [one = '', other = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  return one.localeCompare(other) || (a.metadata.uid ?? '').localeCompare(b.metadata.uid ?? '');
}

function findCalls(calls: AgentCalls, object: SandboxSnapshot): Calls {
  const ids = callIds(object);
  const { podUID } = object.status?.restore ?? {};
  const ofPod =
    podUID === undefined
      ? {}
      : { restore: calls.find(ids.restore(podUID)), withdraw: calls.find(ids.withdraw(podUID)) };
  return { save: calls.find(ids.save), erase: calls.find(ids.erase), ...ofPod };
}

function findClass(classes: Store<SandboxSnapshotClass>, { spec }: SandboxSnapshot): SandboxSnapshotClass | undefined {
  return spec.snapshotClassName === undefined ? findDefaultClass(classes) : classes.get(spec.snapshotClassName);
}

function findDefaultClass(classes: Store<SandboxSnapshotClass>): SandboxSnapshotClass | undefined {
  const byCreation = (a: SandboxSnapshotClass, b: SandboxSnapshotClass): number =>
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
  return [...classes.values()].filter(isDefaultClass).sort(byCreation)[0];
}

/** Before the save, and when the agent does not know the Pod. */
function needsLook({ metadata, spec, status }: SandboxSnapshot, { save }: Calls): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.copyOf !== undefined) return false;
  const { phase = 'Pending' } = status ?? {};
  return phase === 'Pending' || (phase === 'Saving' && save?.state === 'refused' && save.code === 'PodAbsent');
}

function needsLookAtOriginal({ metadata, spec, status }: SandboxSnapshot): boolean {
  const hasBegun = status?.phase !== undefined && status.phase !== 'Pending';
  return spec.copyOf !== undefined && metadata.deletionTimestamp === undefined && !hasBegun;
}

/** The cache may lack a Node that is new, so its absence is confirmed. */
async function isNodeGone(
  { client, nodes }: ObserveDeps,
  { status }: SandboxSnapshot,
  signal: AbortSignal,
): Promise<boolean> {
  const name = status?.source?.nodeName;
  if (name === undefined || nodes.get(name) !== undefined) return false;
  return (await client.find(nodeResource, { name }, { signal })) === undefined;
}

interface Marked {
  readonly deps: ObserveDeps;
  readonly marked: readonly Pod[];
  readonly signal: AbortSignal;
}

/** A Pod that lost its mark is not in the cache, and may still begin. */
async function isRestorePodGone(
  { deps, marked, signal }: Marked,
  { metadata, status }: SandboxSnapshot,
): Promise<boolean> {
  const { restore } = status ?? {};
  if (restore?.state !== 'Announced') return false;
  const { podName, podUID } = restore;
  if (marked.some((pod) => pod.metadata.uid === podUID && !hasEnded(pod))) return false;
  const pod = await deps.client.find(podResource, { namespace: metadata.namespace, name: podName }, { signal });
  return pod?.metadata.uid !== podUID || hasStopped(pod);
}

import { findDefaultClass, labels } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotClass } from '@sandlot/api-types';
import { getKey, nodes as nodeResource, pods as podResource } from '@sandlot/kube';
import type { KubeClient, Node, OwnWrites, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Agents } from './agent/agents.ts';
import type { AgentCalls } from './agent/calls.ts';
import { callIds } from './agent/call-ids.ts';
import { isRemoteNeeded } from './bucket/remote-needed.ts';
import { areDisksLate } from './disks/decide-disks.ts';
import { hasOwnDisks } from './disks/plan-disks.ts';
import { lookAtDisks } from './look/look-at-disks.ts';
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
  readonly agents: Agents;
  /** Keys of objects whose save this process has begun. */
  readonly begun: Set<string>;
  /** Since when no Node has had what an object needs, by the key of the object; epoch milliseconds. */
  readonly placeless: Map<string, number>;
}

/** What other snapshots take of the quota, at this very moment: no other pass decides between this and a decision. */
export function observeKept({ snapshots, classes, begun }: ObserveDeps, object: SandboxSnapshot): Kept {
  return countKept(object, {
    snapshots: snapshots.listByIndex(BY_NAMESPACE, object.metadata.namespace ?? ''),
    defaultClass: findDefaultClass(classes.values())?.metadata.name,
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
  const { client } = deps;
  const nowMs = deps.clock.now();
  return {
    nowMs,
    object,
    snapshotClass: findClass(deps.classes, object),
    source: needsLook(object, calls) ? await lookAtSource(deps.client, object, signal) : undefined,
    copied: needsLookAtOriginal(object) ? await lookAtOriginal(deps.client, object, signal) : undefined,
    disks: needsDiskLook(object, calls)
      ? await lookAtDisks(object, { client, signal, asksWhy: areDisksLate(calls, nowMs) })
      : undefined,
    isNodeGone: await isNodeGone(deps, object.status?.source?.nodeName, signal),
    isRestoreNodeGone: await isNodeGone(deps, object.status?.restore?.nodeName, signal),
    ...observeBucket(deps, object),
    calls,
    pods: marked,
    placelessSinceMs: observePlaceless(deps, object, marked),
    isRestorePodGone: await isRestorePodGone({ deps, marked, signal }, object),
  };
}

function byAge(a: Pod, b: Pod): number {
  const [one = '', other = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  return one.localeCompare(other) || (a.metadata.uid ?? '').localeCompare(b.metadata.uid ?? '');
}

function findCalls(calls: AgentCalls, object: SandboxSnapshot): Calls {
  const ids = callIds(object);
  const { source, restore } = object.status ?? {};
  const ofPod = restore && {
    restore: calls.find(ids.restore(restore.podUID)),
    withdraw: calls.find(ids.withdraw(restore.podUID)),
    eraseElsewhere: calls.find(ids.erase(restore.nodeName)),
  };
  const ofSave = { save: calls.find(ids.save), endHold: calls.find(ids.endHold) };
  const ofBucket = { upload: calls.find(ids.upload), eraseRemote: calls.find(ids.eraseRemote) };
  return { ...ofSave, erase: calls.find(ids.erase(source?.nodeName ?? '')), ...ofBucket, ...ofPod };
}

function findClass(classes: Store<SandboxSnapshotClass>, { spec }: SandboxSnapshot): SandboxSnapshotClass | undefined {
  return spec.snapshotClassName === undefined
    ? findDefaultClass(classes.values())
    : classes.get(spec.snapshotClassName);
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

/** While the disks are copied, and once it has failed. */
function needsDiskLook(object: SandboxSnapshot, { save }: Calls): boolean {
  if (!hasOwnDisks(object) || object.metadata.deletionTimestamp !== undefined) return false;
  const { phase } = object.status ?? {};
  return phase === 'Failed' || (phase === 'Saving' && save?.state === 'answered');
}

/** The beginning is noted by this process alone, so another one waits anew. */
function observePlaceless(
  { clock, nodes, placeless }: ObserveDeps,
  object: SandboxSnapshot,
  marked: readonly Pod[],
): number | undefined {
  const { fingerprint } = object.status ?? {};
  const isPlace = ({ metadata }: Node): boolean => metadata.labels?.[labels.snapshotFingerprint] === fingerprint;
  const isPlaceless = marked.length > 0 && fingerprint !== undefined && ![...nodes.values()].some(isPlace);
  const key = getKey(object);
  if (!isPlaceless) placeless.delete(key);
  else if (!placeless.has(key)) placeless.set(key, clock.now());
  return placeless.get(key);
}

/** What a deletion has to know. An upload is ended by the node that makes it, so that one comes first. */
function observeBucket(
  { snapshots, agents }: ObserveDeps,
  object: SandboxSnapshot,
): Pick<Scene, 'bucketNode' | 'isRemoteNeeded'> {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp === undefined || status?.remote === undefined) return {};
  const saver = status.source?.nodeName ?? '';
  return {
    bucketNode: agents.has(saver) ? saver : agents.findServing(),
    isRemoteNeeded: isRemoteNeeded(object, snapshots.listByIndex(BY_NAMESPACE, metadata.namespace ?? '')),
  };
}

/** The cache may lack a Node that is new, so its absence is confirmed. The empty name is that of no node at all. */
async function isNodeGone(
  { client, nodes }: Pick<ObserveDeps, 'client' | 'nodes'>,
  name: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (name === '') return true;
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

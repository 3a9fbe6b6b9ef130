import {
  getPodName,
  isDefaultClass,
  isHibernationOf,
  needsHibernation,
  resolveMode,
  sandboxes as sandboxResource,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotClass } from '@sandlot/api-types';
import { findController, nodes as nodeResource, pods as podResource } from '@sandlot/kube';
import type { KubeClient, Node, OwnWrites, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { AgentCalls } from './agent/calls.ts';
import { callIds } from './agent/call-ids.ts';
import type { Calls, Scene, SourceLook } from './plan/scene.ts';
import { hasEnded, hasStopped } from './restore/decide-restore.ts';
import { BY_SNAPSHOT } from './wiring/informers.ts';

export interface ObserveDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly calls: AgentCalls;
  /** The cache, ahead of it by our own writes. */
  readonly snapshots: OwnWrites<SandboxSnapshot>;
  readonly classes: Store<SandboxSnapshotClass>;
  readonly restoring: Store<Pod>;
  readonly nodes: Store<Node>;
}

/** Everything known about one SandboxSnapshot. */
export async function observe(deps: ObserveDeps, object: SandboxSnapshot, signal: AbortSignal): Promise<Scene> {
  const calls = findCalls(deps.calls, object);
  const marked = [...deps.restoring.listByIndex(BY_SNAPSHOT, object.metadata.uid ?? '')].sort(byAge);
  return {
    nowMs: deps.clock.now(),
    object,
    snapshotClass: findClass(deps.classes, object),
    source: needsLook(object, calls) ? await lookAtSource(deps, object, signal) : undefined,
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
  if (spec.snapshotClassName !== undefined) return classes.get(spec.snapshotClassName);
  const byCreation = (a: SandboxSnapshotClass, b: SandboxSnapshotClass): number =>
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
  return [...classes.values()].filter(isDefaultClass).sort(byCreation)[0];
}

/** Before the save, and when the agent does not know the Pod. */
function needsLook({ metadata, status }: SandboxSnapshot, { save }: Calls): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const { phase = 'Pending' } = status ?? {};
  return phase === 'Pending' || (phase === 'Saving' && save?.state === 'refused' && save.code === 'PodAbsent');
}

/** Reads the objects themselves: the controller watches neither all Sandboxes nor all Pods. */
async function lookAtSource(
  { client }: ObserveDeps,
  object: SandboxSnapshot,
  signal: AbortSignal,
): Promise<SourceLook> {
  const { namespace } = object.metadata;
  const sandbox = await client.find(sandboxResource, { namespace, name: object.spec.sandboxName }, { signal });
  if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) return {};
  const pod = await client.find(podResource, { namespace, name: getPodName(sandbox) }, { signal });
  return {
    sandbox: { uid: sandbox.metadata.uid ?? '', hibernates: hibernates(object, sandbox) },
    pod: readPod(sandbox, pod),
  };
}

function hibernates(object: SandboxSnapshot, sandbox: Sandbox): boolean {
  return (
    resolveMode(sandbox.spec) === 'Suspended' && needsHibernation(sandbox.spec) && isHibernationOf(object, sandbox)
  );
}

function readPod({ metadata: { uid } }: Sandbox, pod: Pod | undefined): SourceLook['pod'] {
  if (pod === undefined || findController(pod)?.uid !== uid) return undefined;
  const { metadata, spec, status } = pod;
  const isRunning = metadata.deletionTimestamp === undefined && status?.phase === 'Running';
  if (!isRunning || spec.nodeName === undefined) return undefined;
  return { name: metadata.name ?? '', uid: metadata.uid ?? '', nodeName: spec.nodeName };
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

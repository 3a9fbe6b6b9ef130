import type { Target } from '../target.ts';

/** Rollout progress of a Deployment, StatefulSet or DaemonSet of the release. */
export interface Workload {
  readonly name: string;
  readonly desired: number;
  /** Pods of old and new specs. */
  readonly total: number;
  readonly updated: number;
  readonly ready: number;
  /** The controller manager has observed the newest spec. */
  readonly observed: boolean;
}

/** Why a pod of the release does not work yet. */
export interface PodTrouble {
  readonly pod: string;
  /** `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable`, ... */
  readonly reason: string;
  readonly message: string;
  /** Waiting will not help. */
  readonly hopeless: boolean;
}

interface WorkloadJson {
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly spec: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly currentNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberReady?: number;
  };
}

interface ContainerStatusJson {
  readonly name: string;
  readonly restartCount: number;
  readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
  readonly lastState?: { readonly terminated?: { readonly exitCode?: number; readonly reason?: string } };
}

interface PodJson {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status?: {
    readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
    readonly containerStatuses?: readonly ContainerStatusJson[];
  };
}

/** Up to this many restarts, a crash may be due to a dependency that starts late. */
const HOPELESS_RESTARTS = 3;

/** Reads the objects of one kind that belong to a release. */
async function listObjects<T>(
  target: Target,
  kind: string,
  release: { name: string; namespace: string },
): Promise<readonly T[]> {
  const selector = `app.kubernetes.io/instance=${release.name}`;
  const { stdout, code } = await target.kubectl(['-n', release.namespace, 'get', kind, '-l', selector, '-o', 'json']);
  return code === 0 ? (JSON.parse(stdout) as { items: readonly T[] }).items : [];
}

/** Reads the release's workloads. */
export async function readWorkloads(
  target: Target,
  release: { name: string; namespace: string },
): Promise<readonly Workload[]> {
  return (await listObjects<WorkloadJson>(target, 'deployments,statefulsets,daemonsets', release)).map(buildWorkload);
}

/** What the API server says about a workload, in the words of all kinds. Pure. */
export function buildWorkload(workload: WorkloadJson): Workload {
  const { metadata, status = {} } = workload;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const base = { name: metadata.name, observed };
  return workload.kind === 'DaemonSet' ? countNodes(status, base) : countReplicas(workload, base);
}

type Base = Pick<Workload, 'name' | 'observed'>;

function countReplicas({ spec, status = {} }: WorkloadJson, base: Base): Workload {
  const { replicas: total = 0, updatedReplicas: updated = 0, readyReplicas: ready = 0 } = status;
  return { ...base, desired: spec.replicas ?? 1, total, updated, ready };
}

/** Nodes say how many there should be, and a DaemonSet that has seen none of them yet is not done. */
function countNodes(status: NonNullable<WorkloadJson['status']>, base: Base): Workload {
  const { desiredNumberScheduled: desired, updatedNumberScheduled: updated = 0, numberReady: ready = 0 } = status;
  const total = status.currentNumberScheduled ?? 0;
  return {
    name: base.name,
    desired: desired ?? 0,
    total,
    updated,
    ready,
    observed: base.observed && desired !== undefined,
  };
}

/** Whether every replica runs the newest spec and is ready, and no old pod is left that may be the ready one. */
export function isRolledOut({ desired, total, updated, ready, observed }: Workload): boolean {
  return observed && updated >= desired && total <= updated && ready >= desired;
}

/** Reads the problems of the release's pods. */
export async function readTroubles(
  target: Target,
  release: { name: string; namespace: string },
): Promise<readonly PodTrouble[]> {
  const pods = await listObjects<PodJson>(target, 'pods', release);
  return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined).flatMap(listTroubles);
}

/** Returns the problems of one pod. Pure. */
export function listTroubles(pod: PodJson): readonly PodTrouble[] {
  const name = pod.metadata.name;
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined) {
    const { reason = 'Unschedulable', message = '' } = unscheduled;
    return [{ pod: name, reason, message, hopeless: false }];
  }
  return (pod.status?.containerStatuses ?? []).flatMap((container) => getTrouble(name, container));
}

function getTrouble(pod: string, { state, lastState, restartCount }: ContainerStatusJson): readonly PodTrouble[] {
  const { reason, message = '' } = state?.waiting ?? {};
  if (reason === undefined || reason === 'ContainerCreating') return [];
  const hopeless = isPermanent(reason) || restartCount >= HOPELESS_RESTARTS;
  return [{ pod, reason, message: `${message}${formatLastExit(lastState)}`, hopeless }];
}

function formatLastExit(last: ContainerStatusJson['lastState']): string {
  if (last?.terminated === undefined) return '';
  const { reason = 'code', exitCode = '' } = last.terminated;
  return ` (last exit: ${reason} ${exitCode})`;
}

/** The kubelet reports a failed pull as ErrImagePull and ImagePullBackOff in turn. */
function isPermanent(reason: string): boolean {
  return ['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerConfigError'].includes(reason);
}

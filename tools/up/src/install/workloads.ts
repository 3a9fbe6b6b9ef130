import type { Target } from '../target.ts';

/** A Deployment or StatefulSet of the release, as far as its progress matters. */
export interface Workload {
  readonly name: string;
  readonly desired: number;
  /** Pods of any spec. */
  readonly total: number;
  readonly updated: number;
  readonly ready: number;
  /** The controller manager has seen the newest spec. */
  readonly observed: boolean;
}

/** A pod of the release that does not work yet, and why. */
export interface PodTrouble {
  readonly pod: string;
  /** `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable`, ... */
  readonly reason: string;
  readonly message: string;
  /** Waiting will not help. */
  readonly hopeless: boolean;
}

interface WorkloadJson {
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly spec: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
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

/** Restarts after which a crash is no longer taken for a late dependency. */
const HOPELESS_RESTARTS = 3;

/** Reads the objects of one kind that belong to a release. */
async function listOf<T>(
  target: Target,
  kind: string,
  release: { name: string; namespace: string },
): Promise<readonly T[]> {
  const selector = `app.kubernetes.io/instance=${release.name}`;
  const { stdout, code } = await target.kubectl(['-n', release.namespace, 'get', kind, '-l', selector, '-o', 'json']);
  return code === 0 ? (JSON.parse(stdout) as { items: readonly T[] }).items : [];
}

/** The release's workloads as they are now. */
export async function readWorkloads(
  target: Target,
  release: { name: string; namespace: string },
): Promise<readonly Workload[]> {
  return (await listOf<WorkloadJson>(target, 'deployments,statefulsets', release)).map(workloadOf);
}

function workloadOf({ metadata, spec, status = {} }: WorkloadJson): Workload {
  const { replicas: total = 0, updatedReplicas: updated = 0, readyReplicas: ready = 0 } = status;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return { name: metadata.name, desired: spec.replicas ?? 1, total, updated, ready, observed };
}

/** Whether every replica runs the newest spec and is ready. While an old pod is left, the ready one may be that. */
export function isRolledOut({ desired, total, updated, ready, observed }: Workload): boolean {
  return observed && updated >= desired && total <= updated && ready >= desired;
}

/** What keeps the release's pods from working. */
export async function readTroubles(
  target: Target,
  release: { name: string; namespace: string },
): Promise<readonly PodTrouble[]> {
  const pods = await listOf<PodJson>(target, 'pods', release);
  return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined).flatMap(troublesOf);
}

/** Pure: the troubles of one pod. */
export function troublesOf(pod: PodJson): readonly PodTrouble[] {
  const name = pod.metadata.name;
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined) {
    const { reason = 'Unschedulable', message = '' } = unscheduled;
    return [{ pod: name, reason, message, hopeless: false }];
  }
  return (pod.status?.containerStatuses ?? []).flatMap((container) => troubleOf(name, container));
}

function troubleOf(pod: string, { state, lastState, restartCount }: ContainerStatusJson): readonly PodTrouble[] {
  const { reason, message = '' } = state?.waiting ?? {};
  if (reason === undefined || reason === 'ContainerCreating') return [];
  const hopeless = isPermanent(reason) || restartCount >= HOPELESS_RESTARTS;
  return [{ pod, reason, message: `${message}${lastExit(lastState)}`, hopeless }];
}

function lastExit(last: ContainerStatusJson['lastState']): string {
  if (last?.terminated === undefined) return '';
  const { reason = 'code', exitCode = '' } = last.terminated;
  return ` (last exit: ${reason} ${exitCode})`;
}

/** A pull that failed comes as two reasons in turn. */
function isPermanent(reason: string): boolean {
  return ['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerConfigError'].includes(reason);
}

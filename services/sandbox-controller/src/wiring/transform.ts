import { annotations, labels, readCpu } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { ContainerStatus, KubeObject, NetworkPolicy, Node, ObjectMeta, Pod } from '@sandlot/kube';
import { listAnnouncements } from '../pod/identity-text.ts';
import { findInstallerStatus } from '../pod/runtime-identity.ts';
import { listDaemonContainers } from '../pod/runtime-key.ts';
import { listAuthorshipEntries } from '../service/authorship.ts';

type PodStatus = NonNullable<Pod['status']>;
type Resources = NonNullable<ContainerStatus['resources']>;

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A Sandbox as the cache keeps it: of managedFields only what shows whether its author used v1alpha1. */
export function reduceSandbox(sandbox: Sandbox): Sandbox {
  const authorship = listAuthorshipEntries(sandbox.metadata.managedFields);
  const metadata = withoutBulk(sandbox.metadata);
  return { ...sandbox, metadata: authorship.length === 0 ? metadata : { ...metadata, managedFields: authorship } };
}

/**
 * A Pod as the cache keeps it: metadata, status, and of the spec only the node, the key that the Pod announces, of members of
 * pools whose calls the daemon accepts, and of resized Pods their CPU. No Pod is ever built from this.
 */
export function reducePod(pod: Pod): Pod {
  const { nodeName } = pod.spec;
  const { phase, podIPs, conditions, reason, message } = pod.status ?? {};
  const status = { phase, podIPs, conditions, reason, message, ...buildContainers(pod) };
  const isMember = pod.metadata.labels?.[labels.warmPoolMember] !== undefined;
  const spec = {
    containers: [
      ...(isMember ? listDaemonContainers(pod) : []),
      ...listAnnouncements(pod.spec),
      ...(isResized(pod)
        ? pod.spec.containers.map(({ name, resources }) => ({ name, resources: keepCpu(resources) }))
        : []),
    ],
    ...(nodeName === undefined ? {} : { nodeName }),
  };
  return { ...pod, metadata: withoutBulk(pod.metadata), spec, status };
}

/** A Node as the cache keeps it: whether it is being emptied. Its status changes every few minutes and is large. */
export function reduceNode({ metadata: { name, uid, resourceVersion }, spec }: Node): Node {
  return {
    metadata: { name, uid, resourceVersion },
    spec: { unschedulable: spec?.unschedulable, taints: spec?.taints },
  };
}

/** A NetworkPolicy as the cache keeps it: that it is there, and whose it is. */
export function reducePolicy({ metadata }: NetworkPolicy): NetworkPolicy {
  return { metadata: withoutBulk(metadata) };
}

/** Any other child as the cache keeps it. */
export function reduceChild<T extends KubeObject>(object: T): T {
  return { ...object, metadata: withoutBulk(object.metadata) };
}

type Containers = Pick<PodStatus, 'containerStatuses' | 'initContainerStatuses'>;

function isResized({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.annotations?.[annotations.inplaceCpu] !== undefined;
}

function keepCpu(resources: Resources | undefined): Resources {
  const { request, limit } = readCpu(resources);
  return {
    ...(request === undefined ? {} : { requests: { cpu: request } }),
    ...(limit === undefined ? {} : { limits: { cpu: limit } }),
  };
}

/** How the containers of a finished Pod ended; of any other Pod those that wait or were restarted. */
function buildContainers(pod: Pod): Containers {
  const { phase, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  if (phase === 'Failed' || phase === 'Succeeded') {
    return {
      containerStatuses: containerStatuses.map(({ name, state }) => ({
        name,
        state: { terminated: state?.terminated },
      })),
    };
  }
  const containers = listKept(pod, containerStatuses);
  const inits = initContainerStatuses.flatMap(keepTroubleAndIdentity);
  return {
    ...(containers.length === 0 ? {} : { containerStatuses: containers }),
    ...(inits.length === 0 ? {} : { initContainerStatuses: inits }),
  };
}

/** Keeps nothing of an ordinary start, unless the container ran before. */
function keepTrouble({ name, image, restartCount, state, lastState }: ContainerStatus): ContainerStatus[] {
  const terminated = lastState?.terminated;
  const isOrdinary = terminated === undefined && ORDINARY.has(state?.waiting?.reason ?? '');
  const waiting = isOrdinary ? undefined : state?.waiting;
  if (waiting === undefined && terminated === undefined) return [];
  return [{ name, image, restartCount, state: { waiting }, lastState: { terminated } }];
}

/** Of the installer of the daemon: what it published for callers of the daemon. */
function keepTroubleAndIdentity(container: ContainerStatus): ContainerStatus[] {
  const installer = findInstallerStatus(container);
  if (installer === undefined) return keepTrouble(container);
  const [trouble] = keepTrouble(container);
  return [{ ...trouble, ...installer }];
}

/** Of a Pod whose image was changed: the new image runs after one more restart. */
function keepRestartCount(container: ContainerStatus): ContainerStatus[] {
  const { name, restartCount } = container;
  const [trouble = { name, restartCount }] = keepTrouble(container);
  return [trouble];
}

function listKept(pod: Pod, all: readonly ContainerStatus[]): ContainerStatus[] {
  const isRestarted = pod.metadata.annotations?.[annotations.inplaceImage] !== undefined;
  const kept = all.flatMap(isRestarted ? keepRestartCount : keepTrouble);
  return isResized(pod) ? withCpus(kept, all) : kept;
}

/** Of a Pod whose CPU was changed: what its node has set. */
function withCpus(kept: readonly ContainerStatus[], all: readonly ContainerStatus[]): ContainerStatus[] {
  return all.map(({ name, resources }) => {
    const container = kept.find((each) => each.name === name);
    return { name, ...container, resources: keepCpu(resources) };
  });
}

const ORDINARY: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

function withoutBulk(full: ObjectMeta): ObjectMeta {
  const metadata = { ...full };
  delete metadata.managedFields;
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return metadata;
  const kept = Object.entries(metadata.annotations).filter(([key]) => key !== LAST_APPLIED);
  return { ...metadata, annotations: Object.fromEntries(kept) };
}

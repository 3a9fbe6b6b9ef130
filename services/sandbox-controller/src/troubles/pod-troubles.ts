import { resolveMode, findCondition } from '@sandlot/api-types';
import type { Condition, Pod } from '@sandlot/kube/objects';
import { findMark } from '../hibernate/hibernations.ts';
import { listContainerTroubles } from './container-troubles.ts';
import { UNSCHEDULED_MS, listUnboundDisks } from './disk-troubles.ts';
import { isTerminating, findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { formatWarning } from '../plan/steps.ts';
import type { EventNote, Trouble } from '../plan/steps.ts';

/** When the Events of a Pod are read because its node reports no progress: most images are pulled by then. */
const SILENT_START_MS = 30_000;
/** How late a kubelet may delete a Pod before that is reported. */
const LATE_END_MS = 30_000;

/** Why the Pod does not start, does not stay, or does not end. */
export function listPodTroubles(snapshot: Snapshot): Trouble[] {
  const pod = findOnlyPod(snapshot);
  if (pod === undefined) return [];
  if (isTerminating(pod)) return [...listDeletionTroubles(snapshot, pod), ...listLateEndTroubles(pod)];
  const containers = listContainerTroubles(pod, snapshot.nowMs);
  // How a container of a Pod that has run once ended does not say why it does not start again.
  const isKnown = containers.some(({ isPast = false }) => !isPast || pod.status?.phase === 'Pending');
  const silence = isKnown ? [] : listSilenceTroubles(pod);
  return [...containers, ...listSchedulingTroubles(snapshot, pod), ...silence];
}

const ADVICE_FOR_NODES = 'Ask for less, relax nodeSelector, affinity or tolerations, or add nodes';
const ADVICE_FOR_MEMORY =
  'Only a node that can have the saved memory of the Sandbox will do: make room there, or give the memory up with suspensionStrategy.type Stop';

const getAdvice = (pod: Pod): string => (findMark(pod) === undefined ? ADVICE_FOR_NODES : ADVICE_FOR_MEMORY);

/** When disks are not the reason. */
function listSchedulingTroubles(snapshot: Snapshot, pod: Pod): Trouble[] {
  const said = findCondition(pod.status?.conditions, 'PodScheduled');
  if (said?.status !== 'False' || listUnboundDisks(snapshot).length > 0) return [];
  const text = `No node takes the Pod: ${said.message ?? said.reason ?? 'the scheduler says no more'}`;
  const note = formatWarning('PodUnschedulable', `${text}. ${getAdvice(pod)}`);
  const dueMs = Date.parse(said.lastTransitionTime ?? '') + UNSCHEDULED_MS;
  return [{ key: `${pod.metadata.uid ?? ''}/unschedulable`, note, ...(Number.isNaN(dueMs) ? {} : { dueMs }) }];
}

/** The Pod is on its node and no status gives a reason: volumes, networks and runtimes report in Events of the Pod alone. */
function listSilenceTroubles(pod: Pod): Trouble[] {
  const sinceMs = Date.parse(findStartOfSilence(pod)?.lastTransitionTime ?? '');
  if (Number.isNaN(sinceMs)) return [];
  const note = formatWarning('PodNotStarting', `Pod does not start on node "${pod.spec.nodeName ?? ''}"`);
  return [{ key: `${pod.metadata.uid ?? ''}/silent`, note, dueMs: sinceMs + SILENT_START_MS, causedBy: pod }];
}

/** A Pod that has run before stays Running while its node starts it anew, such as after the node came back. */
function findStartOfSilence({
  status: { phase, conditions, containerStatuses = [] } = {},
}: Pod): Condition | undefined {
  const scheduled = findCondition(conditions, 'PodScheduled');
  if (scheduled?.status !== 'True') return undefined;
  if (phase === 'Pending') return scheduled;
  const isStarting = containerStatuses.some(({ state }) => state?.waiting?.reason === 'ContainerCreating');
  return phase === 'Running' && isStarting ? findCondition(conditions, 'Ready') : undefined;
}

/** The key of the trouble that a Pod was deleted. The controller records it for a Pod that it deletes itself. */
export const formatDeletionKey = ({ metadata: { uid = '' } }: Pod): string => `${uid}/deleted`;

function listDeletionTroubles({ sandbox }: Snapshot, pod: Pod): Trouble[] {
  const isOurs = sandbox.status?.restarts?.nextRestartTime !== undefined;
  if (resolveMode(sandbox.spec) === 'Suspended' || isOurs) return [];
  const disruption = findCondition(pod.status?.conditions, 'DisruptionTarget');
  return [{ key: formatDeletionKey(pod), isPast: true, note: buildDeletionNote(disruption) }];
}

function buildDeletionNote(disruption: Condition | undefined): EventNote {
  const next = 'A new one follows on the same volumes';
  if (disruption?.status !== 'True') {
    return { type: 'Normal', reason: 'PodDeleted', message: `Pod was deleted by somebody else. ${next}` };
  }
  const why = [disruption.reason, disruption.message].filter((text) => text !== undefined && text !== '').join(': ');
  return formatWarning('PodEvicted', `Pod was evicted (${why}). ${next}`);
}

/** The deletion timestamp of a Pod includes its grace period; a Pod that exists after that is stuck. */
function listLateEndTroubles(pod: Pod): Trouble[] {
  const { uid = '', name = '', deletionTimestamp = '', finalizers = [] } = pod.metadata;
  const held = `is held by finalizers (${finalizers.join(', ')}). The controller that added them must remove them`;
  const silent =
    `has not been stopped by node "${pod.spec.nodeName ?? ''}", which may be down. It is never force-deleted here, as it ` +
    'may still write to its volumes. Once the node is certainly gone, delete it, or force-delete the Pod';
  const text = `Pod "${name}" should have ended and ${finalizers.length > 0 ? held : silent}`;
  return [
    {
      key: `${uid}/late`,
      note: formatWarning('PodStuckTerminating', text),
      dueMs: Date.parse(deletionTimestamp) + LATE_END_MS,
    },
  ];
}

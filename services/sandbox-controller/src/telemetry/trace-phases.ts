// The phases of a start, from the Pod, its Events and its disks: the spans under `sandbox.create` and `sandbox.resume`.
import { findCondition } from '@sandlot/api-types';
import type { Event, PersistentVolumeClaim, Pod } from '@sandlot/kube';
import { spanAttributes, spanNames } from '@sandlot/telemetry';
import type { SpanName } from '@sandlot/telemetry';

/** Reason of the kubelet's Event when an image is on the node. */
export const PULLED = 'Pulled';

/** Kubernetes truncates times to the second. */
const RESOLUTION_MS = 1_000;

/** The facts about one start of a Sandbox. */
export interface StartFacts {
  readonly pod: Pod | undefined;
  /** Events about that Pod. */
  readonly events: readonly Event[];
  /** Disks with their managed fields. */
  readonly volumes: readonly PersistentVolumeClaim[];
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  /** Why the Sandbox never became Ready; undefined when it did. */
  readonly error: string | undefined;
}

/** A part of a start, within it. */
export interface Phase {
  readonly name: SpanName;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly error?: string | undefined;
}

/**
 * The phases of a start: one chain without gaps from its beginning to its end, and beside it the provisioning of each disk
 * that was made for it. Times that were truncated to the second are moved into the start and into order. A phase without a
 * known end is part of the next one.
 */
export function listPhases(facts: StartFacts): Phase[] {
  return [...buildChain(facts), ...facts.volumes.flatMap((volume) => getProvisioning(facts, volume))];
}

interface Milestone {
  readonly name: SpanName;
  readonly atMs: number | undefined;
  readonly attributes?: Phase['attributes'] | undefined;
}

function buildChain({ pod, events, startMs, endMs, error }: StartFacts): Phase[] {
  const phases: Phase[] = [];
  const about = buildPodAttributes(pod);
  const milestones = listMilestones(pod, events);
  let fromMs = startMs;
  for (const { name, atMs, attributes } of milestones) {
    if (atMs === undefined) continue;
    const toMs = Math.min(Math.max(fromMs, atMs), endMs);
    phases.push({ name, startMs: fromMs, endMs: toMs, attributes: { ...about, ...attributes } });
    fromMs = toMs;
  }
  const last = error === undefined ? spanNames.podReady : getFailedPhase(milestones);
  phases.push({ name: last, startMs: fromMs, endMs, attributes: about, error });
  return phases;
}

/** The first phase that never ended. */
function getFailedPhase(milestones: readonly Milestone[]): SpanName {
  const reached = milestones.findLastIndex(({ atMs }) => atMs !== undefined);
  return milestones[reached + 1]?.name ?? spanNames.podReady;
}

/** In the order of a start. A phase ends at its milestone. */
function listMilestones(pod: Pod | undefined, events: readonly Event[]): Milestone[] {
  const conditionMs = (type: string): number | undefined => {
    const condition = findCondition(pod?.status?.conditions, type);
    return condition?.status === 'True' ? findMs(condition.lastTransitionTime) : undefined;
  };
  const hasInits = (pod?.status?.initContainerStatuses ?? []).length > 0;
  return [
    { name: spanNames.podCreate, atMs: findMs(pod?.metadata.creationTimestamp) },
    { name: spanNames.podSchedule, atMs: conditionMs('PodScheduled') },
    { name: spanNames.podPrepare, atMs: conditionMs('PodReadyToStartContainers') },
    { name: spanNames.podInit, atMs: hasInits ? conditionMs('Initialized') : undefined },
    { name: spanNames.imagePull, ...buildPull(pod, events) },
    { name: spanNames.containerStart, atMs: findStartedMs(pod) ?? conditionMs('ContainersReady') },
  ];
}

/** When the last image of the main containers was pulled: only the kubelet's Events show it. */
function buildPull(pod: Pod | undefined, events: readonly Event[]): Omit<Milestone, 'name'> {
  const pulls = events.filter(({ reason }) => reason === PULLED).map((event) => ({ event, atMs: findEventMs(event) }));
  const known = pulls.filter(({ atMs }) => atMs !== undefined);
  if (known.length === 0) return { atMs: undefined };
  const pulledMs = known.map(({ event }) => findPullMs(event.note)).filter((ms) => ms !== undefined);
  const images = (pod?.spec.containers ?? []).map(({ image = '' }) => image).join(',');
  return {
    atMs: Math.max(...known.map(({ atMs = 0 }) => atMs)),
    attributes: {
      [spanAttributes.imageName]: images,
      [spanAttributes.imageCached]: pulledMs.length === 0,
      ...(pulledMs.length === 0 ? {} : { [spanAttributes.imagePullMs]: pulledMs.reduce((sum, ms) => sum + ms, 0) }),
    },
  };
}

/** From `Successfully pulled image "x" in 1.234s (1.3s including waiting)`; undefined for an image that was present. */
function findPullMs(note = ''): number | undefined {
  const [, duration = ''] = /^Successfully pulled image .* in ([\d.a-zµ]+)/.exec(note) ?? [];
  const parts = [...duration.matchAll(/([\d.]+)(ms|µs|us|s|m|h)/g)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * (UNIT_MS[unit ?? ''] ?? 0), 0);
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1, µs: 0.001, us: 0.001 };

function findEventMs({ deprecatedLastTimestamp, eventTime, metadata }: Event): number | undefined {
  return [deprecatedLastTimestamp, eventTime, metadata.creationTimestamp].map(findMs).find((ms) => ms !== undefined);
}

/** When the last container started, if all have. */
function findStartedMs(pod: Pod | undefined): number | undefined {
  const { containerStatuses = [] } = pod?.status ?? {};
  const times = containerStatuses.map(({ state }) => findMs(state?.running?.startedAt ?? state?.terminated?.startedAt));
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 || known.length < times.length ? undefined : Math.max(...known);
}

/** From the creation of a disk until it was bound. A disk that existed before, or is not bound, has no phase. */
function getProvisioning({ startMs, endMs }: StartFacts, { metadata, status }: PersistentVolumeClaim): Phase[] {
  const createdMs = findMs(metadata.creationTimestamp);
  const boundMs = findMs(metadata.managedFields?.findLast(({ subresource }) => subresource === 'status')?.time);
  const isOfThisStart = createdMs !== undefined && createdMs + RESOLUTION_MS > startMs;
  if (!isOfThisStart || status?.phase !== 'Bound' || boundMs === undefined) return [];
  const fromMs = Math.min(Math.max(createdMs, startMs), endMs);
  const attributes = {
    [spanAttributes.volumeClaim]: metadata.name ?? '',
    [spanAttributes.timeResolutionMs]: RESOLUTION_MS,
  };
  return [
    { name: spanNames.pvcProvision, startMs: fromMs, endMs: Math.min(Math.max(fromMs, boundMs), endMs), attributes },
  ];
}

function buildPodAttributes(pod: Pod | undefined): Phase['attributes'] {
  const resolution = { [spanAttributes.timeResolutionMs]: RESOLUTION_MS };
  if (pod === undefined) return resolution;
  const { metadata, spec } = pod;
  return {
    ...resolution,
    [spanAttributes.podName]: metadata.name ?? '',
    [spanAttributes.podUid]: metadata.uid ?? '',
    ...(spec.nodeName === undefined ? {} : { [spanAttributes.nodeName]: spec.nodeName }),
  };
}

function findMs(time: string | null | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

import {
  annotations,
  isMadeByExtension,
  isReservedKey,
  labels,
  normaliseCreator,
  withoutReservedKeys,
} from '@sandlot/api-types';
import type { MemoryState, Sandbox } from '@sandlot/api-types';
import type { JsonObject, Pod } from '@sandlot/kube/objects';
import { buildTrackingLabel } from '../ownership/ownership.ts';

type StringMap = Readonly<Record<string, string>>;

/** What the metadata of the Pod must contain; other writers may add more. */
export interface PodMetadata {
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

/** Labels that controllers set on the Sandbox and its Pod; users cannot: docs/reference/labels-and-annotations.md#labels. */
const SYSTEM_LABELS: readonly string[] = [
  labels.warmPoolMember,
  labels.templateRefHash,
  labels.claimUid,
  labels.createdBy,
  labels.claimName,
  labels.claimSlot,
  labels.reservedFailed,
  labels.network,
  labels.egress,
];

/** Metadata of the Pod: the template's, then the system's, which users cannot override. */
export function buildWantedPodMetadata(sandbox: Sandbox): PodMetadata {
  const template = sandbox.spec.podTemplate.metadata;
  const ownLabels = withoutReservedKeys(template?.labels);
  const ownAnnotations = withoutReservedKeys(template?.annotations);
  return {
    labels: { ...ownLabels, ...buildTrackingLabel(sandbox), ...buildSystemLabels(sandbox) },
    annotations: {
      ...ownAnnotations,
      ...buildKeyList(annotations.propagatedLabels, ownLabels),
      ...buildKeyList(annotations.propagatedAnnotations, ownAnnotations),
    },
  };
}

/**
 * Merge patch that brings the metadata of a Pod up to date; undefined when it is. Keys that have left the template are
 * removed: the Pod lists which keys came from there. Keys that others set on the Pod stay.
 */
export function buildPodMetadataPatch(sandbox: Sandbox, pod: Pod, memory?: MemoryState): JsonObject | undefined {
  const wanted = buildWantedPodMetadata(sandbox);
  const present = { labels: pod.metadata.labels ?? {}, annotations: pod.metadata.annotations ?? {} };
  const lists = [annotations.propagatedLabels, annotations.propagatedAnnotations];
  const labelChanges = changes(present.labels, { ...wanted.labels, ...buildMemoryLabel(memory) }, [
    ...listKeys(present.annotations[annotations.propagatedLabels]),
    ...SYSTEM_LABELS,
    labels.memory,
  ]);
  const annotationChanges = changes(present.annotations, wanted.annotations, [
    ...listKeys(present.annotations[annotations.propagatedAnnotations]),
    ...lists,
  ]);
  if (labelChanges === undefined && annotationChanges === undefined) return undefined;
  return { metadata: { uid: pod.metadata.uid, labels: labelChanges, annotations: annotationChanges } };
}

/** The label that says whether evictions of the Pod wait. */
function buildMemoryLabel(memory: MemoryState | undefined): StringMap {
  return memory === undefined ? {} : { [labels.memory]: memory };
}

export function withMemoryState(pod: Pod, memory: MemoryState | undefined): Pod {
  const { metadata } = pod;
  return { ...pod, metadata: { ...metadata, labels: { ...metadata.labels, ...buildMemoryLabel(memory) } } };
}

/** Keys to set and, as null, those of `prunable` that are present and unwanted; undefined when there is no change. */
function changes(present: StringMap, wanted: StringMap, prunable: readonly string[]): JsonObject | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (present[key] !== value) patch[key] = value;
  for (const key of prunable) if (present[key] !== undefined && wanted[key] === undefined) patch[key] = null;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function buildSystemLabels(sandbox: Sandbox): Record<string, string> {
  const given = sandbox.metadata.labels ?? {};
  const kept: Record<string, string> = {};
  if (isMadeByExtension(sandbox)) {
    for (const key of SYSTEM_LABELS) if (given[key] !== undefined && given[key] !== '') kept[key] = given[key];
  }
  const author = given[labels.createdBy];
  if (author !== undefined && author !== '') kept[labels.createdBy] = normaliseCreator(author);
  return kept;
}

function buildKeyList(annotation: string, keys: StringMap): Record<string, string> {
  const names = Object.keys(keys).sort();
  return names.length === 0 ? {} : { [annotation]: names.join(',') };
}

/** A list that an older release wrote may name system keys; those follow the Sandbox instead of the template. */
function listKeys(list: string | undefined): string[] {
  return (list ?? '').split(',').filter((key) => key !== '' && !isReservedKey(key));
}

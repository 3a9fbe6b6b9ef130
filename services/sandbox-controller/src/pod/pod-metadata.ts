import {
  EXTENSIONS_GROUP,
  annotations,
  isReservedKey,
  labels,
  normalisedCreator,
  withoutReservedKeys,
} from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube';
import type { JsonObject, Pod } from '@sandlot/kube';
import { trackingLabel } from '../ownership/ownership.ts';

type StringMap = Readonly<Record<string, string>>;

/** What the metadata of the Pod must contain besides what others put there. */
export interface PodMetadata {
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

/** Labels controllers put on the Sandbox and its Pod carries too; the user cannot set them (API contract, labels). */
const SYSTEM_LABELS: readonly string[] = [
  labels.warmPoolMember,
  labels.templateRefHash,
  labels.claimUid,
  labels.createdBy,
  labels.claimName,
  labels.claimSlot,
  labels.reservedFailed,
  labels.network,
];

/** Metadata of the Pod as the Sandbox stands now: the template's, then the system's, which users cannot override. */
export function wantedPodMetadata(sandbox: Sandbox): PodMetadata {
  const template = sandbox.spec.podTemplate.metadata;
  const ownLabels = withoutReservedKeys(template?.labels);
  const ownAnnotations = withoutReservedKeys(template?.annotations);
  return {
    labels: { ...ownLabels, ...trackingLabel(sandbox), ...systemLabels(sandbox) },
    annotations: {
      ...ownAnnotations,
      ...listed(annotations.propagatedLabels, ownLabels),
      ...listed(annotations.propagatedAnnotations, ownAnnotations),
    },
  };
}

/**
 * Merge patch that brings the metadata of an existing Pod up to date, undefined when it is. Keys of the template that
 * left it are removed: the Pod itself lists what came from the template. Keys others put on the Pod stay.
 */
export function podMetadataPatch(sandbox: Sandbox, pod: Pod): JsonObject | undefined {
  const wanted = wantedPodMetadata(sandbox);
  const present = { labels: pod.metadata.labels ?? {}, annotations: pod.metadata.annotations ?? {} };
  const lists = [annotations.propagatedLabels, annotations.propagatedAnnotations];
  const labelChanges = changes(present.labels, wanted.labels, [
    ...keysListed(present.annotations[annotations.propagatedLabels]),
    ...SYSTEM_LABELS,
  ]);
  const annotationChanges = changes(present.annotations, wanted.annotations, [
    ...keysListed(present.annotations[annotations.propagatedAnnotations]),
    ...lists,
  ]);
  if (labelChanges === undefined && annotationChanges === undefined) return undefined;
  return { metadata: { uid: pod.metadata.uid, labels: labelChanges, annotations: annotationChanges } };
}

/** Members to set and, as null, those of `prunable` that are present and no longer wanted; undefined when none. */
function changes(present: StringMap, wanted: StringMap, prunable: readonly string[]): JsonObject | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (present[key] !== value) patch[key] = value;
  for (const key of prunable) if (present[key] !== undefined && wanted[key] === undefined) patch[key] = null;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function systemLabels(sandbox: Sandbox): Record<string, string> {
  const given = sandbox.metadata.labels ?? {};
  const kept: Record<string, string> = {};
  if (isMadeByExtension(sandbox)) {
    for (const key of SYSTEM_LABELS) if (given[key] !== undefined && given[key] !== '') kept[key] = given[key];
  }
  const author = given[labels.createdBy];
  if (author !== undefined && author !== '') kept[labels.createdBy] = normalisedCreator(author);
  return kept;
}

/**
 * A claim or a pool controls the Sandbox, or a detached claim delivered it: that one has no owner, and its Pod must
 * keep the label its NetworkPolicy selects.
 */
function isMadeByExtension(sandbox: Sandbox): boolean {
  const owner = controllerOf(sandbox);
  if (owner === undefined) return sandbox.metadata.labels?.[labels.claimName] !== undefined;
  return owner.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`);
}

function listed(annotation: string, keys: StringMap): Record<string, string> {
  const names = Object.keys(keys).sort();
  return names.length === 0 ? {} : { [annotation]: names.join(',') };
}

/** A list on a Pod written by an older release may name system keys: they are synced, never pruned, by their own rule. */
function keysListed(list: string | undefined): string[] {
  return (list ?? '').split(',').filter((key) => key !== '' && !isReservedKey(key));
}

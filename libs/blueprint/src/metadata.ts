import { annotations, labels, mergePodMetadata, normaliseCreator } from '@sandlot/api-types';
import type { SandboxClaim, SandboxSpec, SandboxTemplate } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { buildNetworkLabels } from './slots.ts';

type Strings = Readonly<Record<string, string>>;

/** Labels and annotations of a podTemplate. */
export interface PodMetadata {
  readonly labels: Strings;
  readonly annotations: Strings;
}

/** Metadata of a pool member's podTemplate: the template's, the pool's labels, and `safe-to-evict` while unclaimed. */
export function buildMemberPodMetadata(template: SandboxTemplate, poolName: string): PodMetadata {
  const written = mergePodMetadata(template.spec.podTemplate.metadata, undefined);
  return {
    labels: {
      ...written.labels,
      [labels.warmPoolMember]: nameHash(poolName),
      [labels.templateRefHash]: nameHash(template.metadata.name ?? ''),
      [labels.createdBy]: 'controller',
    },
    annotations: { [annotations.safeToEvict]: 'true', ...written.annotations },
  };
}

/**
 * The whole metadata of a claimed Sandbox's podTemplate: that of the template, the claim and the system. Every other key is
 * removed, such as the pool's labels. The claim was validated before: it never overrides the template.
 */
export function buildClaimedPodMetadata(template: SandboxTemplate, claim: SandboxClaim): PodMetadata {
  const written = mergePodMetadata(template.spec.podTemplate.metadata, claim.spec.additionalPodMetadata);
  const createdBy = claim.metadata.labels?.[labels.createdBy];
  return {
    labels: {
      ...written.labels,
      ...(createdBy === undefined ? {} : { [labels.createdBy]: normaliseCreator(createdBy) }),
      [labels.templateRefHash]: nameHash(template.metadata.name ?? ''),
      [labels.claimUid]: claim.metadata.uid ?? '',
      ...buildNetworkLabels(claim),
    },
    annotations: written.annotations,
  };
}

/** Merge patch of a podTemplate's metadata that turns `current` into exactly `wanted`; undefined when they are equal. */
export function buildPodMetadataPatch(
  current: SandboxSpec['podTemplate']['metadata'],
  wanted: PodMetadata,
): JsonObject | undefined {
  const changed = Object.entries({
    labels: buildStringsPatch(current?.labels, wanted.labels),
    annotations: buildStringsPatch(current?.annotations, wanted.annotations),
  }).filter(([, patch]) => Object.keys(patch).length > 0);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** A key to remove becomes null. */
function buildStringsPatch(current: Strings = {}, wanted: Strings): JsonObject {
  const gone = Object.keys(current).filter((key) => !(key in wanted));
  const set = Object.entries(wanted).filter(([key, value]) => current[key] !== value);
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...Object.fromEntries(set) };
}

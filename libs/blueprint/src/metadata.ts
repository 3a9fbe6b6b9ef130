import { annotations, labels, normalisedCreator, withoutReservedKeys } from '@sandlot/api-types';
import type { SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import { nameHash } from '@sandlot/std';

type Strings = Readonly<Record<string, string>>;

/** Labels and annotations of a podTemplate. */
export interface PodMetadata {
  readonly labels: Strings;
  readonly annotations: Strings;
}

function templateMetadata(template: SandboxTemplate): PodMetadata {
  const metadata = template.spec.podTemplate.metadata;
  return { labels: withoutReservedKeys(metadata?.labels), annotations: withoutReservedKeys(metadata?.annotations) };
}

/** Metadata of a pool member's podTemplate: the template's, the pool's mark, and leave to be evicted while unclaimed. */
export function memberPodMetadata(template: SandboxTemplate, poolName: string): PodMetadata {
  const written = templateMetadata(template);
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
 * Metadata of a claimed sandbox's podTemplate, whole: the template's, the claim's and the system's labels. Anything else
 * goes, the pool's marks first among them. Keys were validated before: the claim never overrides the template.
 */
export function claimedPodMetadata(template: SandboxTemplate, claim: SandboxClaim): PodMetadata {
  const written = templateMetadata(template);
  const extra = claim.spec.additionalPodMetadata;
  const createdBy = claim.metadata.labels?.[labels.createdBy];
  return {
    labels: {
      ...written.labels,
      ...withoutReservedKeys(extra?.labels),
      ...(createdBy === undefined ? {} : { [labels.createdBy]: normalisedCreator(createdBy) }),
      [labels.templateRefHash]: nameHash(template.metadata.name ?? ''),
      [labels.claimUid]: claim.metadata.uid ?? '',
    },
    annotations: { ...written.annotations, ...withoutReservedKeys(extra?.annotations) },
  };
}

/** Members of a merge patch that turn `current` into exactly `wanted`: what has to go becomes null. */
export function replaceStrings(
  current: Strings | undefined,
  wanted: Strings,
): Record<string, string | null> | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (current?.[key] !== value) patch[key] = value;
  for (const key of Object.keys(current ?? {})) if (!(key in wanted)) patch[key] = null;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

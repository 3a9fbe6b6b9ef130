import { annotations, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';
import { lifecycleDefaultsOf } from './blueprint.ts';
import { claimedPodMetadata, replaceStrings } from './metadata.ts';
import { ownedBy } from './owner.ts';

export interface AdoptionInput {
  readonly claim: SandboxClaim;
  readonly template: SandboxTemplate;
  /** The member as last read: its resourceVersion guards the patch, its metadata says what has to go. */
  readonly member: Sandbox;
  readonly poolName: string;
  readonly traceContext?: string | undefined;
}

/**
 * W1, the commit: one merge patch that makes a pool member the claim's. It carries the member's uid and resourceVersion,
 * so that of two claims only one can succeed (API contract, the commit protocol).
 */
export function adoptionPatch({ claim, template, member, poolName, traceContext }: AdoptionInput): JsonObject {
  const { uid, resourceVersion, name } = member.metadata;
  const wanted = claimedPodMetadata(template, claim);
  const current = member.spec.podTemplate.metadata;
  const podMetadata = {
    labels: replaceStrings(current?.labels, wanted.labels),
    annotations: replaceStrings(current?.annotations, wanted.annotations),
  };
  return {
    metadata: {
      uid,
      resourceVersion,
      ownerReferences: [{ ...ownedBy(claim) }],
      labels: {
        [labels.warmPoolMember]: null,
        [labels.templateHash]: null,
        [labels.podTemplateHash]: null,
        [labels.launchType]: 'warm',
        [labels.templateRefHash]: nameHash(template.metadata.name ?? ''),
        [labels.claimUid]: claim.metadata.uid,
        [labels.createdBy]: claim.metadata.labels?.[labels.createdBy] ?? null,
        [labels.warmPool]: nameHash(poolName),
      },
      annotations: {
        [annotations.podName]: member.metadata.annotations?.[annotations.podName] ?? name,
        [annotations.traceContext]: traceContext,
      },
    },
    spec: { ...jsonOf(lifecycleDefaultsOf(template)), podTemplate: { metadata: podMetadata } },
  };
}

/** Metadata patch that brings a bound Sandbox in line with its template and claim; undefined when it already is. */
export function metadataPatch(
  sandbox: Sandbox,
  template: SandboxTemplate,
  claim: SandboxClaim,
): JsonObject | undefined {
  const wanted = claimedPodMetadata(template, claim);
  const current = sandbox.spec.podTemplate.metadata;
  const podLabels = replaceStrings(current?.labels, wanted.labels);
  const podAnnotations = replaceStrings(current?.annotations, wanted.annotations);
  if (podLabels === undefined && podAnnotations === undefined) return undefined;
  return { spec: { podTemplate: { metadata: { labels: podLabels, annotations: podAnnotations } } } };
}

/** Spec fields are JSON by construction: they came from the API server. */
function jsonOf(fields: object): JsonObject {
  return fields as JsonObject;
}

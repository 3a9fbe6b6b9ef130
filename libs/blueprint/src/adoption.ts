import { annotations, labels, launchTypes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { lifecycleDefaultsOf } from './blueprint.ts';
import { imageMark, wantedImage, withImage } from './image.ts';
import { claimedPodMetadata, podMetadataPatch } from './metadata.ts';
import { custodyOf, networkLabels } from './slots.ts';

export interface AdoptionInput {
  readonly claim: SandboxClaim;
  readonly template: SandboxTemplate;
  /** The member as last read: its resourceVersion guards the patch, and the patch removes keys of its metadata. */
  readonly member: Sandbox;
  readonly poolName: string;
  /** The slot it fills, for a detached claim. Absent: the claim becomes the owner. */
  readonly slot?: number | undefined;
  /** Trace context for the Sandbox, as the JSON of the annotation. */
  readonly traceContext?: string | undefined;
}

/**
 * W1, the commit: one merge patch by which a claim adopts a pool member. It carries the member's uid and resourceVersion, so
 * that only one of two claims succeeds (docs/reference/sandbox-claim.md#adoption).
 */
export function adoptionPatch(input: AdoptionInput): JsonObject {
  const { claim, template, member, slot, traceContext } = input;
  const { uid = '', resourceVersion = '', name = '', annotations: present = {} } = member.metadata;
  const custody = custodyOf(claim, slot);
  const podTemplate = podTemplatePatch(input);
  const image = wantedImage(claim, member.spec.podTemplate.spec);
  return {
    metadata: {
      uid,
      resourceVersion,
      // No client applies an adopted Sandbox server-side, and tracking field owners costs the API server more than the rest
      // of a patch.
      managedFields: [{}],
      ownerReferences: custody.ownerReferences.map((owner) => ({ ...owner })),
      labels: { ...adoptedLabels(input), ...custody.labels },
      annotations: {
        [annotations.podName]: present[annotations.podName] ?? name,
        ...custody.annotations,
        ...(image === undefined ? {} : imageMark(image)),
        ...(traceContext === undefined ? {} : { [annotations.traceContext]: traceContext }),
      },
    },
    spec: {
      ...jsonOf(lifecycleDefaultsOf(template)),
      ...jsonOf(custody.spec),
      ...(podTemplate === undefined ? {} : { podTemplate }),
    },
  };
}

function podTemplatePatch({ claim, template, member }: AdoptionInput): JsonObject | undefined {
  const { metadata, spec } = member.spec.podTemplate;
  const image = wantedImage(claim, spec);
  const patch = {
    ...optional('metadata', podMetadataPatch(metadata, claimedPodMetadata(template, claim))),
    ...(image === undefined ? {} : { spec: jsonOf({ containers: withImage(spec, image) }) }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function optional(name: string, patch: JsonObject | undefined): JsonObject {
  return patch === undefined ? {} : { [name]: patch };
}

function adoptedLabels({ claim: { metadata }, template, poolName }: AdoptionInput): JsonObject {
  return {
    [labels.warmPoolMember]: null,
    [labels.templateHash]: null,
    [labels.podTemplateHash]: null,
    [labels.launchType]: launchTypes.warm,
    [labels.templateRefHash]: nameHash(template.metadata.name ?? ''),
    [labels.claimUid]: metadata.uid ?? '',
    [labels.createdBy]: metadata.labels?.[labels.createdBy] ?? null,
    [labels.warmPool]: nameHash(poolName),
  };
}

/** Merge patch that brings a bound Sandbox's pod metadata in line with template and claim; undefined when it already is. */
export function metadataPatch(
  sandbox: Sandbox,
  template: SandboxTemplate,
  claim: SandboxClaim,
): JsonObject | undefined {
  const podMetadata = podMetadataPatch(sandbox.spec.podTemplate.metadata, claimedPodMetadata(template, claim));
  if (podMetadata === undefined) return undefined;
  // A claim may ask for network rules of its own after the adoption; the podTemplate then carries the label, too.
  const own = networkLabels(claim);
  const labelled = Object.keys(own).length === 0 ? {} : { metadata: { labels: { ...own } } };
  return { ...labelled, spec: { podTemplate: { metadata: podMetadata } } };
}

/** Spec fields came from the API server, so they are JSON. */
function jsonOf(fields: object): JsonObject {
  return fields as JsonObject;
}

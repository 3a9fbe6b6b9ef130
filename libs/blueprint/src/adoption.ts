import { annotations, labels, launchTypes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { getLifecycleDefaults } from './blueprint.ts';
import { buildInplaceMarks, findInplaceChange, withInplaceChange } from './inplace.ts';
import { buildClaimedPodMetadata, buildPodMetadataPatch } from './metadata.ts';
import { buildCustody, buildNetworkLabels } from './slots.ts';

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
export function buildAdoptionPatch(input: AdoptionInput): JsonObject {
  const { claim, template, member, slot, traceContext } = input;
  const { uid = '', resourceVersion = '', name = '', annotations: present = {} } = member.metadata;
  const custody = buildCustody(claim, slot);
  const podTemplate = buildPodTemplatePatch(input);
  const change = findInplaceChange(claim, member.spec.podTemplate.spec);
  return {
    metadata: {
      uid,
      resourceVersion,
      // No client applies an adopted Sandbox server-side, and tracking field owners costs the API server more than the rest
      // of a patch.
      managedFields: [{}],
      ownerReferences: custody.ownerReferences.map((owner) => ({ ...owner })),
      labels: { ...buildAdoptedLabels(input), ...custody.labels },
      annotations: {
        [annotations.podName]: present[annotations.podName] ?? name,
        ...custody.annotations,
        ...buildInplaceMarks(change),
        ...(traceContext === undefined ? {} : { [annotations.traceContext]: traceContext }),
      },
    },
    spec: {
      ...getJson(getLifecycleDefaults(template)),
      ...getJson(custody.spec),
      ...(podTemplate === undefined ? {} : { podTemplate }),
    },
  };
}

function buildPodTemplatePatch({ claim, template, member }: AdoptionInput): JsonObject | undefined {
  const { metadata, spec } = member.spec.podTemplate;
  const change = findInplaceChange(claim, spec);
  const patch = {
    ...optional('metadata', buildPodMetadataPatch(metadata, buildClaimedPodMetadata(template, claim))),
    ...(change === undefined ? {} : { spec: getJson({ containers: withInplaceChange(spec, change) }) }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function optional(name: string, patch: JsonObject | undefined): JsonObject {
  return patch === undefined ? {} : { [name]: patch };
}

function buildAdoptedLabels({ claim: { metadata }, template, poolName }: AdoptionInput): JsonObject {
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
export function buildMetadataPatch(
  sandbox: Sandbox,
  template: SandboxTemplate,
  claim: SandboxClaim,
): JsonObject | undefined {
  const podMetadata = buildPodMetadataPatch(
    sandbox.spec.podTemplate.metadata,
    buildClaimedPodMetadata(template, claim),
  );
  if (podMetadata === undefined) return undefined;
  // A claim may ask for network rules of its own after the adoption; the podTemplate then carries the label, too.
  const own = buildNetworkLabels(claim);
  const labelled = Object.keys(own).length === 0 ? {} : { metadata: { labels: { ...own } } };
  return { ...labelled, spec: { podTemplate: { metadata: podMetadata } } };
}

/** Spec fields came from the API server, so they are JSON. */
function getJson(fields: object): JsonObject {
  return fields as JsonObject;
}

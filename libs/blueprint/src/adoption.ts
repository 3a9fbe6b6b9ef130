import { annotations, labels, launchTypes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';
import { lifecycleDefaultsOf } from './blueprint.ts';
import { claimedPodMetadata, podMetadataPatch } from './metadata.ts';
import { custodyOf } from './slots.ts';

export interface AdoptionInput {
  readonly claim: SandboxClaim;
  readonly template: SandboxTemplate;
  /** The member as last read: its resourceVersion guards the patch, its metadata says what has to go. */
  readonly member: Sandbox;
  readonly poolName: string;
  /** Of a detached claim: the slot it fills. Absent: the claim becomes the owner. */
  readonly slot?: number | undefined;
  /** Trace context to hand on, as the annotation's JSON. */
  readonly traceContext?: string | undefined;
}

/**
 * W1, the commit: one merge patch that makes a pool member the claim's. It carries the member's uid and resourceVersion,
 * so that of two claims only one can succeed (API contract, the commit protocol).
 */
export function adoptionPatch(input: AdoptionInput): JsonObject {
  const { claim, template, member, slot, traceContext } = input;
  const { uid = '', resourceVersion = '', name = '', annotations: present = {} } = member.metadata;
  const podMetadata = podMetadataPatch(member.spec.podTemplate.metadata, claimedPodMetadata(template, claim));
  const custody = custodyOf(claim, slot);
  return {
    metadata: {
      uid,
      resourceVersion,
      ownerReferences: custody.ownerReferences.map((owner) => ({ ...owner })),
      labels: { ...adoptedLabels(input), ...custody.labels },
      annotations: {
        [annotations.podName]: present[annotations.podName] ?? name,
        ...custody.annotations,
        ...(traceContext === undefined ? {} : { [annotations.traceContext]: traceContext }),
      },
    },
    spec: {
      ...jsonOf(lifecycleDefaultsOf(template)),
      ...jsonOf(custody.spec),
      ...(podMetadata === undefined ? {} : { podTemplate: { metadata: podMetadata } }),
    },
  };
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
  return podMetadata === undefined ? undefined : { spec: { podTemplate: { metadata: podMetadata } } };
}

/** Spec fields are JSON by construction: they came from the API server. */
function jsonOf(fields: object): JsonObject {
  return fields as JsonObject;
}

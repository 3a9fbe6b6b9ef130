import { annotations, labels, launchTypes, sandboxes } from '@sandlot/api-types';
import type { PodSpec, Sandbox, SandboxClaim, SandboxSpec, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { apiVersionOf } from '@sandlot/kube/objects';
import type { ObjectMeta } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { blueprintHashOf, blueprintOf, lifecycleDefaultsOf } from './blueprint.ts';
import type { PodDefaults } from './defaults.ts';
import { wantedImage, withImage } from './image.ts';
import { claimedPodMetadata, memberPodMetadata } from './metadata.ts';
import type { PodMetadata } from './metadata.ts';
import { ownedBy } from './owner.ts';
import { custodyOf } from './slots.ts';

/** The Sandbox's name becomes the pod's host name, which holds 63 characters. */
const MAX_NAME = 63;

/** The annotation names the future Pod from the start, which saves the sandbox-controller a write before Ready. */
function sandboxOf(metadata: ObjectMeta & { readonly name: string }, spec: SandboxSpec): Sandbox {
  const named = { ...metadata.annotations, [annotations.podName]: metadata.name };
  return {
    apiVersion: apiVersionOf(sandboxes),
    kind: sandboxes.kind,
    metadata: { ...metadata, annotations: named },
    spec,
  };
}

function withPodMetadata(spec: SandboxSpec, metadata: PodMetadata): SandboxSpec {
  const { labels: podLabels, annotations: podAnnotations } = metadata;
  return {
    ...spec,
    podTemplate: { ...spec.podTemplate, metadata: { labels: { ...podLabels }, annotations: { ...podAnnotations } } },
  };
}

export interface MemberInput {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate;
  readonly defaults: PodDefaults;
  /** Random lower-case letters and digits. The controller chooses them, so that a repeated create is recognised. */
  readonly suffix: string;
}

/** As much of the pool's name as fits; a cut name must not end in a dot or dash. */
function memberName(poolName: string, suffix: string): string {
  const prefix = poolName.slice(0, MAX_NAME - suffix.length - 1).replace(/[.-]+$/, '');
  return `${prefix}-${suffix}`;
}

/** An unclaimed Sandbox of a pool, running and ready to be adopted. */
export function memberSandbox({ pool, template, defaults, suffix }: MemberInput): Sandbox {
  const poolName = pool.metadata.name ?? '';
  const templateName = template.metadata.name ?? '';
  const hash = blueprintHashOf(template, defaults);
  return sandboxOf(
    {
      name: memberName(poolName, suffix),
      namespace: pool.metadata.namespace,
      labels: {
        [labels.warmPoolMember]: nameHash(poolName),
        [labels.templateRefHash]: nameHash(templateName),
        [labels.templateHash]: hash,
        [labels.podTemplateHash]: hash,
        [labels.createdBy]: 'controller',
      },
      annotations: { [annotations.templateRef]: templateName },
      ownerReferences: [ownedBy(pool)],
    },
    withPodMetadata(blueprintOf(template, defaults), memberPodMetadata(template, poolName)),
  );
}

export interface ColdStartInput {
  readonly claim: SandboxClaim;
  readonly template: SandboxTemplate;
  readonly defaults: PodDefaults;
  /** Pod spec with the variables of the claim; absent: that of the template. */
  readonly podSpec?: SandboxSpec['podTemplate']['spec'] | undefined;
  /** The template's volumes merged with the claim's. */
  readonly volumeClaimTemplates?: SandboxSpec['volumeClaimTemplates'];
  /** The slot it fills, for a detached claim. Absent: the claim is the owner. */
  readonly slot?: number | undefined;
}

/**
 * The Sandbox of a cold start, with the lifecycle of its template. A bound claim gives it its name and controls it; for a
 * detached claim its name is `<claim>-<slot>` and it has no controller.
 */
export function coldSandbox(input: ColdStartInput): Sandbox {
  const { claim, template, defaults, slot } = input;
  const blueprint = blueprintOf(template, defaults);
  const custody = custodyOf(claim, slot);
  const templateName = template.metadata.name ?? '';
  const createdBy = claim.metadata.labels?.[labels.createdBy];
  const volumes = input.volumeClaimTemplates ?? blueprint.volumeClaimTemplates;
  const spec: SandboxSpec = {
    ...blueprint,
    ...lifecycleDefaultsOf(template),
    ...custody.spec,
    ...(volumes === undefined ? {} : { volumeClaimTemplates: volumes }),
    podTemplate: { ...blueprint.podTemplate, spec: claimedPod(input, blueprint.podTemplate.spec) },
  };
  return sandboxOf(
    {
      name: coldName(claim, slot),
      namespace: claim.metadata.namespace,
      labels: {
        ...custody.labels,
        [labels.claimUid]: claim.metadata.uid ?? '',
        [labels.templateRefHash]: nameHash(templateName),
        [labels.launchType]: launchTypes.cold,
        ...(createdBy === undefined ? {} : { [labels.createdBy]: createdBy }),
      },
      annotations: { ...custody.annotations, [annotations.templateRef]: templateName },
      ownerReferences: custody.ownerReferences,
    },
    withPodMetadata(spec, claimedPodMetadata(template, claim)),
  );
}

/** The pod spec with the variables and the image of the claim. */
function claimedPod({ claim, podSpec }: ColdStartInput, ofTemplate: PodSpec): PodSpec {
  const spec = podSpec ?? ofTemplate;
  const image = wantedImage(claim, spec);
  return image === undefined ? spec : { ...spec, containers: withImage(spec, image) };
}

/** Name of the Sandbox of a cold start, for the claim or one of its slots. */
export function coldName({ metadata: { name = '' } }: SandboxClaim, slot: number | undefined): string {
  return slot === undefined ? name : `${name}-${slot}`;
}

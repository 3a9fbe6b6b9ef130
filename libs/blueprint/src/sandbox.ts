import { annotations, formatNetworkPolicyName, labels, launchTypes, sandboxes } from '@sandlot/api-types';
import type { PodSpec, Sandbox, SandboxClaim, SandboxSpec, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { getApiVersion } from '@sandlot/kube/objects';
import type { ObjectMeta } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { getBlueprintHash, buildBlueprint, getLifecycleDefaults } from './blueprint.ts';
import type { PodDefaults } from './defaults.ts';
import { findInplaceChange, withInplaceChange } from './inplace.ts';
import { buildClaimedPodMetadata, buildMemberPodMetadata } from './metadata.ts';
import type { PodMetadata } from './metadata.ts';
import { ownedBy } from './owner.ts';
import { buildCustody } from './slots.ts';
import { isSteered } from './steered.ts';

/** The Sandbox's name becomes the pod's host name, which holds 63 characters. */
const MAX_NAME = 63;

/** The annotation names the future Pod from the start, which saves the sandbox-controller a write before Ready. */
export function buildSandbox(metadata: ObjectMeta & { readonly name: string }, spec: SandboxSpec): Sandbox {
  const named = { ...metadata.annotations, [annotations.podName]: metadata.name };
  return {
    apiVersion: getApiVersion(sandboxes),
    kind: sandboxes.kind,
    metadata: { ...metadata, annotations: named },
    spec,
  };
}

export function withPodMetadata(spec: SandboxSpec, metadata: PodMetadata): SandboxSpec {
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
  /** Name of the golden snapshot from which it starts, if it can be restored; absent: it boots. */
  readonly goldenSnapshot?: string | undefined;
}

/** As much of the pool's name as fits; a cut name must not end in a dot or dash. */
function formatMemberName(poolName: string, suffix: string): string {
  const prefix = poolName.slice(0, MAX_NAME - suffix.length - 1).replace(/[.-]+$/, '');
  return `${prefix}-${suffix}`;
}

/** An unclaimed Sandbox of a pool, running and ready to be adopted. */
export function buildMemberSandbox({ pool, template, defaults, suffix, goldenSnapshot }: MemberInput): Sandbox {
  const poolName = pool.metadata.name ?? '';
  const templateName = template.metadata.name ?? '';
  const hash = getBlueprintHash(template, defaults);
  const start = goldenSnapshot === undefined ? {} : { restoreFrom: formatGoldenStart(goldenSnapshot) };
  return buildSandbox(
    {
      name: formatMemberName(poolName, suffix),
      namespace: pool.metadata.namespace,
      labels: {
        [labels.warmPoolMember]: nameHash(poolName),
        [labels.templateRefHash]: nameHash(templateName),
        [labels.templateHash]: hash,
        [labels.podTemplateHash]: hash,
        [labels.createdBy]: 'controller',
        ...buildEgressLabel(template, defaults),
      },
      annotations: buildOrigin(template),
      ownerReferences: [ownedBy(pool)],
    },
    withPodMetadata({ ...buildBlueprint(template, defaults), ...start }, buildMemberPodMetadata(template, poolName)),
  );
}

/** A pool wants members more than it wants them restored. */
function formatGoldenStart(snapshotName: string): SandboxSpec['restoreFrom'] {
  return { snapshotName, onFailure: 'Boot' };
}

/** Where the Sandbox comes from, and the NetworkPolicy that its Pods need for as long as it exists. */
export function buildOrigin({ metadata: { name = '' }, spec }: SandboxTemplate): Record<string, string> {
  const isManaged = spec.networkPolicyManagement !== 'Unmanaged';
  return {
    [annotations.templateRef]: name,
    ...(isManaged ? { [annotations.networkPolicy]: formatNetworkPolicyName(name) } : {}),
  };
}

/** The label of Sandboxes whose Pods ask the egress resolver. */
export function buildEgressLabel(template: SandboxTemplate, defaults: PodDefaults): Record<string, string> {
  return isSteered(template, defaults) ? { [labels.egress]: 'steered' } : {};
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
 * The Sandbox of a cold start, with the lifecycle of its template. A bound claim gives it its own name, or the
 * one it asks for, and controls it; for a detached claim its name is `<claim>-<slot>` and it has no controller.
 */
export function buildColdSandbox(input: ColdStartInput): Sandbox {
  const { claim, template, defaults, slot } = input;
  const blueprint = buildBlueprint(template, defaults);
  const custody = buildCustody(claim, slot);
  const templateName = template.metadata.name ?? '';
  const createdBy = claim.metadata.labels?.[labels.createdBy];
  const volumes = input.volumeClaimTemplates ?? blueprint.volumeClaimTemplates;
  const spec: SandboxSpec = {
    ...blueprint,
    ...getLifecycleDefaults(template),
    ...custody.spec,
    ...(volumes === undefined ? {} : { volumeClaimTemplates: volumes }),
    podTemplate: { ...blueprint.podTemplate, spec: buildClaimedPod(input, blueprint.podTemplate.spec) },
  };
  return buildSandbox(
    {
      name: formatColdName(claim, slot),
      namespace: claim.metadata.namespace,
      labels: {
        ...custody.labels,
        [labels.claimUid]: claim.metadata.uid ?? '',
        [labels.templateRefHash]: nameHash(templateName),
        [labels.launchType]: launchTypes.cold,
        ...buildEgressLabel(template, defaults),
        ...(createdBy === undefined ? {} : { [labels.createdBy]: createdBy }),
      },
      annotations: { ...custody.annotations, ...buildOrigin(template) },
      ownerReferences: custody.ownerReferences,
    },
    withPodMetadata(spec, buildClaimedPodMetadata(template, claim)),
  );
}

/** The pod spec with the variables, the image and the CPU of the claim. */
function buildClaimedPod({ claim, podSpec }: ColdStartInput, ofTemplate: PodSpec): PodSpec {
  const spec = podSpec ?? ofTemplate;
  const change = findInplaceChange(claim, spec);
  return change === undefined ? spec : { ...spec, containers: withInplaceChange(spec, change) };
}

/** Name of the Sandbox of a cold start, for the claim or one of its slots. */
export function formatColdName({ metadata, spec }: SandboxClaim, slot: number | undefined): string {
  const { name = '' } = metadata;
  return slot === undefined ? (spec.sandboxName ?? name) : `${name}-${slot}`;
}

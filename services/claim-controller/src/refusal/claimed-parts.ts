import { injectEnv, mergeVolumeClaimTemplates } from '@sandlot/api-types';
import type { PodSpec, SandboxClaim, SandboxTemplate, VolumeClaimTemplate } from '@sandlot/api-types';
import { buildBlueprint } from '@sandlot/blueprint';
import type { ColdStartInput, PodDefaults } from '@sandlot/blueprint';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { listContainerVariables } from '../runtime/claim-env.ts';
import { mountDynamicVolumes } from '../volumes/mount-volumes.ts';
import type { VolumeBase } from '../volumes/mount-volumes.ts';
import type { ReadVolumes } from '../volumes/snapshot-volumes.ts';
import { hasDynamicVolumes } from '../volumes/volume-sources.ts';

/** The parts of a cold start in which the claim differs from its template. */
export function buildClaimedParts(
  { claim, podDefaults, persistentVolumes }: ClaimSnapshot,
  template: SandboxTemplate,
): Pick<ColdStartInput, 'podSpec' | 'volumeClaimTemplates'> {
  if (hasDynamicVolumes(claim)) {
    const read: ReadVolumes = persistentVolumes === 'off' ? new Map() : persistentVolumes;
    const mounted = mountDynamicVolumes(claim, buildVolumeBase(claim, template, podDefaults), read);
    return { podSpec: mounted.podSpec, volumeClaimTemplates: [...mounted.volumeClaimTemplates] };
  }
  return {
    podSpec: findClaimedPodSpec(claim, template, podDefaults),
    volumeClaimTemplates: findClaimedVolumes(claim, template),
  };
}

/** What the claim's dynamicVolumes are added to. */
export function buildVolumeBase(claim: SandboxClaim, template: SandboxTemplate, defaults: PodDefaults): VolumeBase {
  return {
    podSpec: findClaimedPodSpec(claim, template, defaults) ?? buildBlueprint(template, defaults).podTemplate.spec,
    volumeClaimTemplates: findClaimedVolumes(claim, template) ?? template.spec.volumeClaimTemplates ?? [],
  };
}

/** Pod spec of a cold start with the claim's variables; undefined when the claim has none. */
function findClaimedPodSpec(
  claim: SandboxClaim,
  template: SandboxTemplate,
  defaults: PodDefaults,
): PodSpec | undefined {
  if (listContainerVariables(claim, template).length === 0) return undefined;
  const outcome = injectClaimEnv(claim, template, defaults);
  return outcome.kind === 'injected' ? outcome.podSpec : undefined;
}

/** Volumes of a cold start with the claim's; undefined when the claim has none. */
function findClaimedVolumes(claim: SandboxClaim, template: SandboxTemplate): VolumeClaimTemplate[] | undefined {
  if ((claim.spec.volumeClaimTemplates ?? []).length === 0) return undefined;
  const outcome = mergeClaimVolumes(claim, template);
  return outcome.kind === 'merged' ? outcome.volumeClaimTemplates : undefined;
}

/** The template's pod spec with the claim's container variables, or why its policy rejects them. */
export function injectClaimEnv(
  claim: SandboxClaim,
  template: SandboxTemplate,
  defaults: PodDefaults,
): ReturnType<typeof injectEnv> {
  const podSpec = buildBlueprint(template, defaults).podTemplate.spec;
  return injectEnv({
    env: listContainerVariables(claim, template),
    podSpec,
    policy: template.spec.envVarsInjectionPolicy,
  });
}

/** The volumeClaimTemplates of template and claim together, or why the template's policy rejects the claim's. */
export function mergeClaimVolumes(
  claim: SandboxClaim,
  template: SandboxTemplate,
): ReturnType<typeof mergeVolumeClaimTemplates> {
  return mergeVolumeClaimTemplates({
    template: template.spec.volumeClaimTemplates ?? [],
    claim: claim.spec.volumeClaimTemplates ?? [],
    policy: template.spec.volumeClaimTemplatesPolicy,
  });
}

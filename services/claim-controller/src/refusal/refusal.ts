import {
  claimMessages,
  claimReasons,
  injectEnv,
  mergeVolumeClaimTemplates,
  metadataRefusal,
  runtimeEnvRefusal,
} from '@sandlot/api-types';
import type { PodSpec, SandboxClaim, SandboxTemplate, VolumeClaimTemplate } from '@sandlot/api-types';
import { blueprintOf } from '@sandlot/blueprint';
import type { ColdStartInput, PodDefaults } from '@sandlot/blueprint';
import type { Report } from '../plan/report.ts';
import { containerVariables, hasRuntime, takesSecrets } from '../runtime/claim-env.ts';
import {
  dynamicVolumesRefusal,
  hasDynamicVolumes,
  mountDynamicVolumes,
  persistentVolumeProblem,
} from '../volumes/dynamic-volumes.ts';
import type { SeenVolumes, VolumeBase } from '../volumes/dynamic-volumes.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

type Check = (snapshot: ClaimSnapshot, template: SandboxTemplate) => Omit<Report, 'final'> | undefined;

/** In order of precedence (API contract, claim status). */
const CHECKS: readonly Check[] = [secretsOf, environmentOf, runtimeEnvsOf, volumesOf, imageOf, dynamicVolumesOf];

/**
 * Why this claim can never be served as it is written, or undefined when it can. Final until the claim or its template
 * changes: a user's mistake is not retried.
 */
export function refusalOf(snapshot: ClaimSnapshot, template: SandboxTemplate): Report | undefined {
  const metadata = metadataRefusalOf(snapshot);
  if (metadata !== undefined) return metadata;
  for (const check of CHECKS) {
    const finding = check(snapshot, template);
    if (finding !== undefined) return { ...finding, final: true };
  }
  return undefined;
}

/** Why the claim's pod metadata can never be accepted. It is live, so this holds for a bound claim too. */
export function metadataRefusalOf({ claim, origin, allowedLabelDomains }: ClaimSnapshot): Report | undefined {
  const detail = metadataRefusal({
    additional: claim.spec.additionalPodMetadata,
    template: origin.kind === 'found' ? origin.template.spec.podTemplate.metadata : undefined,
    allowedLabelDomains,
  });
  if (detail === undefined) return undefined;
  return { reason: claimReasons.invalidMetadata, message: claimMessages.invalidMetadata(detail), final: true };
}

/** After the others, which say what the volumes are added to. */
function dynamicVolumesOf(
  { claim, podDefaults, persistentVolumes }: ClaimSnapshot,
  template: SandboxTemplate,
): ReturnType<Check> {
  if (!hasDynamicVolumes(claim)) return undefined;
  const base = volumeBase(claim, template, podDefaults);
  const allowsPersistentVolumes = persistentVolumes !== 'off';
  const message = dynamicVolumesRefusal({ claim, template, base, allowsPersistentVolumes });
  return message === undefined ? undefined : { reason: claimReasons.dynamicVolumesRejected, message };
}

/**
 * Why a PersistentVolume that the claim names cannot be had. Not final: it may be made or labelled later, without an
 * event that reaches us.
 */
export function persistentVolumeReport({ claim, persistentVolumes }: ClaimSnapshot): Report | undefined {
  if (persistentVolumes === 'off') return undefined;
  const message = persistentVolumeProblem(claim, persistentVolumes);
  return message === undefined ? undefined : { reason: claimReasons.dynamicVolumesRejected, message };
}

/** Whoever may create claims would otherwise read Secrets through their sandboxes: the installation has to allow it. */
function secretsOf({ claim, envsFromSecrets }: ClaimSnapshot): ReturnType<Check> {
  if (envsFromSecrets || !takesSecrets(claim)) return undefined;
  const detail =
    'envs with valueFrom are switched off in this installation; set the chart value claimController.envsFromSecrets=true, or give plain values';
  return {
    reason: claimReasons.envVarsInjectionRejected,
    message: claimMessages.envVarsInjectionRejected(detail),
  };
}

function environmentOf({ claim, podDefaults }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const outcome = injected(claim, template, podDefaults);
  return outcome.kind === 'injected'
    ? undefined
    : {
        reason: claimReasons.envVarsInjectionRejected,
        message: claimMessages.envVarsInjectionRejected(outcome.detail),
      };
}

/** What the daemon is given obeys the same policy as what the container would be. */
function runtimeEnvsOf({ claim, podDefaults }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const { envs = [] } = claim.spec;
  if (envs.length === 0 || !hasRuntime(template)) return undefined;
  const podSpec = blueprintOf(template, podDefaults).podTemplate.spec;
  const names = envs.map(({ name }) => name);
  const detail = runtimeEnvRefusal({ names, podSpec, policy: template.spec.envVarsInjectionPolicy });
  if (detail === undefined) return undefined;
  return {
    reason: claimReasons.envVarsInjectionRejected,
    message: claimMessages.envVarsInjectionRejected(detail),
  };
}

function volumesOf({ claim }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const outcome = merged(claim, template);
  return outcome.kind === 'merged'
    ? undefined
    : { reason: claimReasons.volumeClaimTemplatesError, message: outcome.message };
}

/** An image is allowed by prefix, which a template without a policy has none of. */
function imageOf({ claim }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const image = claim.spec.inplaceUpdate?.image;
  if (image === undefined) return undefined;
  const { allowedImages = [] } = template.spec.imageOverridePolicy ?? {};
  if (allowedImages.some((prefix) => image.startsWith(prefix))) return undefined;
  const message = claimMessages.imageOverrideRejected(image, allowedImages);
  return { reason: claimReasons.imageOverrideRejected, message };
}

function injected(claim: SandboxClaim, template: SandboxTemplate, defaults: PodDefaults): ReturnType<typeof injectEnv> {
  const podSpec = blueprintOf(template, defaults).podTemplate.spec;
  return injectEnv({ env: containerVariables(claim, template), podSpec, policy: template.spec.envVarsInjectionPolicy });
}

function merged(claim: SandboxClaim, template: SandboxTemplate): ReturnType<typeof mergeVolumeClaimTemplates> {
  return mergeVolumeClaimTemplates({
    template: template.spec.volumeClaimTemplates ?? [],
    claim: claim.spec.volumeClaimTemplates ?? [],
    policy: template.spec.volumeClaimTemplatesPolicy,
  });
}

/** What a cold start of the claim is made of, where it is not the template's own. */
export function claimedParts(
  { claim, podDefaults, persistentVolumes }: ClaimSnapshot,
  template: SandboxTemplate,
): Pick<ColdStartInput, 'podSpec' | 'volumeClaimTemplates'> {
  if (hasDynamicVolumes(claim)) {
    const seen: SeenVolumes = persistentVolumes === 'off' ? new Map() : persistentVolumes;
    const mounted = mountDynamicVolumes(claim, volumeBase(claim, template, podDefaults), seen);
    return { podSpec: mounted.podSpec, volumeClaimTemplates: [...mounted.volumeClaimTemplates] };
  }
  return {
    podSpec: claimedPodSpec(claim, template, podDefaults),
    volumeClaimTemplates: claimedVolumes(claim, template),
  };
}

function volumeBase(claim: SandboxClaim, template: SandboxTemplate, defaults: PodDefaults): VolumeBase {
  return {
    podSpec: claimedPodSpec(claim, template, defaults) ?? blueprintOf(template, defaults).podTemplate.spec,
    volumeClaimTemplates: claimedVolumes(claim, template) ?? template.spec.volumeClaimTemplates ?? [],
  };
}

/** Pod spec of a cold start with the claim's variables; undefined when the claim has none. */
function claimedPodSpec(claim: SandboxClaim, template: SandboxTemplate, defaults: PodDefaults): PodSpec | undefined {
  if (containerVariables(claim, template).length === 0) return undefined;
  const outcome = injected(claim, template, defaults);
  return outcome.kind === 'injected' ? outcome.podSpec : undefined;
}

/** Volumes of a cold start with the claim's; undefined when the claim has none. */
function claimedVolumes(claim: SandboxClaim, template: SandboxTemplate): VolumeClaimTemplate[] | undefined {
  if ((claim.spec.volumeClaimTemplates ?? []).length === 0) return undefined;
  const outcome = merged(claim, template);
  return outcome.kind === 'merged' ? outcome.volumeClaimTemplates : undefined;
}

import {
  claimMessages,
  claimReasons,
  findApiKey,
  findAskedCpu,
  findEgressWish,
  findOverlap,
  getHeaderSource,
  headerRules,
  findMetadataRefusal,
  findResourcesRefusal,
  findRuntimeEnvRefusal,
  hasStoredEnvs,
  needsEgressProxy,
  namesSecrets,
} from '@sandlot/api-types';
import type { HeaderRule, SandboxTemplate } from '@sandlot/api-types';
import { buildBlueprint, isSteered } from '@sandlot/blueprint';
import type { Report } from '../plan/report.ts';
import type { ClaimSnapshot, EgressRulesPolicy } from '../plan/snapshot.ts';
import { hasRuntime, NO_STORED_ENVS } from '../runtime/claim-env.ts';
import { findPersistentVolumeProblem } from '../volumes/persistent-volume-problem.ts';
import { findDynamicVolumesRefusal } from '../volumes/dynamic-volumes-refusal.ts';
import { hasDynamicVolumes } from '../volumes/volume-sources.ts';
import { injectClaimEnv, mergeClaimVolumes, buildVolumeBase } from './claimed-parts.ts';

type Check = (snapshot: ClaimSnapshot, template: SandboxTemplate) => Omit<Report, 'final'> | undefined;

/** In order of precedence (docs/reference/sandbox-claim.md#conditions). */
const CHECKS: readonly Check[] = [
  checkSecrets,
  checkStoredEnvs,
  checkEnvironment,
  checkRuntimeEnvs,
  checkVolumes,
  checkImage,
  checkResources,
  checkDynamicVolumes,
  checkName,
  checkEgress,
  checkEgressRules,
];

/**
 * Why this claim can never be served as it is written; undefined when it can. Final until the claim or its template
 * changes: the controller does not retry a user's mistake.
 */
export function decideRefusal(snapshot: ClaimSnapshot, template: SandboxTemplate): Report | undefined {
  const metadata = decideMetadataRefusal(snapshot);
  if (metadata !== undefined) return metadata;
  for (const check of CHECKS) {
    const finding = check(snapshot, template);
    if (finding !== undefined) return { ...finding, final: true };
  }
  return undefined;
}

/** Why the claim's pod metadata can never be accepted. It may change after binding, so a bound claim can be refused too. */
export function decideMetadataRefusal({ claim, source, allowedLabelDomains }: ClaimSnapshot): Report | undefined {
  const detail = findMetadataRefusal({
    additional: claim.spec.additionalPodMetadata,
    template: source.kind === 'found' ? source.template.spec.podTemplate.metadata : undefined,
    allowedLabelDomains,
  });
  if (detail === undefined) return undefined;
  return { reason: claimReasons.invalidMetadata, message: claimMessages.invalidMetadata(detail), final: true };
}

/** Why the claim cannot have a PersistentVolume that it names. Not final: its owner may create or label it later. */
export function decideVolumeReport({ claim, persistentVolumes }: ClaimSnapshot): Report | undefined {
  if (persistentVolumes === 'off') return undefined;
  const message = findPersistentVolumeProblem(claim, persistentVolumes);
  return message === undefined ? undefined : { reason: claimReasons.dynamicVolumesRejected, message };
}

/** Users who may create claims could read Secrets through their sandboxes, so the installation has to allow it. */
function checkSecrets({ claim, envsFromSecrets }: ClaimSnapshot): ReturnType<Check> {
  if (envsFromSecrets || !namesSecrets(claim)) return undefined;
  return findEnvRejection(
    'envs with valueFrom are switched off in this installation; set the chart value claimController.envsFromSecrets=true, or give plain values',
  );
}

/** A container could have them only from a Secret that the whole namespace can read. */
function checkStoredEnvs({ claim, canReadStoredEnvs }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  if (!hasStoredEnvs(claim)) return undefined;
  if (!canReadStoredEnvs) return findEnvRejection(NO_STORED_ENVS);
  if (hasRuntime(template)) return undefined;
  return findEnvRejection(
    `SandboxTemplate "${template.metadata.name ?? ''}" has no daemon that could receive the variables of an API create; set its runtime.inject, or create the sandbox without variables`,
  );
}

function checkEnvironment({ claim, podDefaults }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const outcome = injectClaimEnv(claim, template, podDefaults);
  return outcome.kind === 'injected' ? undefined : findEnvRejection(outcome.detail);
}

/** The same policy rules over the daemon's variables and the container's. */
function checkRuntimeEnvs({ claim, podDefaults }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const { envs = [] } = claim.spec;
  if (envs.length === 0 || !hasRuntime(template)) return undefined;
  const podSpec = buildBlueprint(template, podDefaults).podTemplate.spec;
  const names = envs.map(({ name }) => name);
  const detail = findRuntimeEnvRefusal({ names, podSpec, policy: template.spec.envVarsInjectionPolicy });
  return detail === undefined ? undefined : findEnvRejection(detail);
}

function findEnvRejection(detail: string): ReturnType<Check> {
  return {
    reason: claimReasons.envVarsInjectionRejected,
    message: claimMessages.envVarsInjectionRejected(detail),
  };
}

function checkVolumes({ claim }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const outcome = mergeClaimVolumes(claim, template);
  return outcome.kind === 'merged'
    ? undefined
    : { reason: claimReasons.volumeClaimTemplatesError, message: outcome.message };
}

/** Images are allowed by prefix; a template without a policy allows none. */
function checkImage({ claim }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const image = claim.spec.inplaceUpdate?.image;
  if (image === undefined) return undefined;
  const { allowedImages = [] } = template.spec.imageOverridePolicy ?? {};
  if (allowedImages.some((prefix) => image.startsWith(prefix))) return undefined;
  const message = claimMessages.imageOverrideRejected(image, allowedImages);
  return { reason: claimReasons.imageOverrideRejected, message };
}

/** The same for a warm and a cold start, so that the answer does not depend on the stock of a pool. */
function checkResources({ claim, podDefaults }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const asked = findAskedCpu(claim);
  if (asked === undefined) return undefined;
  const detail = findResourcesRefusal({
    asked,
    podSpec: buildBlueprint(template, podDefaults).podTemplate.spec,
    policy: template.spec.resourcesOverridePolicy,
    mayGetContainer: hasRuntime(template),
  });
  if (detail === undefined) return undefined;
  return {
    reason: claimReasons.resourcesOverrideRejected,
    message: claimMessages.resourcesOverrideRejected(detail),
  };
}

/** Last, since the earlier checks cover what the volumes are added to. */
function checkDynamicVolumes(
  { claim, podDefaults, persistentVolumes }: ClaimSnapshot,
  template: SandboxTemplate,
): ReturnType<Check> {
  if (!hasDynamicVolumes(claim)) return undefined;
  const base = buildVolumeBase(claim, template, podDefaults);
  const allowsPersistentVolumes = persistentVolumes !== 'off';
  const message = findDynamicVolumesRefusal({ claim, template, base, allowsPersistentVolumes });
  return message === undefined ? undefined : { reason: claimReasons.dynamicVolumesRejected, message };
}

/**
 * Disks and Services have names derived from the Sandbox's, and a disk that a Sandbox has left is taken over. Clients of
 * several API keys may share a namespace: a name that one of them chooses must not lead to files of another, nor receive
 * requests that another sends to a Service of that name.
 */
function checkName({ claim }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const { sandboxName } = claim.spec;
  if (sandboxName === undefined || findApiKey(claim) === undefined) return undefined;
  const detail = findNamedPart(template);
  if (detail === undefined) return undefined;
  const message = claimMessages.sandboxNameRejected(sandboxName, template.metadata.name ?? '', detail);
  return { reason: claimReasons.sandboxNameRejected, message };
}

/** Names hold at the egress proxy: without one they would all be closed, and the claim Ready. */
function checkEgress({ claim, podDefaults }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const wish = findEgressWish(claim);
  if (wish === undefined || !needsEgressProxy(wish) || isSteered(template, podDefaults)) return undefined;
  const detail =
    podDefaults.egressMode === undefined
      ? 'this installation has no egress proxy; set the chart value egress.enabled=true, or list addresses'
      : `SandboxTemplate "${template.metadata.name ?? ''}" has no egress proxy; set its egress.mode to OnDemand, or list addresses`;
  return { reason: claimReasons.egressNotAvailable, message: claimMessages.egressNotAvailable(detail) };
}

/** The proxy would refuse every request to these hosts, and the claim would be Ready. */
function checkEgressRules({ claim, egressRules }: ClaimSnapshot, template: SandboxTemplate): ReturnType<Check> {
  const rules = findEgressWish(claim)?.rules ?? [];
  if (rules.length === 0) return undefined;
  const detail = findRulesProblem(rules, egressRules, template);
  if (detail === undefined) return undefined;
  return { reason: claimReasons.egressNotAvailable, message: claimMessages.egressRulesNotAvailable(detail) };
}

function findRulesProblem(
  rules: readonly HeaderRule[],
  { isAvailable, allowsSecrets }: EgressRulesPolicy,
  template: SandboxTemplate,
): string | undefined {
  const name = `SandboxTemplate "${template.metadata.name ?? ''}"`;
  if (!isAvailable) return 'this installation has none; set the chart value egress.credentials.enabled=true';
  if (!hasRuntime(template)) return `${name} has no runtime to prove who calls; set its runtime.inject`;
  const namesSecret = rules.some(({ headers }) => headers.some((header) => getHeaderSource(header).kind === 'secret'));
  if (namesSecret && !allowsSecrets)
    return 'valueFrom is switched off in this installation; set the chart value egress.credentials.namespaceSecrets=true';
  const overlap = findOverlap(rules, headerRules.safeParse(template.spec.egress?.rules ?? []).data ?? []);
  return (
    overlap && `${name} has a rule for "${overlap.host}" or hosts of it, which a claim cannot change; leave it out`
  );
}

function findNamedPart({ spec: { volumeClaimTemplates = [], service } }: SandboxTemplate): string | undefined {
  if (volumeClaimTemplates.length > 0) {
    return 'it has volumeClaimTemplates, so the sandbox would get disks that an earlier one of this name has left';
  }
  return service === true ? 'it has a Service, which would have a name that a client chose' : undefined;
}

export { claimConditions, claimMessages, claimReasons } from './catalogue/claim.ts';
export {
  eventReasons,
  templateConditions,
  templateReasons,
  warmPoolConditions,
  warmPoolReasons,
} from './catalogue/extensions.ts';
export { sandboxConditions, sandboxMessages, sandboxReasons } from './catalogue/sandbox.ts';
export { buildConditions, buildMessages, buildReasons } from './catalogue/build.ts';
export type { BuildReason } from './catalogue/build.ts';
export { snapshotConditions, snapshotMessages, snapshotReasons } from './catalogue/snapshot.ts';
export type { SnapshotReason } from './catalogue/snapshot.ts';
export { findCondition, removeCondition, formatRfc3339, setCondition } from './rules/conditions.ts';
export type { Condition, NextCondition } from './rules/conditions.ts';
export type {
  Container,
  ContainerPort,
  EnvVar,
  NetworkPolicyEgressRule,
  NetworkPolicyIngressRule,
  PersistentVolumeClaimSpec,
  PodSpec,
  Volume,
  VolumeMount,
} from './generated/core.ts';
export {
  findEgressBlock,
  formatEgressText,
  findEgressWish,
  formatFirstEgressText,
  hasOwnNetwork,
  isClosedEgress,
  MAX_EGRESS_BLOCKS,
  needsEgressProxy,
} from './egress/wish.ts';
export type { EgressWish } from './egress/wish.ts';
export {
  fillMarkers,
  findCredentialProblem,
  formatStoredHeadersName,
  formatVaultSecretName,
  listMarkedSecrets,
  VAULT_VALUE,
} from './egress/headers/credentials.ts';
export { findHeaderNameProblem } from './egress/headers/header-name.ts';
export { findOverlap, findRuleHost, getHeaderSource, headerRules } from './egress/headers/header-rule.ts';
export { HEADER_RULE_LIMITS } from './egress/headers/limits.ts';
export type { HeaderRule, HeaderRuleSpec, HeaderSource, RuleHeader } from './egress/headers/header-rule.ts';
export { BLOCKED_IPV4, BLOCKED_IPV6 } from './egress/blocked-addresses.ts';
export { listCidrs, listEgressBlocks } from './egress/blocks.ts';
export { findHostName } from './egress/names.ts';
export { intersectNames } from './egress/intersect-names.ts';
export { findTemplateEgress, formatTemplateEgress } from './egress/template-egress.ts';
export type { TemplateEgress } from './egress/template-egress.ts';
export type { EgressBlock } from './egress/blocks.ts';
export { getEgressMode, STEERED_DNS_OPTIONS } from './egress/mode.ts';
export { egressModes } from './egress/modes.ts';
export type { EgressMode } from './egress/modes.ts';
export { findNamePattern, findReservedProblem } from './egress/names.ts';
export type { NamePattern } from './egress/names.ts';
export { narrowEgress } from './egress/narrow.ts';
export { readPolicyEgress } from './egress/policy-blocks.ts';
export type { OpenBlock, PolicyEgress } from './egress/policy-blocks.ts';
export { buildProxyRule, egressProxyPods } from './egress/proxy-rule.ts';
export type { EgressProxy } from './egress/proxy-rule.ts';
export {
  annotations,
  finalizers,
  isReservedKey,
  labels,
  launchTypes,
  memoryStates,
  NO_START_MEMORY,
  normaliseCreator,
  protections,
  ONLY_FILES,
  START_DONE,
  withoutReservedKeys,
} from './catalogue/keys.ts';
export type { LaunchType, MemoryState } from './catalogue/keys.ts';
export {
  formatBaselineNetworkPolicyName,
  claimNameLabel,
  resolveClaimMode,
  resolveMode,
  nameHashSelector,
  AUTHORED_POLICY_NAME,
  formatNetworkPolicyName,
  ownNetworkPolicyName,
  parseNetworkPolicyName,
  getPodName,
  formatDiskName,
  formatKeySecretName,
  formatServiceFQDN,
  formatWarmPoolSelector,
} from './rules/naming.ts';
export {
  CORE_GROUP,
  EXTENSIONS_GROUP,
  sandboxClaims,
  sandboxClaimsV1Alpha1,
  sandboxes,
  sandboxesV1Alpha1,
  sandboxSnapshotClasses,
  sandboxSnapshots,
  sandboxTemplateBuilds,
  sandboxTemplates,
  sandboxTemplatesV1Alpha1,
  sandboxWarmPools,
  sandboxWarmPoolsV1Alpha1,
  SNAPSHOT_GROUP,
} from './objects.ts';
export type {
  PodTemplate,
  Sandbox,
  SandboxClaim,
  SandboxClaimSpec,
  SandboxClaimStatus,
  SandboxSnapshot,
  SandboxSnapshotClass,
  SandboxSnapshotClassSpec,
  SandboxSnapshotSpec,
  SandboxSnapshotStatus,
  SandboxTemplateBuild,
  SandboxTemplateBuildSpec,
  SandboxTemplateBuildStatus,
  SandboxSpec,
  SandboxStatus,
  SandboxTemplate,
  SandboxTemplateSpec,
  SandboxTemplateStatus,
  SandboxWarmPool,
  SandboxWarmPoolSpec,
  SandboxWarmPoolStatus,
  VolumeClaimTemplate,
} from './objects.ts';
export { parseSandbox, parseSandboxClaim, parseSandboxTemplate, parseSandboxWarmPool } from './parse.ts';
export { containerResources } from './schema/resources.ts';
export type { ContainerResources } from './schema/resources.ts';
export { nameHash } from '@sandlot/std';
export { hashBlueprint, hasSameBlueprint } from './compare/blueprint.ts';
export type { Blueprint } from './compare/blueprint.ts';
export { parseMilliCpu, parseQuantity, isSameQuantity, QUANTITY } from './compare/quantity.ts';
export { buildMergePatch, pruneEmpty } from './compare/status-patch.ts';
export { injectEnv, findRuntimeEnvRefusal } from './policies/env-policy.ts';
export type { ClaimVariable, EnvOutcome, EnvRequest, RuntimeEnvRequest } from './policies/env-policy.ts';
export { DEFAULT_LABEL_DOMAINS, mergePodMetadata, findMetadataRefusal } from './policies/metadata-policy.ts';
export type { MetadataRequest } from './policies/metadata-policy.ts';
export { findResourcesRefusal } from './policies/resources-policy.ts';
export type { ResourcesRequest } from './policies/resources-policy.ts';
export { mergeVolumeClaimTemplates } from './policies/volume-policy.ts';
export type { VolumeOutcome, VolumeRequest } from './policies/volume-policy.ts';
export { findApiKey, findKeyQuota, getTemplateId, isMadeByApi, findSandboxId } from './rules/api-claims.ts';
export { findClaimEnding, claimFailureReasons } from './rules/claim-endings.ts';
export type { ClaimEnding } from './rules/claim-endings.ts';
export { findAskedCpu, formatCpu, hasCpu, parseCpu, readCpu, withCpu } from './rules/inplace-cpu.ts';
export type { Cpu, Resources } from './rules/inplace-cpu.ts';
export { isMadeByExtension, isWithoutTemplate } from './rules/origin.ts';
export { hasSignOfPool, isAdoptable, isMemberOf, isPoolMember, isStock } from './rules/pool-membership.ts';
export { isDraining, toleratesDrain } from './rules/draining.ts';
export { DAEMON_VOLUME, findDaemonImage } from './rules/daemon-image.ts';
export { isFinished, isReady } from './rules/readiness.ts';
export { findPinnedKey, KEY_SECRET_TYPE } from './rules/runtime-identity.ts';
export type { RuntimeIdentity } from './rules/runtime-identity.ts';
export {
  findStoredCredentialsUid,
  formatStoredCredentialsName,
  hasStoredCredentials,
  STORED_CREDENTIALS,
} from './rules/stored-credentials.ts';
export { formatStoredEnvsName, hasStoredEnvs, namesSecrets, STORED_ENVS } from './rules/stored-envs.ts';
export {
  buildDiskCopyName,
  buildGoldenName,
  buildHibernationName,
  buildStartName,
  findDefaultClass,
  hashPodTemplate,
  isDefaultClass,
  isGoldenOf,
  isHibernationOf,
  isRestorable,
  isUploaded,
  leavesFiles,
  needsFiles,
  isSpent,
  needsHibernation,
  hasWantedMemory,
  isMemoryUnwanted,
} from './rules/snapshots.ts';
export { findNeededPolicy, findPodNetworkGap, isPolicyInPlace } from './rules/sandbox-network.ts';
export type { NeededPolicy } from './rules/sandbox-network.ts';
export { findNetworkGap } from './rules/template-network.ts';
export { findTemplateOfPolicy, findTemplateUidOfPolicy, isOwnedByTemplate } from './rules/template-policy.ts';
export {
  getModeSpelling,
  resumePatch,
  getSuspender,
  suspendPatch,
  buildUnresponsiveNote,
  hasUnresponsiveDaemon,
  buildFilesNote,
  keepsFilesAlone,
} from './rules/suspension.ts';
export type { Suspender } from './rules/suspension.ts';
export {
  buildTombstone,
  buildVolumeObject,
  findMountedVolume,
  formatMountedVolumes,
  formatVolumeObjectName,
  isForeignVolumeMount,
  listMountedVolumes,
  listPodVolumes,
  readVolumeObject,
  VOLUMES_NAME,
  VOLUMES_PORT,
} from './rules/volumes.ts';
export type { MountedVolume, TeamVolume } from './rules/volumes.ts';
export { findWakeObstacle } from './rules/wake.ts';

/** Condition types of a SandboxClaim; `Completed` on detached claims only. */
export const claimConditions = { ready: 'Ready', finished: 'Finished', completed: 'Completed' } as const;

/** Reasons of claim conditions, highest precedence first (docs/reference/sandbox-claim.md#conditions). */
export const claimReasons = {
  templateNotFound: 'TemplateNotFound',
  warmPoolNotFound: 'WarmPoolNotFound',
  adoptionConflict: 'AdoptionConflict',
  sandboxCreatePending: 'SandboxCreatePending',
  invalidMetadata: 'InvalidMetadata',
  envVarsInjectionRejected: 'EnvVarsInjectionRejected',
  volumeClaimTemplatesError: 'VolumeClaimTemplatesError',
  imageOverrideRejected: 'ImageOverrideRejected',
  resourcesOverrideRejected: 'ResourcesOverrideRejected',
  dynamicVolumesRejected: 'DynamicVolumesRejected',
  sandboxNameRejected: 'SandboxNameRejected',
  egressNotAvailable: 'EgressNotAvailable',
  egressSecretMissing: 'EgressSecretMissing',
  egressSecretNotMarked: 'EgressSecretNotMarked',
  egressHostNotCovered: 'EgressHostNotCovered',
  quotaExceeded: 'QuotaExceeded',
  sandboxNameTaken: 'SandboxNameTaken',
  waitingForStock: 'WaitingForStock',
  networkPolicyPending: 'NetworkPolicyPending',
  claimTimeout: 'ClaimTimeout',
  sandboxInitFailed: 'SandboxInitFailed',
  claimExpired: 'ClaimExpired',
  sandboxMissing: 'SandboxMissing',
  sandboxExpired: 'SandboxExpired',
  sandboxNotReady: 'SandboxNotReady',
  /** Of the Sandbox or of its objects: the API server refuses them as invalid. */
  invalidConfiguration: 'InvalidConfiguration',
  reconcilerError: 'ReconcilerError',
  /** Detached claims. */
  allReplicasClaimed: 'AllReplicasClaimed',
  claiming: 'Claiming',
  timeoutReached: 'TimeoutReached',
} as const;

/** Messages of claim conditions; clients match on them. */
export const claimMessages = {
  templateNotFound: (name: string) => `SandboxTemplate "${name}" not found`,
  warmPoolNotFound: (name: string) => `SandboxWarmPool "${name}" not found`,
  adoptionConflict: (detail: string) => `${detail}; the next pass retries from a converged view`,
  sandboxCreatePending: 'Sandbox already created; waiting for cache to converge',
  invalidMetadata: (detail: string) => `invalid additionalPodMetadata: ${detail}`,
  envVarsInjectionRejected: (detail: string) => `environment variable injection rejected: ${detail}`,
  imageOverrideRejected: (image: string, allowed: readonly string[]) =>
    allowed.length === 0
      ? `image override is not allowed by the template policy: imageOverridePolicy allows no image, the claim asks for "${image}"`
      : `image override is not allowed by the template policy for image "${image}"; it allows images that begin with ${allowed.map((prefix) => `"${prefix}"`).join(', ')}`,
  resourcesOverrideRejected: (detail: string) => `resources override rejected: ${detail}`,
  sandboxNameRejected: (name: string, template: string, detail: string) =>
    `sandbox name "${name}" is not possible with SandboxTemplate "${template}": ${detail}; leave the name out, or use another template`,
  egressNotAvailable: (detail: string) => `names in sandlot.dev/network are not available: ${detail}`,
  egressRulesNotAvailable: (detail: string) => `rules in sandlot.dev/network are not available: ${detail}`,
  egressSecret: (detail: string) => `rules in sandlot.dev/network: ${detail}`,
  sandboxNameTaken: (name: string, kind: string) =>
    `sandbox name "${name}" is taken: a ${kind} of this name exists in the namespace; choose another name, or delete that ${kind}`,
  sandboxNameLeaving: (name: string) => `sandbox name "${name}" is not free yet: what has it is being deleted`,
  quotaExceeded: (limit: number) =>
    `the API key of this claim may have ${limit} sandboxes at a time; delete some, or ask for a larger quota`,
  waitingForStock: 'No ready sandbox in the pool; createOnNoStock is false',
  networkPolicyPending: (template: string, detail: string) =>
    `the NetworkPolicy of SandboxTemplate "${template}" is not in place, so no Pod of it may start: ${detail}`,
  claimTimeout: (claimed: number, wanted: number) => `Claimed ${claimed} of ${wanted} sandboxes before claimTimeout`,
  claiming: (claimed: number, wanted: number) => `Claimed ${claimed} of ${wanted} sandboxes`,
  notAllReady: (ready: number, wanted: number) => `Claimed ${wanted} sandboxes, ${ready} of them are ready`,
  allReplicasClaimed: (wanted: number) => `Claimed ${wanted} sandboxes`,
  claimExpired: 'Claim expired. Sandbox cleanup initiated.',
  claimExpiredNotOwned: (sandbox: string, claim: string) =>
    `Claim expired. sandbox not owned by this claim: sandbox "${sandbox}" is not owned by claim "${claim}"; deletion skipped.`,
  sandboxMissing: 'Sandbox does not exist',
  sandboxExpired: 'Underlying Sandbox resource has expired independently of the Claim.',
  sandboxNotReady: 'Sandbox is not ready',
  error: (error: string) => `Error seen: ${error}`,
  notControlled: (sandbox: string, claim: string) =>
    `sandbox "${sandbox}" is not controlled by claim "${claim}". Please use a different claim name or delete the sandbox manually`,
} as const;

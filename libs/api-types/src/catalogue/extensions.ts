/** Condition types of a SandboxWarmPool. */
export const warmPoolConditions = {
  available: 'Available',
  progressing: 'Progressing',
  templateResolved: 'TemplateResolved',
} as const;

/** Reasons of SandboxWarmPool conditions (docs/reference/sandbox-warm-pool.md#status). */
export const warmPoolReasons = {
  minimumReady: 'MinimumReady',
  noReadyMembers: 'NoReadyMembers',
  scaledToTarget: 'ScaledToTarget',
  scalingUp: 'ScalingUp',
  scalingDown: 'ScalingDown',
  rollingOut: 'RollingOut',
  notProgressing: 'WarmPoolNotProgressing',
  refillHeld: 'RefillHeld',
  templateFound: 'TemplateFound',
  templateNotFound: 'TemplateNotFound',
  templateInvalid: 'TemplateInvalid',
} as const;

/** Condition types of a SandboxTemplate. */
export const templateConditions = {
  accepted: 'Accepted',
  networkPolicyReady: 'NetworkPolicyReady',
  egressReady: 'EgressReady',
} as const;

/** Reasons of SandboxTemplate conditions (docs/reference/sandbox-template.md#status). */
export const templateReasons = {
  accepted: 'Accepted',
  invalidVolumeClaimTemplates: 'InvalidVolumeClaimTemplates',
  invalidNetworkPolicy: 'InvalidNetworkPolicy',
  applied: 'Applied',
  direct: 'Direct',
  invalidEgress: 'InvalidEgress',
  proxyMissing: 'ProxyMissing',
  unmanaged: 'Unmanaged',
  notControlled: 'NotControlled',
  reconcilerError: 'ReconcilerError',
} as const;

/** Reasons of Kubernetes Events (docs/reference/observability.md#events). */
export const eventReasons = {
  sandboxProvisioned: 'SandboxProvisioned',
  sandboxAdopted: 'SandboxAdopted',
  claimExpired: 'ClaimExpired',
  warmPoolNotProgressing: 'WarmPoolNotProgressing',
  warmPoolProgressing: 'WarmPoolProgressing',
  multiplePods: 'MultiplePods',
  suspended: 'Suspended',
  resumed: 'Resumed',
  idleDeleted: 'IdleDeleted',
  sandboxExpired: 'SandboxExpired',
  podRestarting: 'PodRestarting',
  podRestartLimit: 'PodRestartLimit',
  claimTimeout: 'ClaimTimeout',
  sandboxInitFailed: 'SandboxInitFailed',
  rolloutStarted: 'RolloutStarted',
  rolloutFinished: 'RolloutFinished',
  targetChanged: 'TargetChanged',
  scheduleInvalid: 'ScheduleInvalid',
  networkPolicyNotControlled: 'NetworkPolicyNotControlled',
  hibernated: 'Hibernated',
  hibernationFailed: 'HibernationFailed',
  hibernationExpired: 'HibernationExpired',
  snapshotControllerAway: 'SnapshotControllerAway',
  movedFromNode: 'MovedFromNode',
  restored: 'Restored',
  filesRestored: 'FilesRestored',
  restoreFailed: 'RestoreFailed',
  goldenSnapshotReady: 'GoldenSnapshotReady',
  goldenSnapshotFailed: 'GoldenSnapshotFailed',
  egressDenied: 'EgressDenied',
  egressCredentialMissing: 'EgressCredentialMissing',
} as const;

import type { Table } from '../../model.ts';

const ANNOUNCE = 'services/claim-controller/src/publish/announce.test.ts';
const CONDITIONS = 'services/sandbox-controller/src/status/conditions.test.ts';
const SUSPENDED = [CONDITIONS, 'of a complete suspension'] as const;
const READY = [CONDITIONS, 'of a Pod that is ready'] as const;
const LOOKUP = 'services/claim-controller/src/adopt/lookup.test.ts';
const MANIFESTS = 'e2e/src/manifests/manifests.test.ts';
const RECONCILE = 'services/claim-controller/src/reconcile.test.ts';
const REFUSED = ['e2e/src/claims/claims.test.ts', 'with %s is refused with a reason'] as const;
const STATUS = 'services/claim-controller/src/publish/status.test.ts';
const STUCK = [
  'services/warmpool-controller/src/members/stuck.test.ts',
  'sends one Warning, and one Event when it progresses again',
] as const;

export const sandboxWords: Table = {
  title: 'Conditions and reasons of a Sandbox',
  what: 'condition or reason',
  items: [
    ['Ready', 'yes', READY],
    ['Suspended', 'yes', SUSPENDED],
    ['PodScheduled', 'yes', [CONDITIONS, 'of a Pod that cannot be scheduled, in the words of the scheduler']],
    ['Finished', 'yes', [CONDITIONS, 'of a Pod that succeeded']],
    ['DependenciesReady', 'yes', READY],
    ['DependenciesNotReady', 'yes', [CONDITIONS, 'of a Pod that runs and is not ready']],
    ['MultiplePods', 'yes', [CONDITIONS, 'of two Pods, whatever else failed']],
    ['SandboxSuspended', 'yes', SUSPENDED],
    ['PodSucceeded', 'yes', [CONDITIONS, 'of a Pod that succeeded']],
    ['PodFailed', 'yes', [CONDITIONS, 'of a Pod that failed']],
    [
      'SandboxExpired',
      'yes',
      [
        'services/sandbox-controller/src/status/exact-status-suspension.test.ts',
        'a Sandbox that expires still shows its Pod, in the first pass',
      ],
    ],
    ['ReconcilerError', 'yes', [CONDITIONS, 'of an error while a Pod is ready']],
    ['InvalidConfiguration', 'yes', [CONDITIONS, 'of a Pod that the API server refuses as invalid']],
    ['NotSuspended', 'yes', [CONDITIONS, 'of a Sandbox without a Pod']],
    ['PodTerminated', 'yes', SUSPENDED],
    ['PodTerminating', 'yes', [CONDITIONS, 'of a suspension in progress']],
    ['PodNotOwned', 'yes', [CONDITIONS, 'of a suspended Sandbox with a foreign Pod of its name']],
    ['PodStateUnknown', 'yes', [CONDITIONS, 'of a suspension that cannot be confirmed']],
    ['PodNotTerminated', 'no', 'deprecated in agent-sandbox; Sandlot writes PodTerminating'],
    ['PodSchedulingUnknown', 'yes', [CONDITIONS, 'of a Pod the scheduler has not seen']],
  ],
};

/** Words of Sandlot alone. */
export const ownSandboxWords = [
  'Hibernating',
  'HibernationFailed',
  'NetworkPolicyPending',
  'RestoreFailed',
  'ResizePending',
  'ResizeInfeasible',
  'ResizeRejected',
] as const;

export const claimWords: Table = {
  title: 'Conditions and reasons of a SandboxClaim',
  what: 'condition or reason',
  items: [
    ['Ready', 'yes', [STATUS, 'shows a ready Sandbox with its condition, for the generation of the claim']],
    ['Finished', 'yes', [STATUS, 'follows Finished in both directions']],
    ['TemplateNotFound', 'yes', [MANIFESTS, 'names the missing template']],
    ['WarmPoolNotFound', 'yes', [MANIFESTS, 'names the missing pool, and is served when the pool appears']],
    [
      'AdoptionConflict',
      'yes',
      [LOOKUP, 'reports a conflict when others were faster, and is served when there is stock again'],
    ],
    [
      'AdoptionPending',
      'no',
      'a passing state that the client for Python names; Sandlot says AdoptionConflict or SandboxCreatePending, which clients wait for as well',
    ],
    [
      'SandboxCreatePending',
      'yes',
      [RECONCILE, 'is pending on a foreign Sandbox that the watch does not show yet, then reports it'],
    ],
    ['InvalidMetadata', 'yes', REFUSED],
    ['EnvVarsInjectionRejected', 'yes', REFUSED],
    ['VolumeClaimTemplatesError', 'yes', REFUSED],
    ['InvalidConfiguration', 'yes', [MANIFESTS, 'shows why the API server refuses a pod without an image']],
    ['ClaimExpired', 'yes', ['e2e/src/claims/claims.test.ts', 'stays under Retain, and its Sandbox is deleted']],
    ['SandboxMissing', 'no', 'never written: a claim whose Sandbox is deleted gets another one at once'],
    ['SandboxExpired', 'yes', [STATUS, 'reports a Sandbox that expired independently of the claim']],
    ['SandboxNotReady', 'yes', [STATUS, 'shows a Sandbox that has no Ready condition yet as not ready']],
    [
      'ReconcilerError',
      'yes',
      [RECONCILE, 'is pending on a foreign Sandbox that the watch does not show yet, then reports it'],
    ],
  ],
};

export const ownClaimWords = [
  'Completed',
  'ImageOverrideRejected',
  'ResourcesOverrideRejected',
  'DynamicVolumesRejected',
  'SandboxNameRejected',
  'EgressNotAvailable',
  'EgressSecretMissing',
  'EgressSecretNotMarked',
  'EgressHostNotCovered',
  'QuotaExceeded',
  'SandboxNameTaken',
  'WaitingForStock',
  'NetworkPolicyPending',
  'ClaimTimeout',
  'SandboxInitFailed',
  'AllReplicasClaimed',
  'Claiming',
  'TimeoutReached',
] as const;

/** Conditions and reasons of templates and pools, which have none in agent-sandbox. */
export const ownExtensionWords = [
  'Available',
  'Progressing',
  'TemplateResolved',
  'MinimumReady',
  'NoReadyMembers',
  'ScaledToTarget',
  'ScalingUp',
  'ScalingDown',
  'RollingOut',
  'WarmPoolNotProgressing',
  'RefillHeld',
  'TemplateFound',
  'TemplateNotFound',
  'TemplateInvalid',
  'Accepted',
  'NetworkPolicyReady',
  'InvalidVolumeClaimTemplates',
  'InvalidNetworkPolicy',
  'Applied',
  'Unmanaged',
  'NotControlled',
  'EgressReady',
  'Direct',
  'InvalidEgress',
  'ProxyMissing',
  'ReconcilerError',
] as const;

export const eventWords: Table = {
  title: 'Reasons of Events',
  what: 'reason',
  items: [
    ['SandboxAdopted', 'yes', [RECONCILE, 'shows the Sandbox, annotates the claim and publishes events']],
    ['SandboxProvisioned', 'yes', [ANNOUNCE, 'a cold start is an Event of the claim']],
    ['ClaimExpired', 'yes', [ANNOUNCE, 'the end of a claim is an Event of it']],
    ['WarmPoolNotProgressing', 'yes', STUCK],
    ['WarmPoolProgressing', 'yes', STUCK],
    [
      'MultiplePods',
      'yes',
      [
        'services/sandbox-controller/src/status/states.integration.test.ts',
        'touches neither of two Pods that it controls, and reports them once',
      ],
    ],
  ],
};

export const ownEventWords = [
  'Suspended',
  'Resumed',
  'IdleDeleted',
  'SandboxExpired',
  'PodRestarting',
  'PodRestartLimit',
  'ClaimTimeout',
  'SandboxInitFailed',
  'RolloutStarted',
  'RolloutFinished',
  'TargetChanged',
  'ScheduleInvalid',
  'NetworkPolicyNotControlled',
  'Hibernated',
  'HibernationFailed',
  'HibernationExpired',
  'SnapshotControllerAway',
  'MovedFromNode',
  'Restored',
  'FilesRestored',
  'RestoreFailed',
  'GoldenSnapshotReady',
  'GoldenSnapshotFailed',
  'EgressDenied',
  'EgressCredentialMissing',
] as const;

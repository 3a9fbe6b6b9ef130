import type { Table } from '../../model.ts';

const MIGRATE = ['tools/sandlot/src/migrate/translate.test.ts', 'keeps everything that has a counterpart'] as const;
const BATCH = 'services/claim-controller/src/batch/batch.test.ts';
const BATCH_STATUS = 'services/claim-controller/src/batch/batch-status.test.ts';
const CLAIMS = 'e2e/src/claims/claims.test.ts';
const DELIVERY = 'services/claim-controller/src/delivery/delivery.test.ts';
const RUNTIME = 'services/claim-controller/src/runtime/runtime.test.ts';
const COMPLETE = [
  BATCH_STATUS,
  'that is complete and Ready lists its Sandboxes by slot and shows the lowest one',
] as const;

/** Fields of OpenKruise's SandboxClaim. Sandlot has them in its own SandboxClaim, some under another name. */
export const kruiseFields: Table = {
  title: 'Fields of a SandboxClaim',
  what: 'field',
  items: [
    ['spec.templateName', 'partly', MIGRATE, 'is `warmPoolRef.name`'],
    [
      'spec.replicas',
      'yes',
      [BATCH, 'of ten from a pool of twelve is delivered warm, without owners, and shown in the status'],
    ],
    [
      'spec.shutdownTime',
      'partly',
      [BATCH, 'copies its lifetime to each Sandbox, and is deleted alone some time after its completion'],
      'is `lifecycle.shutdownTime`; of a claim for one Sandbox it ends the claim, and the Sandbox with it',
    ],
    [
      'spec.claimTimeout',
      'partly',
      [CLAIMS, 'fails at its claimTimeout with the Sandboxes it has'],
      'without any Sandbox the phase is Failed; a claim for one Sandbox has no limit unless it says so',
    ],
    [
      'spec.ttlAfterCompleted',
      'partly',
      [CLAIMS, 'is served; the claim goes after its ttl and leaves its Sandboxes, which end by their own lifecycle'],
      'is `ttlSecondsAfterCompleted`, in seconds; without it a claim stays',
    ],
    [
      'spec.labels',
      'partly',
      ['e2e/src/claims/sources.test.ts', 'comes from the template and the claim, and follows changes of both'],
      'is `additionalPodMetadata.labels`: they go to the Pod, and need a domain that the installation allows',
    ],
    [
      'spec.annotations',
      'partly',
      ['e2e/src/claims/sources.test.ts', 'follows changes of the claim'],
      'is `additionalPodMetadata.annotations`: they go to the Pod',
    ],
    [
      'spec.envVars',
      'partly',
      [RUNTIME, 'becomes Ready once the daemon has its token and variables, with two writes and no cold start'],
      'is `envs`, a list; needs `envVarsInjectionPolicy` of the template',
    ],
    [
      'spec.inplaceUpdate.image',
      'partly',
      [CLAIMS, 'puts the image into the running pod of a warm Sandbox'],
      'needs `imageOverridePolicy` of the template',
    ],
    [
      'spec.inplaceUpdate.resources.requests',
      'partly',
      [CLAIMS, 'gives the running pod of a warm Sandbox its CPU, without a restart'],
      'CPU alone; needs `resourcesOverridePolicy` of the template',
    ],
    [
      'spec.inplaceUpdate.resources.limits',
      'partly',
      [CLAIMS, 'gives the running pod of a warm Sandbox its CPU, without a restart'],
      'CPU alone; needs `resourcesOverridePolicy` of the template',
    ],
    [
      'spec.dynamicVolumesMount',
      'partly',
      [
        'e2e/src/claims/dynamic-volumes.test.ts',
        'bind a PersistentVolume that is opened to the namespace, with its files',
      ],
      'is `dynamicVolumes`: a cold start, and a PersistentVolume needs the label `sandlot.dev/claimable-by`',
    ],
    ['spec.runtimes', 'no', 'the template says whether there is a daemon (`runtime.inject`); a claim cannot'],
    [
      'spec.reserveFailedSandbox',
      'yes',
      [DELIVERY, 'is kept for troubleshooting without an owner when the claim asks for that'],
    ],
    ['spec.createOnNoStock', 'yes', [CLAIMS, 'reports that it waits, and adopts a Sandbox when there is stock']],
    ['spec.waitReadyTimeout', 'yes', [DELIVERY, 'is given up for another Sandbox']],
    ['spec.skipInitRuntime', 'yes', [RUNTIME, 'skips the daemon when it asks for that']],
    ['status.observedGeneration', 'yes', COMPLETE],
    ['status.phase', 'partly', COMPLETE, 'knows Pending, Failed and Expired beside Claiming and Completed'],
    ['status.message', 'yes', [CLAIMS, 'fails at its claimTimeout with the Sandboxes it has']],
    ['status.claimedReplicas', 'yes', COMPLETE],
    ['status.claimStartTime', 'yes', COMPLETE],
    ['status.completionTime', 'yes', COMPLETE],
    ['status.conditions: Completed', 'yes', COMPLETE],
    [
      'status.conditions: TimedOut',
      'partly',
      [BATCH_STATUS, 'whose time is over keeps the part it has, and is complete'],
      'is Completed with the reason TimeoutReached',
    ],
  ],
};

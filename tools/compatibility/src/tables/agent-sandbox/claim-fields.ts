import type { KindFields } from '../../model.ts';

const CLAIMS = 'e2e/src/claims/claims.test.ts';
const SOURCES = 'e2e/src/claims/sources.test.ts';
const ADOPTS = [SOURCES, 'adopts a member by the name of the pool or of its template'] as const;
const COLD = [SOURCES, 'gives a cold Sandbox the variables and volumes of the claim'] as const;
const ENV = 'libs/api-types/src/policies/env-policy.test.ts';
const METADATA = [SOURCES, 'comes from the template and the claim, and follows changes of both'] as const;
const STATUS = [
  'services/claim-controller/src/publish/status.test.ts',
  'shows a ready Sandbox with its condition, for the generation of the claim',
] as const;

export const claimFields: KindFields = {
  crd: 'extensions.agents.x-k8s.io_sandboxclaims',
  table: {
    title: 'SandboxClaim',
    what: 'field',
    items: [
      ['spec.warmPoolRef.name', 'yes', ADOPTS],
      ['spec.sandboxTemplateRef.name', 'yes', ADOPTS],
      [
        'spec.warmpool',
        'partly',
        ['libs/api-types/src/parse.test.ts', 'sets no default for spellings that exclude each other'],
        'left out, it counts as `default`, and is not filled in: a default would exclude `warmPoolRef`',
      ],
      ['spec.lifecycle.shutdownTime', 'yes', [SOURCES, 'ends the claim under %s']],
      ['spec.lifecycle.ttlSecondsAfterFinished', 'yes', [CLAIMS, 'is deleted with its Sandbox under %s']],
      [
        'spec.lifecycle.shutdownPolicy',
        'yes',
        [
          'e2e/src/lifecycle/endings.test.ts',
          'of a claim with DeleteForeground keeps the claim until its Sandbox is gone',
        ],
      ],
      ['spec.additionalPodMetadata.labels', 'yes', METADATA],
      ['spec.additionalPodMetadata.annotations', 'yes', METADATA],
      ['spec.env.name', 'yes', COLD],
      ['spec.env.value', 'yes', COLD],
      ['spec.env.containerName', 'yes', [ENV, 'reaches init containers by name']],
      ['spec.volumeClaimTemplates', 'yes', COLD],
      ['status.conditions', 'yes', STATUS],
      ['status.sandbox.name', 'yes', STATUS],
      ['status.sandbox.podIPs', 'yes', STATUS],
    ],
  },
  own: [
    'spec.sandboxName',
    'spec.replicas',
    'spec.claimTimeout',
    'spec.ttlSecondsAfterCompleted',
    'spec.createOnNoStock',
    'spec.envs',
    'spec.inplaceUpdate',
    'spec.dynamicVolumes',
    'spec.reserveFailedSandbox',
    'spec.reserveFailedSandboxFor',
    'spec.waitReadyTimeout',
    'spec.skipInitRuntime',
    'status.observedGeneration',
    'status.mode',
    'status.phase',
    'status.message',
    'status.claimStartTime',
    'status.completionTime',
    'status.claimedReplicas',
    'status.readyReplicas',
    'status.sandboxes',
  ],
};

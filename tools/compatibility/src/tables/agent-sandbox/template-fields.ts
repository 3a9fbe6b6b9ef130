import type { KindFields } from '../../model.ts';

const MEMBER = [
  'libs/blueprint/src/sandbox.test.ts',
  'carries the labels of its pool and the blueprint of its template, but not its lifecycle',
] as const;
const METADATA = [
  'e2e/src/claims/sources.test.ts',
  'comes from the template and the claim, and follows changes of both',
] as const;
const DISKS = [
  'e2e/src/claims/volumes.test.ts',
  'adopts a member with its volume, whose data outlives its pod',
] as const;
const RULES = [
  'services/warmpool-controller/src/templates/network/policy.test.ts',
  'has the rules of its template as given, without those of the installation',
] as const;

export const templateFields: KindFields = {
  crd: 'extensions.agents.x-k8s.io_sandboxtemplates',
  table: {
    title: 'SandboxTemplate',
    what: 'field',
    items: [
      ['spec.podTemplate.spec', 'yes', MEMBER],
      ['spec.podTemplate.metadata.labels', 'yes', METADATA],
      [
        'spec.podTemplate.metadata.annotations',
        'yes',
        [
          'libs/blueprint/src/adoption.test.ts',
          'follows template and claim: adds new values, removes dropped keys, skips reserved keys',
        ],
      ],
      ['spec.volumeClaimTemplates', 'yes', DISKS],
      ['spec.service', 'yes', MEMBER],
      ['spec.networkPolicy.ingress', 'yes', RULES],
      ['spec.networkPolicy.egress', 'yes', RULES],
      [
        'spec.networkPolicyManagement',
        'yes',
        [
          'services/warmpool-controller/src/templates/reconcile.test.ts',
          'loses its policy while Unmanaged, and gets it back when Managed',
        ],
      ],
      [
        'spec.envVarsInjectionPolicy',
        'yes',
        ['libs/api-types/src/policies/env-policy.test.ts', 'replaces by a plain value, in place, under Overrides'],
      ],
      [
        'spec.volumeClaimTemplatesPolicy',
        'yes',
        [
          'libs/api-types/src/policies/volume-policy.test.ts',
          'replaces in place and appends new names under Overrides',
        ],
      ],
    ],
  },
  own: [
    'spec.imageOverridePolicy',
    'spec.egress',
    'spec.resourcesOverridePolicy',
    'spec.dynamicVolumesPolicy',
    'spec.runtime',
    'spec.restoreFrom',
    'spec.golden',
    'spec.ttlSeconds',
    'spec.ttlSecondsAfterFinished',
    'spec.idle',
    'spec.autoResume',
    'spec.podFailurePolicy',
    'spec.persistentVolumeClaimRetentionPolicy',
    'spec.startup',
    'spec.suspensionStrategy',
    'spec.securityDefaults',
    'status',
  ],
};

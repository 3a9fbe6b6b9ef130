import type { KindFields } from '../../model.ts';

const CHILDREN = 'services/sandbox-controller/src/pod/children.test.ts';
const ENDINGS = 'e2e/src/lifecycle/endings.test.ts';
const PARSE = 'libs/api-types/src/parse.test.ts';
const RECONCILE = 'services/sandbox-controller/src/reconcile.test.ts';
const SCALE = 'libs/api-types/generate/versions.integration.test.ts';
const WHOLE_STATUS = ['services/sandbox-controller/src/status/status.test.ts', 'of a Ready Sandbox'] as const;
const DISKS = [CHILDREN, 'are created from their template and owned by the Sandbox'] as const;
const METADATA = [CHILDREN, 'on a live Pod adds new keys of the template and removes old ones'] as const;

export const sandboxFields: KindFields = {
  crd: 'agents.x-k8s.io_sandboxes',
  table: {
    title: 'Sandbox',
    what: 'field',
    items: [
      [
        'spec.podTemplate.spec',
        'yes',
        [CHILDREN, 'is the template verbatim under the name of the Sandbox, with its volumes last'],
      ],
      ['spec.podTemplate.metadata.labels', 'yes', METADATA],
      ['spec.podTemplate.metadata.annotations', 'yes', METADATA],
      ['spec.volumeClaimTemplates.metadata.name', 'yes', DISKS],
      ['spec.volumeClaimTemplates.metadata.labels', 'yes', DISKS],
      ['spec.volumeClaimTemplates.metadata.annotations', 'yes', DISKS],
      ['spec.volumeClaimTemplates.spec', 'yes', DISKS],
      [
        'spec.service',
        'partly',
        [
          'services/sandbox-controller/src/controller.integration.test.ts',
          'authored in v1alpha1 gets a Service it does not set, and is scaled by kubectl',
        ],
        'left out by an author in `v1alpha1`, it makes a Service, as the first releases of agent-sandbox did; `controller.unsetService: Never` has it as they do today',
      ],
      [
        'spec.shutdownTime',
        'yes',
        [ENDINGS, 'by shutdownTime retains the Sandbox, which runs again with its data when the deadline is removed'],
      ],
      ['spec.shutdownPolicy', 'yes', [RECONCILE, 'with Delete deletes everything']],
      [
        'spec.operatingMode',
        'partly',
        [PARSE, 'sets no default for spellings that exclude each other'],
        'left out, it counts as Running, and is not filled in: a default would exclude `replicas`',
      ],
      [
        'spec.replicas',
        'partly',
        [SCALE, 'scales a Sandbox to nothing and back, through the version it prefers'],
        'left out, it counts as 1, and is not filled in; beside `operatingMode` it is refused',
      ],
      [
        'status.conditions',
        'yes',
        ['services/sandbox-controller/src/controller.integration.test.ts', 'becomes Ready with the documented status'],
      ],
      ['status.service', 'yes', WHOLE_STATUS],
      ['status.serviceFQDN', 'yes', WHOLE_STATUS],
      ['status.selector', 'yes', WHOLE_STATUS],
      ['status.podIPs', 'yes', WHOLE_STATUS],
      ['status.nodeName', 'yes', WHOLE_STATUS],
      ['status.replicas', 'yes', WHOLE_STATUS],
    ],
  },
  own: [
    'spec.ttlSeconds',
    'spec.ttlSecondsAfterFinished',
    'spec.idle',
    'spec.autoResume',
    'spec.podFailurePolicy',
    'spec.persistentVolumeClaimRetentionPolicy',
    'spec.startup',
    'spec.suspensionStrategy',
    'spec.runtime',
    'spec.restoreFrom',
    'status.observedGeneration',
    'status.phase',
    'status.startedAt',
    'status.expiresAt',
    'status.lastActivityTime',
    'status.suspendedAt',
    'status.suspendedBy',
    'status.keeps',
    'status.resumedAt',
    'status.resumedFrom',
    'status.lost',
    'status.restarts',
    'status.startup',
    'status.runtime',
  ],
};

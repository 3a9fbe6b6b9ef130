import type { KindFields } from '../../model.ts';

const CONTROLLER = 'services/warmpool-controller/src/controller.integration.test.ts';
const RECONCILE = 'services/warmpool-controller/src/reconcile.test.ts';
const STATUS = ['services/warmpool-controller/src/decide.test.ts', 'shows all fields of a half-filled pool'] as const;

export const poolFields: KindFields = {
  crd: 'extensions.agents.x-k8s.io_sandboxwarmpools',
  table: {
    title: 'SandboxWarmPool',
    what: 'field',
    items: [
      ['spec.replicas', 'yes', [CONTROLLER, 'fills a pool exactly to its size']],
      [
        'spec.sandboxTemplateRef.name',
        'yes',
        [RECONCILE, 'is reported while it is missing, and members are created once it exists'],
      ],
      [
        'spec.updateStrategy.type',
        'yes',
        [RECONCILE, 'makes members stale when it changes, and Recreate replaces them'],
      ],
      ['status.replicas', 'yes', STATUS],
      ['status.readyReplicas', 'yes', STATUS],
      ['status.selector', 'yes', STATUS],
      ['status.observedGeneration', 'yes', STATUS],
    ],
  },
  own: [
    'spec.updateStrategy.rollingUpdate',
    'spec.refill',
    'spec.autoscaling',
    'spec.schedules',
    'spec.recycle',
    'spec.stuckMember',
    'status.desiredReplicas',
    'status.updatedReplicas',
    'status.pendingReplicas',
    'status.inUse',
    'status.templateHash',
    'status.claimRatePerMinute',
    'status.refillHeldUntil',
    'status.lastScaleTime',
    'status.activeSchedule',
    'status.conditions',
  ],
};

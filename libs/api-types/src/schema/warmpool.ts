import { z } from 'zod';
import { conditionList, count, duration, generation, int32, intOrPercent, listKeys } from './field.ts';
import { localReference, rules, timestamp } from './field.ts';

const updateStrategy = z
  .object({
    type: z.enum(['Recreate', 'OnReplenish', 'RollingUpdate']).default('OnReplenish'),
    rollingUpdate: z
      .object({
        maxUnavailable: intOrPercent(/^(0|[1-9][0-9]?|100)%$/).default('25%'),
        maxSurge: intOrPercent(/^(0|[1-9][0-9]{0,2})%$/).default(0),
      })
      .meta(
        rules({
          rule:
            "!((self.maxUnavailable == 0 || self.maxUnavailable == '0%')" +
            " && (self.maxSurge == 0 || self.maxSurge == '0%'))",
          message: 'maxUnavailable and maxSurge must not both be zero',
        }),
      )
      .optional(),
  })
  .meta(
    rules({
      rule: "!has(self.rollingUpdate) || self.type == 'RollingUpdate'",
      message: 'rollingUpdate requires type RollingUpdate',
    }),
  );

const minNotAboveMax = {
  rule: '!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas',
  message: 'minReplicas must not exceed maxReplicas',
};

const autoscaling = z
  .object({
    minReplicas: int32(0).default(0),
    maxReplicas: int32(1),
    targetFreePercent: int32(1, 90).default(20),
    coverSeconds: int32(0, 3600).default(0),
    scaleDownDelaySeconds: int32(0).default(300),
  })
  .meta(rules(minNotAboveMax));

const schedule = z
  .object({
    name: z.string().min(1).max(63),
    cron: z
      .string()
      .max(128)
      .regex(/^\S+(\s+\S+){4}$/),
    timeZone: z.string().min(1).max(64).default('UTC'),
    durationSeconds: int32(60),
    replicas: int32(0).optional(),
    minReplicas: int32(0).optional(),
    maxReplicas: int32(0).optional(),
  })
  .meta(
    rules(
      {
        rule: 'has(self.replicas) != (has(self.minReplicas) || has(self.maxReplicas))',
        message: 'set either replicas or minReplicas/maxReplicas',
      },
      minNotAboveMax,
    ),
  );

/** `spec` of a SandboxWarmPool; the controller never writes it, so an autoscaler or GitOps keeps it. */
export const sandboxWarmPoolSpec = z.object({
  replicas: int32(0).default(1),
  sandboxTemplateRef: localReference,
  updateStrategy: updateStrategy.optional(),
  refill: z
    .object({
      maxPerSecond: int32(1).optional(),
      maxInFlight: int32(1, 5000).default(300),
      delay: duration.default('0s'),
    })
    .optional(),
  autoscaling: autoscaling.optional(),
  schedules: z.array(schedule).max(20).meta(listKeys('name')).optional(),
  recycle: z.object({ maxAgeSeconds: int32(60).optional() }).optional(),
  stuckMember: z
    .object({ graceSeconds: int32(10).default(300), unschedulable: z.enum(['Hold', 'Replace']).default('Hold') })
    .optional(),
});

/** `status` of a SandboxWarmPool. */
export const sandboxWarmPoolStatus = z.object({
  replicas: count.optional(),
  readyReplicas: count.optional(),
  selector: z.string().optional(),
  observedGeneration: generation.optional(),
  desiredReplicas: count.optional(),
  updatedReplicas: count.optional(),
  pendingReplicas: count.optional(),
  inUse: count.optional(),
  templateHash: z.string().optional(),
  claimRatePerMinute: count.optional(),
  refillHeldUntil: timestamp.optional(),
  lastScaleTime: timestamp.optional(),
  activeSchedule: z.string().optional(),
  conditions: conditionList.optional(),
});

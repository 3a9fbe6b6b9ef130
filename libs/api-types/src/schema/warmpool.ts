import { z } from 'zod';
import { conditionList, count, duration, generation, int32, intOrPercent, listKeys } from './field.ts';
import { localReference, rules, timestamp } from './field.ts';

const updateStrategy = z
  .object({
    type: z
      .enum(['Recreate', 'OnReplenish', 'RollingUpdate'])
      .default('OnReplenish')
      .describe('How [stale members](#staleness-and-rollout) are replaced.'),
    rollingUpdate: z
      .object({
        maxUnavailable: intOrPercent(/^(0|[1-9][0-9]?|100)%$/)
          .default('25%')
          .describe('Ready members that may be missing below the target; percentages round down.'),
        maxSurge: intOrPercent(/^(0|[1-9][0-9]{0,2})%$/)
          .default(0)
          .describe('Members that may stand above the target; percentages round up.'),
      })
      .meta(
        rules({
          rule:
            "!((self.maxUnavailable == 0 || self.maxUnavailable == '0%')" +
            " && (self.maxSurge == 0 || self.maxSurge == '0%'))",
          message: 'maxUnavailable and maxSurge must not both be zero',
        }),
      )
      .optional()
      .describe('Limits of the strategy RollingUpdate.'),
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
    minReplicas: int32(0).default(0).describe('Smallest target.'),
    maxReplicas: int32(1).describe('Largest target.'),
    targetFreePercent: int32(1, 90)
      .default(20)
      .describe('Free members to hold, as a percentage of free ones and those in use.'),
    coverSeconds: int32(0, 3600)
      .default(0)
      .describe('Also hold enough for this many seconds of the recent rate of claims; 0 switches this off.'),
    scaleDownDelaySeconds: int32(0)
      .default(300)
      .describe('Hold the highest target of this window before scaling down.'),
  })
  .meta(rules(minNotAboveMax));

const schedule = z
  .object({
    name: z.string().min(1).max(63).describe('Name of the schedule, unique in the pool.'),
    cron: z
      .string()
      .max(128)
      .regex(/^\S+(\s+\S+){4}$/)
      .describe('When it opens: five fields of cron.'),
    timeZone: z.string().min(1).max(64).default('UTC').describe('IANA name of the time zone.'),
    durationSeconds: int32(60).describe('How long the schedule stays open.'),
    replicas: int32(0).optional().describe('Target while it is open.'),
    minReplicas: int32(0).optional().describe('Smallest target of autoscaling while it is open.'),
    maxReplicas: int32(0).optional().describe('Largest target of autoscaling while it is open.'),
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

/** `spec` of a SandboxWarmPool. The controller never writes it, so it stays with an autoscaler or GitOps. */
export const sandboxWarmPoolSpec = z.object({
  replicas: int32(0)
    .default(1)
    .describe('Members wanted that no claim has adopted. Not read while autoscaling or an open schedule decides.'),
  sandboxTemplateRef: localReference.describe('The template, in the same namespace.'),
  updateStrategy: updateStrategy.optional().describe('How members follow a changed template.'),
  refill: z
    .object({
      maxPerSecond: int32(1)
        .optional()
        .describe('Creations a second, with bursts of the same number; unlimited when unset.'),
      maxInFlight: int32(1, 5000).default(300).describe('Members that may be created and not Ready yet.'),
      delay: duration
        .default('0s')
        .describe('Wait this long after the last adoption before refilling, ten times as long at most.'),
    })
    .optional()
    .describe('Limits on creations. See [Refill](#refill).'),
  autoscaling: autoscaling.optional().describe('Computes the target. See [Autoscaling](#autoscaling).'),
  schedules: z
    .array(schedule)
    .max(20)
    .meta(listKeys('name'))
    .optional()
    .describe('Windows with a target of their own. See [Schedules](#schedules).'),
  recycle: z
    .object({ maxAgeSeconds: int32(60).optional().describe('Replace members that are older, give or take 10 %.') })
    .optional()
    .describe('Replacement of members that waited long. See [Recycle](#recycle).'),
  stuckMember: z
    .object({
      graceSeconds: int32(10).default(300).describe('A member that is not Ready for longer is replaced.'),
      unschedulable: z
        .enum(['Hold', 'Replace'])
        .default('Hold')
        .describe('Whether a Pod that fits no node is kept or replaced.'),
    })
    .optional()
    .describe('Members that do not become Ready. See [Stuck members](#stuck-members).'),
});

/** `status` of a SandboxWarmPool. */
export const sandboxWarmPoolStatus = z.object({
  replicas: count.optional().describe('Members that are not being deleted.'),
  readyReplicas: count.optional().describe('Ready members, stale ones included.'),
  selector: z.string().optional().describe('Label selector of the members.'),
  observedGeneration: generation.optional().describe('The generation the controller last acted on.'),
  desiredReplicas: count.optional().describe('The target the controller works towards.'),
  updatedReplicas: count.optional().describe('Members that are not stale.'),
  pendingReplicas: count.optional().describe('Members that are not Ready.'),
  inUse: count.optional().describe('Sandboxes that claims adopted from this pool and still have.'),
  templateHash: z.string().optional().describe('Hash of the blueprint that members should have.'),
  claimRatePerMinute: count.optional().describe('Recent rate of adoptions.'),
  refillHeldUntil: timestamp.optional().describe('Until when `refill.delay` holds the refill back.'),
  lastScaleTime: timestamp.optional().describe('When the target last changed.'),
  activeSchedule: z.string().optional().describe('Name of the schedule that decides now.'),
  conditions: conditionList.optional().describe('`Available`, `Progressing` and `TemplateResolved`.'),
});

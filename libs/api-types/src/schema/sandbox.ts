import { z } from 'zod';
import { podTemplate, runtime, volumeClaimTemplates } from './embedded.ts';
import { conditionList, count, generation, int32, rules, timestamp } from './field.ts';
import { idleRule, lifecycleFields } from './lifecycle.ts';

/** `spec` of a Sandbox: the union of both versions' fields (API contract, Sandbox). */
export const sandboxSpec = z
  .object({
    podTemplate,
    volumeClaimTemplates: volumeClaimTemplates.optional(),
    service: z.boolean().optional(),
    shutdownTime: timestamp.optional(),
    shutdownPolicy: z.enum(['Delete', 'Retain']).default('Retain'),
    operatingMode: z.enum(['Running', 'Suspended']).optional(),
    replicas: int32(0, 1).optional(),
    ...lifecycleFields,
    runtime: runtime.optional(),
  })
  .meta(
    rules(
      {
        rule:
          'has(self.volumeClaimTemplates) == has(oldSelf.volumeClaimTemplates)' +
          ' && (!has(self.volumeClaimTemplates) || self.volumeClaimTemplates == oldSelf.volumeClaimTemplates)',
        message: 'volumeClaimTemplates is immutable',
      },
      {
        rule: '!(has(self.replicas) && has(self.operatingMode))',
        message: 'replicas and operatingMode are mutually exclusive',
      },
      idleRule,
    ),
  );

/** `status` of a Sandbox; the Sandbox controller is its only writer. */
export const sandboxStatus = z.object({
  conditions: conditionList.optional(),
  service: z.string().optional(),
  serviceFQDN: z.string().optional(),
  selector: z.string().optional(),
  podIPs: z.array(z.string()).optional(),
  nodeName: z.string().optional(),
  replicas: count.optional(),
  observedGeneration: generation.optional(),
  phase: z.enum(['Pending', 'Running', 'Suspending', 'Suspended', 'Restarting', 'Finished', 'Expired']).optional(),
  startedAt: timestamp.optional(),
  expiresAt: timestamp.optional(),
  lastActivityTime: timestamp.optional(),
  suspendedAt: timestamp.optional(),
  suspendedBy: z.enum(['User', 'Idle', 'Startup', 'API']).optional(),
  resumedAt: timestamp.optional(),
  restarts: z
    .object({
      count: count.optional(),
      lastReason: z.string().optional(),
      lastExitTime: timestamp.optional(),
      nextRestartTime: timestamp.optional(),
    })
    .optional(),
  startup: z.object({ completedTime: timestamp.optional() }).optional(),
  runtime: z
    .object({
      ready: z.boolean().optional(),
      version: z.string().optional(),
      initializedAt: timestamp.optional(),
    })
    .optional(),
});

import { z } from 'zod';
import { int32, rules } from './field.ts';

const idle = z.object({
  suspendAfterSeconds: int32(5).optional(),
  deleteAfterSeconds: int32(5).optional(),
});

const podFailurePolicy = z
  .object({
    restart: z.enum(['Never', 'OnFailure', 'Always']).default('Never'),
    maxRestarts: int32(0).default(5),
    backoffSeconds: int32(1).default(10),
    maxBackoffSeconds: int32(1).default(300),
    resetAfterSeconds: int32(1).default(600),
  })
  .meta(
    rules({
      rule: 'self.backoffSeconds <= self.maxBackoffSeconds',
      message: 'backoffSeconds must not exceed maxBackoffSeconds',
    }),
  );

const retention = z.enum(['Retain', 'Delete']);

/**
 * How long a sandbox lives and what ends it. A Sandbox runs these; a SandboxTemplate carries them as defaults that are
 * copied when a claim takes a sandbox, and that pool members do not run (API contract, templates).
 */
export const lifecycleFields = {
  ttlSeconds: int32(1).optional(),
  ttlSecondsAfterFinished: int32(0).optional(),
  idle: idle.optional(),
  autoResume: z.enum(['Always', 'OnRequest', 'Never']).optional(),
  podFailurePolicy: podFailurePolicy.optional(),
  persistentVolumeClaimRetentionPolicy: z
    .object({ whenDeleted: retention.optional(), whenExpired: retention.optional() })
    .optional(),
  startup: z.object({ action: z.enum(['Run', 'Suspended', 'SuspendAfterReady']).optional() }).optional(),
};

/** API contract, Sandbox rules: V3. Sits on the spec, where `idle` is optional. */
export const idleRule = {
  rule:
    '!has(self.idle) || !has(self.idle.suspendAfterSeconds) || !has(self.idle.deleteAfterSeconds)' +
    ' || self.idle.deleteAfterSeconds > self.idle.suspendAfterSeconds',
  message: 'idle.deleteAfterSeconds must be greater than idle.suspendAfterSeconds',
};

import { z } from 'zod';
import { int32, objectName, rules } from './field.ts';

const idle = z.object({
  suspendAfterSeconds: int32(5).optional().describe('Suspend after this many seconds without activity.'),
  deleteAfterSeconds: int32(5)
    .optional()
    .describe('Delete the Sandbox after this many seconds without activity, suspended time included.'),
});

const podFailurePolicy = z
  .object({
    restart: z
      .enum(['Never', 'OnFailure', 'Always'])
      .default('Never')
      .describe('Which Pods that ended are replaced: none, failed ones, or all.'),
    maxRestarts: int32(0).default(5).describe('Restarts inside the reset window; 0 means no limit.'),
    backoffSeconds: int32(1).default(10).describe('Delay of the first restart; it doubles with each further one.'),
    maxBackoffSeconds: int32(1).default(300).describe('Longest delay of a restart.'),
    resetAfterSeconds: int32(1)
      .default(600)
      .describe('The restart count returns to 0 after the Sandbox was Ready for this long without a break.'),
  })
  .meta(
    rules({
      rule: 'self.backoffSeconds <= self.maxBackoffSeconds',
      message: 'backoffSeconds must not exceed maxBackoffSeconds',
    }),
  );

const retention = z.enum(['Retain', 'Delete']);

/** The shape of agent-sandbox's KEP-694, without its `Freeze`. */
const suspensionStrategy = z
  .object({
    type: z
      .enum(['Stop', 'Hibernate'])
      .describe(
        'Stop ends every process. Hibernate saves memory and root file system, and a resume goes on with them.',
      ),
    hibernate: z
      .object({
        snapshotClassName: objectName
          .optional()
          .describe('SandboxSnapshotClass of the save; the default one of the cluster when unset.'),
        contents: z
          .enum(['Memory', 'Files'])
          .default('Memory')
          .describe('What is saved: everything, or only the files of the containers, with which the next Pod boots.'),
        onFailure: z
          .enum(['Stop', 'KeepRunning'])
          .default('Stop')
          .describe('What follows if the save fails: the Pod ends and its memory is lost, or the Pod goes on.'),
      })
      .optional()
      .describe('How it hibernates.'),
  })
  .meta(
    rules({ rule: "!has(self.hibernate) || self.type == 'Hibernate'", message: 'hibernate requires type Hibernate' }),
  );

/**
 * How long a Sandbox lives and what ends it. A Sandbox obeys these fields. A SandboxTemplate has them as defaults, which are
 * copied when a claim adopts a Sandbox and which pool members ignore (docs/reference/sandbox-template.md#spec).
 */
export const lifecycleFields = {
  ttlSeconds: int32(1).optional().describe('Relative lifetime, counted from `status.startedAt`.'),
  ttlSecondsAfterFinished: int32(0).optional().describe('Expiry this long after the condition Finished turned True.'),
  idle: idle.optional().describe('Limits for a Sandbox without activity.'),
  autoResume: z
    .enum(['Always', 'OnRequest', 'Never'])
    .optional()
    .describe('Who may wake the Sandbox with a request; OnRequest when unset. See [Wake](sandbox.md#wake).'),
  podFailurePolicy: podFailurePolicy
    .optional()
    .describe('Replacement of a Pod that ended. See [Restart](sandbox.md#restart-of-a-terminal-pod).'),
  persistentVolumeClaimRetentionPolicy: z
    .object({
      whenDeleted: retention.optional().describe('When the Sandbox is deleted; Delete when unset.'),
      whenExpired: retention
        .optional()
        .describe('At its expiry; when unset, Retain if `shutdownPolicy` is Retain, otherwise as `whenDeleted`.'),
    })
    .optional()
    .describe('What becomes of the disks.'),
  startup: z
    .object({
      action: z.enum(['Run', 'Suspended', 'SuspendAfterReady']).optional().describe('Run when unset.'),
    })
    .optional()
    .describe('What happens at the first start. See [Startup action](sandbox.md#startup-action).'),
  suspensionStrategy: suspensionStrategy
    .optional()
    .describe('What a suspension does with the processes; Stop when unset. See [Hibernation](sandbox.md#hibernation).'),
};

/** A rule of docs/reference/sandbox.md#spec. It sits on the spec, where `idle` is optional. */
export const idleRule = {
  rule:
    '!has(self.idle) || !has(self.idle.suspendAfterSeconds) || !has(self.idle.deleteAfterSeconds)' +
    ' || self.idle.deleteAfterSeconds > self.idle.suspendAfterSeconds',
  message: 'idle.deleteAfterSeconds must be greater than idle.suspendAfterSeconds',
};

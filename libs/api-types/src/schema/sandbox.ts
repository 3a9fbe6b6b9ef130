import { z } from 'zod';
import { podTemplate, runtime, volumeClaimTemplates } from './embedded.ts';
import { conditionList, count, generation, int32, rules, staysAsItWas, timestamp } from './field.ts';
import { idleRule, lifecycleFields } from './lifecycle.ts';
import { restoreFrom } from './start.ts';

/** `spec` of a Sandbox: the union of both versions' fields (docs/reference/sandbox.md#spec). */
export const sandboxSpec = z
  .object({
    podTemplate: podTemplate.describe(
      'The Pod to run: its spec is copied as it is, plus the volumes of `volumeClaimTemplates`.',
    ),
    volumeClaimTemplates: volumeClaimTemplates
      .optional()
      .describe('One disk (PersistentVolumeClaim) per entry, as in a StatefulSet. Cannot be changed.'),
    service: z
      .boolean()
      .optional()
      .describe(
        '`true` creates a headless Service, `false` deletes the one the Sandbox owns. For unset see [Service left unset](#service-left-unset).',
      ),
    shutdownTime: timestamp.optional().describe('When the Sandbox expires.'),
    shutdownPolicy: z
      .enum(['Delete', 'Retain'])
      .default('Retain')
      .describe('What happens to the Sandbox object at its expiry. Pod and Service go either way.'),
    operatingMode: z
      .enum(['Running', 'Suspended'])
      .optional()
      .describe('The mode wanted, in the spelling of `v1beta1`. Running when neither this nor `replicas` is set.'),
    replicas: int32(0, 1)
      .optional()
      .describe('The mode wanted, in the spelling of `v1alpha1` and `kubectl scale`: 1 is Running, 0 is Suspended.'),
    ...lifecycleFields,
    runtime: runtime.optional().describe('The daemon inside the sandbox.'),
    restoreFrom: restoreFrom
      .optional()
      .describe(
        'Start from the memory of a SandboxSnapshot. Cannot be changed. See [Start from a snapshot](#start-from-a-snapshot).',
      ),
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
      staysAsItWas('restoreFrom'),
    ),
  );

/** Comes from the kubelet's status of the Pod (docs/reference/runtime.md#identity). */
const runtimeIdentity = z.object({
  publicKeyHash: z
    .string()
    .describe('SHA-256 in base64url of the public key that the daemon shows. A caller hangs up on any other key.'),
  ports: z.array(int32(1, 65_535)).describe('The ports on which callers speak TLS and check the key.'),
});

const lost = z.object({
  reason: z.string().describe('HibernationFailed, HibernationExpired or RestoreFailed: that of the Event.'),
  message: z.string().describe('What is lost, and why.'),
  at: timestamp.describe('When the controller found it lost.'),
});

/** `status` of a Sandbox; the Sandbox controller is its only writer. */
export const sandboxStatus = z.object({
  conditions: conditionList.optional().describe('See [Conditions](#conditions).'),
  service: z.string().optional().describe('Name of the Service, if there is one.'),
  serviceFQDN: z.string().optional().describe('DNS name of the Service: `<name>.<namespace>.svc.<cluster domain>`.'),
  selector: z
    .string()
    .optional()
    .describe(
      'Label selector of the Pod. Set as soon as a Pod of that name is seen, and kept while the Sandbox sleeps.',
    ),
  podIPs: z.array(z.string()).optional().describe('Addresses of the Pod.'),
  nodeName: z.string().optional().describe('Node of the Pod.'),
  replicas: count.optional().describe('1 while the Sandbox has a Pod; absent otherwise.'),
  observedGeneration: generation.optional().describe('The generation the controller last acted on.'),
  phase: z
    .enum(['Pending', 'Running', 'Suspending', 'Suspended', 'Restarting', 'Finished', 'Expired'])
    .optional()
    .describe('One word for the state of the Sandbox, for people; conditions are for programs.'),
  startedAt: timestamp
    .optional()
    .describe('Where lifetimes start: creation, or adoption for a Sandbox born in a pool.'),
  expiresAt: timestamp.optional().describe('The effective expiry, if there is one.'),
  lastActivityTime: timestamp
    .optional()
    .describe('Latest activity, written coarsely. See [Idle](#idle-suspend-and-resume).'),
  suspendedAt: timestamp.optional().describe('When the latest suspension was complete.'),
  suspendedBy: z.enum(['User', 'Idle', 'Startup', 'API']).optional().describe('Who asked for the latest suspension.'),
  keeps: z
    .enum(['Memory', 'Files', 'Volumes'])
    .optional()
    .describe(
      'While it is suspended: what the next resume goes on with. Memory: processes and files. Files: files, and the programs start anew. Volumes: nothing else, as always with `Stop`.',
    ),
  resumedAt: timestamp.optional().describe('When the latest resume began.'),
  resumedFrom: z
    .enum(['Memory', 'Files', 'Volumes'])
    .optional()
    .describe(
      'While it runs, and hibernates: what its present Pod has gone on with, in the words of `keeps`. Absent in its first Pod.',
    ),
  lost: lost
    .optional()
    .describe(
      'What the Sandbox was to keep and has lost. It stays until memory or files are saved or restored in full again. See [Loss](#loss).',
    ),
  restarts: z
    .object({
      count: count.optional().describe('Restarts inside the reset window.'),
      lastReason: z.string().optional().describe('Why the Pod ended last.'),
      lastExitTime: timestamp.optional().describe('When the Pod ended last.'),
      nextRestartTime: timestamp.optional().describe('When the next Pod is due.'),
    })
    .optional()
    .describe('Restarts of a Pod that ended.'),
  startup: z
    .object({ completedTime: timestamp.optional().describe('When the action was done.') })
    .optional()
    .describe('The startup action.'),
  runtime: z
    .object({
      ready: z.boolean().optional().describe('True while the Sandbox is Ready and its daemon is injected.'),
      version: z.string().optional().describe('Reserved: kept when present, not set by the controllers.'),
      initializedAt: timestamp.optional().describe('Reserved: kept when present, not set by the controllers.'),
      identity: runtimeIdentity.optional().describe('By what callers recognise the daemon of the present Pod.'),
    })
    .optional()
    .describe('The daemon inside the sandbox.'),
});

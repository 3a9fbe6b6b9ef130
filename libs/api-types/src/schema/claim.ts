import { z } from 'zod';
import { volumeClaimTemplates } from './embedded.ts';
import { atomicList, conditionList, count, durationOfASecond, generation, int32, listKeys } from './field.ts';
import { localReference, rules, staysAsItWas, stringMap, timestamp } from './field.ts';
import { inplaceUpdate } from './inplace.ts';

const environmentVariable = z.object({
  name: z.string().describe('Name of the variable.'),
  value: z.string().describe('Its value.'),
  containerName: z
    .string()
    .optional()
    .describe('Container that gets it, init containers included; the first one when unset.'),
});

const runtimeVariable = z
  .object({
    name: z.string().min(1).describe('Name of the variable.'),
    value: z.string().optional().describe('Its value.'),
    valueFrom: z
      .object({
        secretKeyRef: z
          .object({
            name: z
              .string()
              .min(1)
              .describe(
                'Name of the Secret. It must carry the label `sandlot.dev/claim-env: "true"`. `sandlot.dev/envs`: the values that the API stored for this claim.',
              ),
            key: z.string().min(1).describe('Key in the Secret.'),
            optional: z.boolean().optional().describe('Leave the variable out when Secret or key are missing.'),
          })
          .describe('A key of a Secret of the namespace.'),
      })
      .optional()
      .describe('Where the value comes from.'),
  })
  .meta(
    rules({
      rule: 'has(self.value) != has(self.valueFrom)',
      message: 'exactly one of value and valueFrom must be set',
    }),
  );

const dynamicVolume = z
  .object({
    mountPath: z.string().max(1024).regex(/^\//).describe('Absolute path in the first container.'),
    persistentVolumeClaimName: z.string().min(1).optional().describe('A PersistentVolumeClaim of the namespace.'),
    persistentVolumeName: z
      .string()
      .min(1)
      .optional()
      .describe('A PersistentVolume that its label opens to the namespace.'),
    subPath: z.string().optional().describe('Folder of the volume to mount.'),
    readOnly: z.boolean().optional().describe('Mount it read-only.'),
  })
  .meta(
    rules({
      rule: 'has(self.persistentVolumeClaimName) != has(self.persistentVolumeName)',
      message: 'exactly one of persistentVolumeClaimName and persistentVolumeName must be set',
    }),
  );

const lifecycle = z.object({
  shutdownTime: timestamp.optional().describe('When the claim expires.'),
  ttlSecondsAfterFinished: int32(0).optional().describe('Expiry this long after the condition Finished turned True.'),
  shutdownPolicy: z
    .enum(['Delete', 'DeleteForeground', 'Retain'])
    .default('Retain')
    .describe('What happens at the [expiry](#expiry).'),
});

/** The rules of docs/reference/sandbox-claim.md#spec. */
const claimRules = rules(
  {
    rule: 'has(self.warmPoolRef) != has(self.sandboxTemplateRef)',
    message: 'exactly one of warmPoolRef and sandboxTemplateRef must be set',
  },
  {
    rule: '!has(self.warmpool) || has(self.sandboxTemplateRef)',
    message: 'warmpool requires sandboxTemplateRef',
  },
  {
    rule:
      'has(self.replicas) == has(oldSelf.replicas)' + ' && (!has(self.replicas) || self.replicas == oldSelf.replicas)',
    message: 'replicas is immutable',
  },
  {
    rule: 'has(self.ttlSecondsAfterCompleted) == has(oldSelf.ttlSecondsAfterCompleted)',
    message: 'ttlSecondsAfterCompleted cannot be added or removed',
  },
  {
    rule: '!has(self.skipInitRuntime) || !self.skipInitRuntime || (!has(self.envs) && !has(self.dynamicVolumes))',
    message: 'skipInitRuntime excludes envs and dynamicVolumes',
  },
  {
    rule: '!has(self.replicas) || self.replicas == 1 || (!has(self.env) && !has(self.volumeClaimTemplates))',
    message: 'env and volumeClaimTemplates are not supported for batch claims; use envs',
  },
  {
    rule: '!has(self.reserveFailedSandboxFor) || (has(self.reserveFailedSandbox) && self.reserveFailedSandbox)',
    message: 'reserveFailedSandboxFor requires reserveFailedSandbox',
  },
  staysAsItWas('sandboxName'),
  {
    rule: '!has(self.sandboxName) || ((!has(self.replicas) || self.replicas == 1) && !has(self.ttlSecondsAfterCompleted))',
    message: 'sandboxName is for bound claims: it excludes replicas and ttlSecondsAfterCompleted',
  },
);

/** `spec` of a SandboxClaim: the union of both versions' fields (docs/reference/sandbox-claim.md#spec). */
export const sandboxClaimSpec = z
  .object({
    warmPoolRef: localReference
      .optional()
      .describe('Claim from this pool; a cold start uses its template. Spelling of `v1beta1`.'),
    sandboxTemplateRef: localReference
      .optional()
      .describe('Claim from any pool of this template; a cold start uses the template. Spelling of `v1alpha1`.'),
    warmpool: z
      .string()
      .optional()
      .describe(
        'With `sandboxTemplateRef`: `none` starts cold, `default` or unset takes any pool of the template, another value only that pool.',
      ),
    sandboxName: z
      .string()
      .max(63)
      .regex(/^[a-z]([-a-z0-9]*[a-z0-9])?$/)
      .optional()
      .describe(
        'Name of the Sandbox, and so of its Pod. Forces a cold start. Cannot be changed. See [Name of the Sandbox](#name-of-the-sandbox).',
      ),
    lifecycle: lifecycle.optional().describe('How the claim ends.'),
    additionalPodMetadata: z
      .object({
        labels: stringMap.optional().describe('Labels of the Pod.'),
        annotations: stringMap.optional().describe('Annotations of the Pod.'),
      })
      .optional()
      .describe('Merged into the metadata of the Pod template. See [Pod metadata](#pod-metadata).'),
    env: z
      .array(environmentVariable)
      .meta(atomicList)
      .optional()
      .describe('Variables of containers. Any entry forces a cold start. See [Environment](#environment).'),
    volumeClaimTemplates: volumeClaimTemplates
      .optional()
      .describe('More disks. Any entry forces a cold start. See [Volumes](#volumes).'),
    replicas: int32(1, 1000).optional().describe('Number of sandboxes, 1 when unset. Cannot be changed.'),
    claimTimeout: durationOfASecond('claimTimeout')
      .optional()
      .describe('Stop trying after this long. Unset: never for a bound claim, 1m for a detached one.'),
    ttlSecondsAfterCompleted: int32(0)
      .optional()
      .describe(
        'Delete the claim, and the claim alone, this long after its completion. Makes it a [detached](#bound-and-detached-claims) one. Cannot be added or removed.',
      ),
    createOnNoStock: z
      .boolean()
      .default(true)
      .describe('Start cold when no warm Sandbox is there; `false` waits for stock.'),
    envs: z
      .array(runtimeVariable)
      .max(200)
      .meta(listKeys('name'))
      .optional()
      .describe(
        'Variables that the daemon in the sandbox gives to processes, without a cold start. See [Delivery](#delivery).',
      ),
    inplaceUpdate: inplaceUpdate
      .optional()
      .describe(
        'What to change in a warm Sandbox: image, CPU or both. Needs `imageOverridePolicy` and `resourcesOverridePolicy` of the template.',
      ),
    dynamicVolumes: z
      .array(dynamicVolume)
      .max(20)
      .meta(listKeys('mountPath'))
      .optional()
      .describe('Volumes that exist already. See [Volumes](#volumes).'),
    reserveFailedSandbox: z
      .boolean()
      .default(false)
      .describe('Keep a Sandbox whose delivery failed, for a look at it.'),
    reserveFailedSandboxFor: durationOfASecond('reserveFailedSandboxFor')
      .optional()
      .describe(
        'Delete such a Sandbox this long after its failure; unset: it stays until a user deletes it. Needs `reserveFailedSandbox`.',
      ),
    waitReadyTimeout: durationOfASecond('waitReadyTimeout')
      .optional()
      .describe(
        'Limit of the [delivery](#delivery) to one Sandbox, after the commit; 30s when unset and a step is needed.',
      ),
    skipInitRuntime: z.boolean().default(false).describe('Do not call the daemon in the sandbox.'),
  })
  .meta(claimRules);

const deliveredSandbox = z.object({
  name: z.string().describe('Name of the Sandbox.'),
  slot: count.optional().describe('Its slot, from 0.'),
  podIPs: z.array(z.string()).optional().describe('Addresses of its Pod.'),
  ready: z.boolean().optional().describe('Whether it is Ready.'),
  origin: z.enum(['Warm', 'Cold']).optional().describe('Whether it was adopted or created.'),
});

/** `status` of a SandboxClaim; the shard that owns the claim is its only writer. */
export const sandboxClaimStatus = z.object({
  conditions: conditionList.optional().describe('See [Conditions](#conditions).'),
  sandbox: z
    .object({
      name: z.string().optional().describe('Its name.'),
      podIPs: z.array(z.string()).optional().describe('Addresses of its Pod.'),
    })
    .optional()
    .describe('The Sandbox of the claim; of a detached claim the one in the lowest slot.'),
  observedGeneration: generation.optional().describe('The generation the controller last acted on.'),
  mode: z
    .enum(['Bound', 'Detached'])
    .optional()
    .describe('[Bound or detached](#bound-and-detached-claims), stored on the first pass.'),
  phase: z
    .enum(['Pending', 'Claiming', 'Completed', 'Failed', 'Expired'])
    .optional()
    .describe('One word for the state of the claim, for people.'),
  message: z.string().optional().describe('Why the claim has no Sandbox, or not all of them.'),
  claimStartTime: timestamp.optional().describe('When claiming began; detached claims only.'),
  completionTime: timestamp
    .optional()
    .describe('When the claim was first served; of a detached claim, when claiming ended.'),
  claimedReplicas: count.optional().describe('Sandboxes delivered so far; always present.'),
  readyReplicas: count.optional().describe('Those of them that are Ready.'),
  sandboxes: z
    .array(deliveredSandbox)
    .max(1000)
    .meta(listKeys('name'))
    .optional()
    .describe('The Sandboxes of a detached claim, by slot.'),
});

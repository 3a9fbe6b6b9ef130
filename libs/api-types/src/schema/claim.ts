import { z } from 'zod';
import { volumeClaimTemplates } from './embedded.ts';
import { atomicList, conditionList, count, durationOfASecond, generation, int32, listKeys } from './field.ts';
import { localReference, rules, stringMap, timestamp } from './field.ts';

const environmentVariable = z.object({
  name: z.string(),
  value: z.string(),
  containerName: z.string().optional(),
});

const runtimeVariable = z
  .object({
    name: z.string().min(1),
    value: z.string().optional(),
    valueFrom: z
      .object({
        secretKeyRef: z.object({
          name: z.string().min(1),
          key: z.string().min(1),
          optional: z.boolean().optional(),
        }),
      })
      .optional(),
  })
  .meta(
    rules({
      rule: 'has(self.value) != has(self.valueFrom)',
      message: 'exactly one of value and valueFrom must be set',
    }),
  );

const dynamicVolume = z
  .object({
    mountPath: z.string().max(1024).regex(/^\//),
    persistentVolumeClaimName: z.string().min(1).optional(),
    persistentVolumeName: z.string().min(1).optional(),
    subPath: z.string().optional(),
    readOnly: z.boolean().optional(),
  })
  .meta(
    rules({
      rule: 'has(self.persistentVolumeClaimName) != has(self.persistentVolumeName)',
      message: 'exactly one of persistentVolumeClaimName and persistentVolumeName must be set',
    }),
  );

const lifecycle = z.object({
  shutdownTime: timestamp.optional(),
  ttlSecondsAfterFinished: int32(0).optional(),
  shutdownPolicy: z.enum(['Delete', 'DeleteForeground', 'Retain']).default('Retain'),
});

/** API contract, claim rules C1 to C6. */
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
);

/** `spec` of a SandboxClaim: the union of both versions' fields (API contract, SandboxClaim). */
export const sandboxClaimSpec = z
  .object({
    warmPoolRef: localReference.optional(),
    sandboxTemplateRef: localReference.optional(),
    warmpool: z.string().optional(),
    lifecycle: lifecycle.optional(),
    additionalPodMetadata: z.object({ labels: stringMap.optional(), annotations: stringMap.optional() }).optional(),
    env: z.array(environmentVariable).meta(atomicList).optional(),
    volumeClaimTemplates: volumeClaimTemplates.optional(),
    replicas: int32(1, 1000).optional(),
    claimTimeout: durationOfASecond('claimTimeout').optional(),
    ttlSecondsAfterCompleted: int32(0).optional(),
    createOnNoStock: z.boolean().default(true),
    envs: z.array(runtimeVariable).max(200).meta(listKeys('name')).optional(),
    inplaceUpdate: z.object({ image: z.string().min(1) }).optional(),
    dynamicVolumes: z.array(dynamicVolume).max(20).meta(listKeys('mountPath')).optional(),
    reserveFailedSandbox: z.boolean().default(false),
    waitReadyTimeout: durationOfASecond('waitReadyTimeout').optional(),
    skipInitRuntime: z.boolean().default(false),
  })
  .meta(claimRules);

const deliveredSandbox = z.object({
  name: z.string(),
  slot: count.optional(),
  podIPs: z.array(z.string()).optional(),
  ready: z.boolean().optional(),
  origin: z.enum(['Warm', 'Cold']).optional(),
});

/** `status` of a SandboxClaim; the shard that owns the claim is its only writer. */
export const sandboxClaimStatus = z.object({
  conditions: conditionList.optional(),
  sandbox: z.object({ name: z.string().optional(), podIPs: z.array(z.string()).optional() }).optional(),
  observedGeneration: generation.optional(),
  mode: z.enum(['Bound', 'Detached']).optional(),
  phase: z.enum(['Pending', 'Claiming', 'Completed', 'Failed', 'Expired']).optional(),
  message: z.string().optional(),
  claimStartTime: timestamp.optional(),
  completionTime: timestamp.optional(),
  claimedReplicas: count.optional(),
  readyReplicas: count.optional(),
  sandboxes: z.array(deliveredSandbox).max(1000).meta(listKeys('name')).optional(),
});

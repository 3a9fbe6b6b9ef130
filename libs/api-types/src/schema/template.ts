import { z } from 'zod';
import { networkPolicy, podTemplate, runtime, volumeClaimTemplates } from './embedded.ts';
import { atomicList, conditionList, count, generation, listKeys, rules } from './field.ts';
import { idleRule, lifecycleFields } from './lifecycle.ts';

/** `spec` of a SandboxTemplate: the blueprint, its policies and the lifecycle defaults (API contract, templates). */
export const sandboxTemplateSpec = z
  .object({
    podTemplate,
    volumeClaimTemplates: volumeClaimTemplates.optional(),
    service: z.boolean().optional(),
    networkPolicy: networkPolicy.optional(),
    networkPolicyManagement: z.enum(['Managed', 'Unmanaged']).default('Managed'),
    envVarsInjectionPolicy: z.enum(['Allowed', 'Overrides', 'Disallowed']).default('Disallowed'),
    volumeClaimTemplatesPolicy: z.enum(['Disallowed', 'Allowed', 'Overrides']).default('Disallowed'),
    imageOverridePolicy: z
      .object({ allowedImages: z.array(z.string().min(1)).min(1).max(50).meta(atomicList) })
      .optional(),
    dynamicVolumesPolicy: z.enum(['Disallowed', 'Allowed']).optional(),
    runtime: runtime.optional(),
    ...lifecycleFields,
    securityDefaults: z.enum(['Compat', 'Hardened']).optional(),
  })
  .meta(rules(idleRule));

/** `status` of a SandboxTemplate. */
export const sandboxTemplateStatus = z.object({
  observedGeneration: generation.optional(),
  blueprintHash: z.string().optional(),
  templateRefHash: z.string().optional(),
  networkPolicyName: z.string().optional(),
  warmPools: z
    .array(z.object({ name: z.string(), replicas: count.optional(), readyReplicas: count.optional() }))
    .max(50)
    .meta(listKeys('name'))
    .optional(),
  warmPoolCount: count.optional(),
  conditions: conditionList.optional(),
});

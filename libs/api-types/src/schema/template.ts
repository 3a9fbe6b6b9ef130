import { z } from 'zod';
import { egressRules, templateEgress } from './egress.ts';
import { networkPolicy, podTemplate, runtime, volumeClaimTemplates } from './embedded.ts';
import { atomicList, conditionList, count, generation, listKeys, rules } from './field.ts';
import { resourcesOverridePolicy } from './inplace.ts';
import { idleRule, lifecycleFields } from './lifecycle.ts';
import { golden, restoreFrom } from './start.ts';

/** `spec` of a SandboxTemplate: the blueprint, its policies and the lifecycle defaults (docs/reference/sandbox-template.md#spec). */
export const sandboxTemplateSpec = z
  .object({
    podTemplate: podTemplate.describe('The Pod of every Sandbox made from the template. Part of the blueprint.'),
    volumeClaimTemplates: volumeClaimTemplates
      .optional()
      .describe('One disk per entry for each Sandbox. Part of the blueprint.'),
    service: z.boolean().optional().describe('As on the [Sandbox](sandbox.md#spec). Part of the blueprint.'),
    networkPolicy: networkPolicy.optional().describe('Rules instead of the [default ones](#network-policy).'),
    egress: templateEgress.optional().describe('How its Sandboxes reach names. See [Egress by name](#egress-by-name).'),
    networkPolicyManagement: z
      .enum(['Managed', 'Unmanaged'])
      .default('Managed')
      .describe('Unmanaged: the controller writes no NetworkPolicy, and deletes one it wrote.'),
    envVarsInjectionPolicy: z
      .enum(['Allowed', 'Overrides', 'Disallowed'])
      .default('Disallowed')
      .describe('What claims may set by `env` and `envs`. See [Environment](sandbox-claim.md#environment).'),
    volumeClaimTemplatesPolicy: z
      .enum(['Disallowed', 'Allowed', 'Overrides'])
      .default('Disallowed')
      .describe('What claims may set by `volumeClaimTemplates`. See [Volumes](sandbox-claim.md#volumes).'),
    imageOverridePolicy: z
      .object({
        allowedImages: z.array(z.string().min(1)).min(1).max(50).meta(atomicList).describe('Beginnings of images.'),
      })
      .optional()
      .describe('Images a claim may ask for by `inplaceUpdate.image`; none when unset.'),
    resourcesOverridePolicy: resourcesOverridePolicy
      .optional()
      .describe('CPU a claim may ask for by `inplaceUpdate.resources`; none when unset.'),
    dynamicVolumesPolicy: z
      .enum(['Disallowed', 'Allowed'])
      .optional()
      .describe(
        'Whether claims may set `dynamicVolumes`. When unset they may mount volumes of the E2B API, which Disallowed refuses too, and nothing else. Allowed opens every PersistentVolumeClaim of the namespace to all its claims and API keys.',
      ),
    runtime: runtime.optional().describe('The daemon inside the sandbox. Part of the blueprint.'),
    restoreFrom: restoreFrom
      .optional()
      .describe(
        'Every Sandbox starts from this SandboxSnapshot. Part of the blueprint. See [Start from a snapshot](sandbox.md#start-from-a-snapshot).',
      ),
    golden: golden
      .optional()
      .describe('Members of pools start from a snapshot of the template. See [Golden snapshot](#golden-snapshot).'),
    ...lifecycleFields,
    securityDefaults: z
      .enum(['Compat', 'Hardened'])
      .optional()
      .describe('Which [secure defaults](#secure-defaults) are filled in; when unset, the value of the chart.'),
  })
  .meta(
    rules(
      idleRule,
      ...egressRules,
      {
        rule: '!(has(self.golden) && has(self.restoreFrom))',
        message: 'golden and restoreFrom are mutually exclusive',
      },
      {
        rule: '!has(self.golden) || !has(self.volumeClaimTemplates) || size(self.volumeClaimTemplates) == 0',
        message: 'golden excludes volumeClaimTemplates, whose content cannot be copied',
      },
    ),
  );

/** `status` of a SandboxTemplate. */
export const sandboxTemplateStatus = z.object({
  observedGeneration: generation.optional().describe('The generation the controller last acted on.'),
  blueprintHash: z.string().optional().describe('Hash of the blueprint. See [Hashes](names-and-hashes.md#hashes).'),
  templateRefHash: z.string().optional().describe('NameHash of the name of the template, the label on its Sandboxes.'),
  networkPolicyName: z.string().optional().describe('Name of the NetworkPolicy in force.'),
  warmPools: z
    .array(
      z.object({
        name: z.string().describe('Name of the pool.'),
        replicas: count.optional().describe('Its members.'),
        readyReplicas: count.optional().describe('Its Ready members.'),
      }),
    )
    .max(50)
    .meta(listKeys('name'))
    .optional()
    .describe('The pools that use the template, 50 at most.'),
  warmPoolCount: count.optional().describe('How many pools use the template.'),
  conditions: conditionList.optional().describe('`Accepted`, `NetworkPolicyReady` and `EgressReady`.'),
});

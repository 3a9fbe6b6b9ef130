import { z } from 'zod';
import {
  atomicList,
  conditionList,
  generation,
  int32,
  listKeys,
  objectName,
  rules,
  staysAsItWas,
  stringMap,
  timestamp,
} from './field.ts';

const step = z.object({
  type: z
    .string()
    .min(1)
    .max(32)
    .describe('`RUN`, `COPY`, `ENV`, `WORKDIR` or `USER`. Any other one fails the build at this step.'),
  args: z
    .array(z.string().max(65_536))
    .max(200)
    .meta(atomicList)
    .default([])
    .describe('Arguments of the step. See [Steps](#steps).'),
  filesHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe('Of a COPY: the archive with its files, as it was uploaded.'),
  force: z.boolean().default(false).describe('Run this step and all later ones, also if their results are cached.'),
});

const builtTemplate = z.object({
  name: objectName.max(63).describe('Name of a SandboxTemplate of the same namespace, which no one else made.'),
  labels: stringMap.optional().describe('Labels that the SandboxTemplate gets.'),
  annotations: stringMap.optional().describe('Annotations that the SandboxTemplate gets.'),
});

/** `spec` of a SandboxTemplateBuild (docs/reference/sandbox-template-build.md#spec). */
export const sandboxTemplateBuildSpec = z
  .object({
    templates: z
      .array(builtTemplate)
      .min(1)
      .max(50)
      .meta(listKeys('name'))
      .describe('The SandboxTemplates that a successful build creates or changes. Cannot be changed.'),
    paused: z
      .boolean()
      .default(false)
      .describe('The build waits, and may be changed. Once false, nothing of the spec can be changed any more.'),
    image: z.string().max(1_024).optional().describe('The image to start from. Either this or `fromTemplateName`.'),
    fromTemplateName: objectName
      .optional()
      .describe('The SandboxTemplate to start from, which a build made, in the same namespace.'),
    registrySecretName: objectName
      .optional()
      .describe('Secret with credentials for the registry of `image`. See [Private registries](#private-registries).'),
    steps: z.array(step).max(500).meta(atomicList).default([]).describe('Steps, in their order. See [Steps](#steps).'),
    force: z.boolean().default(false).describe('Build everything anew, also the base.'),
    startCommand: z
      .string()
      .max(65_536)
      .optional()
      .describe(
        'Runs in every Sandbox of the template when its container starts. See [Start command](#start-command).',
      ),
    readyCommand: z
      .string()
      .max(65_536)
      .optional()
      .describe('A Sandbox is Ready once this exits with 0. Unset: at once, or 20 s after a start command.'),
    cpu: int32(1, 32).optional().describe('CPUs of the Sandboxes of the template, and of the build.'),
    memoryMiB: int32(128).optional().describe('Memory of the Sandboxes of the template, and of the build.'),
    minFreeDiskMiB: int32(0).optional().describe('Ephemeral storage that a Sandbox of the template has to have free.'),
    timeoutSeconds: int32(60, 86_400).default(3_600).describe('The build fails when it has run this long.'),
  })
  .meta(
    rules(
      staysAsItWas('templates'),
      {
        rule: 'oldSelf.paused || self == oldSelf',
        message: 'a build that has begun cannot be changed; make another one',
      },
      {
        rule: 'self.paused || has(self.image) != has(self.fromTemplateName)',
        message: 'set either image or fromTemplateName',
      },
      {
        rule: '!has(self.registrySecretName) || has(self.image)',
        message: 'registrySecretName requires image',
      },
    ),
  );

/** `status` of a SandboxTemplateBuild; the template-builder is its only writer. */
export const sandboxTemplateBuildStatus = z.object({
  observedGeneration: generation.optional().describe('The generation the controller last acted on.'),
  phase: z
    .enum(['Waiting', 'Building', 'Ready', 'Failed'])
    .optional()
    .describe('One word for the state of the build, for people; the condition is for programs.'),
  failedStep: z.string().optional().describe('Where it failed: `base`, the position of a step from 1, or `finalize`.'),
  image: z.string().optional().describe('The image that was built, by digest.'),
  cachedSteps: int32(0).optional().describe('How many steps came from the cache.'),
  startedAt: timestamp.optional().describe('When it began.'),
  finishedAt: timestamp.optional().describe('When it ended.'),
  attempt: int32(0).optional().describe('How often it began: once more after each process that died with it.'),
  logEntries: int32(0).optional().describe('How many entries its log has.'),
  conditions: conditionList.optional().describe('See [Conditions](#conditions).'),
});

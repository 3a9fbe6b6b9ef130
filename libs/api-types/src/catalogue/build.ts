/** Condition types of a SandboxTemplateBuild. */
export const buildConditions = { ready: 'Ready' } as const;

/** Reasons of the condition Ready of a SandboxTemplateBuild (docs/reference/sandbox-template-build.md#conditions). */
export const buildReasons = {
  built: 'Built',
  paused: 'Paused',
  waitsForTurn: 'WaitsForTurn',
  building: 'Building',
  superseded: 'Superseded',
  timedOut: 'TimedOut',
  stepFailed: 'StepFailed',
  imageRefused: 'ImageRefused',
  notStarted: 'NotStarted',
  registryFailed: 'RegistryFailed',
  templateExists: 'TemplateExists',
  templateRefused: 'TemplateRefused',
  templateNotFound: 'TemplateNotFound',
} as const;

export type BuildReason = (typeof buildReasons)[keyof typeof buildReasons];

/** Messages of the condition Ready of a SandboxTemplateBuild. */
export const buildMessages = {
  built: (seconds: number) => `Build finished, took ${seconds}s`,
  paused: 'The build begins when spec.paused is false',
  waitsForTurn: (most: number) => `Waits for another build of this namespace: at most ${most} run at a time`,
  building: 'The build runs',
  superseded: 'The build was canceled because it was superseded by a newer one.',
  pausedTooLong: (minutes: number) => `The build was not started within ${minutes} minutes. Make another one`,
  timedOut: (seconds: number) => `The build ran for longer than spec.timeoutSeconds, ${seconds} s`,
  notStarted: (detail: string) =>
    `The sandbox in which the steps run did not start: ${detail}. Is the image a Linux image for the architecture of the nodes?`,
  pushFailed: (detail: string) => `the image was built but could not be pushed: ${detail}`,
  templateExists: (name: string) =>
    `SandboxTemplate "${name}" exists, and no build made it. Choose another name, or delete that SandboxTemplate`,
  templateRefused: (name: string, said: string) => `SandboxTemplate "${name}" was refused: ${said}`,
  noCredentials: (name: string) =>
    `There is no Secret "${name}" in this namespace with the label sandlot.dev/registry-credentials: "true"`,
  noNamespaceSecrets:
    'spec.registrySecretName: this installation reads no Secrets of namespaces for builds. Ask its operator for builds.namespaceSecrets',
  templateNotFound: (name: string) => `template '${name}' not found`,
} as const;

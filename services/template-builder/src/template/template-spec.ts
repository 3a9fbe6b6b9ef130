import type { SandboxTemplateSpec } from '@sandlot/api-types';
import type { BuildState } from '@sandlot/template-build';

export interface BuiltTemplate {
  readonly image: string;
  readonly cpu?: number | undefined;
  readonly memoryMiB?: number | undefined;
  readonly minFreeDiskMiB?: number | undefined;
  /** Undefined: that of the image. */
  readonly state: BuildState | undefined;
  readonly commands: { readonly start?: string | undefined; readonly ready?: string | undefined };
}

/** Variables of the container by which the daemon starts what the template starts. */
export const START_COMMAND = 'SANDLOT_START_COMMAND';
export const READY_COMMAND = 'SANDLOT_READY_COMMAND';
/** What the steps set: these two commands see it, and nothing else in a sandbox. */
const START_ENV = 'SANDLOT_START_ENV';

const DEFAULT_CPU = 2;
const DEFAULT_MEMORY_MIB = 1_024;
/** Sandboxes of a pool mostly wait. What they may use is the limit. */
const REQUESTED_CPU = '10m';

function formatStartEnv({ state, commands }: BuiltTemplate): string | undefined {
  const isSeen = commands.start !== undefined || commands.ready !== undefined;
  return isSeen && Object.keys(state?.env ?? {}).length > 0 ? JSON.stringify(state?.env) : undefined;
}

/** The template for an image that was built; `defaults` are what the operator wants of all of them. */
export function buildTemplateSpec(built: BuiltTemplate, defaults: Partial<SandboxTemplateSpec>): SandboxTemplateSpec {
  const { image, cpu = DEFAULT_CPU, memoryMiB = DEFAULT_MEMORY_MIB, minFreeDiskMiB, state, commands } = built;
  const disk = minFreeDiskMiB === undefined ? {} : { 'ephemeral-storage': `${minFreeDiskMiB}Mi` };
  const env = Object.entries({
    SANDLOT_DEFAULT_USER: state?.user,
    SANDLOT_WORKDIR: state?.workdir,
    [START_COMMAND]: commands.start,
    [READY_COMMAND]: commands.ready,
    [START_ENV]: formatStartEnv(built),
  }).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
  // The operator writes only what all templates have, so there may be no containers.
  const pod: Partial<SandboxTemplateSpec['podTemplate']['spec']> | undefined = defaults.podTemplate?.spec;
  const container = {
    name: 'sandbox',
    image,
    command: ['sleep', 'infinity'],
    resources: {
      requests: { cpu: REQUESTED_CPU, memory: `${memoryMiB}Mi`, ...disk },
      limits: { cpu: String(cpu), memory: `${memoryMiB}Mi` },
    },
    ...(env.length === 0 ? {} : { env }),
  };
  return {
    envVarsInjectionPolicy: 'Allowed',
    ...defaults,
    podTemplate: { ...defaults.podTemplate, spec: { ...pod, containers: [{ ...pod?.containers?.[0], ...container }] } },
    runtime: { ...defaults.runtime, inject: true },
  };
}

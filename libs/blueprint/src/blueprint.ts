import { hashBlueprint } from '@sandlot/api-types';
import type { Blueprint, SandboxSpec, SandboxTemplate } from '@sandlot/api-types';
import type { PodDefaults } from './defaults.ts';
import { getPodSpec } from './defaults.ts';

/** Lifecycle defaults of a template: copied when a claim adopts a Sandbox; unclaimed members ignore them. */
const LIFECYCLE_FIELDS = [
  'ttlSeconds',
  'ttlSecondsAfterFinished',
  'idle',
  'autoResume',
  'podFailurePolicy',
  'persistentVolumeClaimRetentionPolicy',
  'startup',
  'suspensionStrategy',
] as const;

export type LifecycleDefaults = Partial<Pick<SandboxSpec, (typeof LIFECYCLE_FIELDS)[number]>>;

/** The template's blueprint with the installation's pod defaults applied; metadata as the template has it. */
export function buildBlueprint(template: SandboxTemplate, defaults: PodDefaults): Blueprint {
  const { podTemplate, volumeClaimTemplates, service, runtime, restoreFrom } = template.spec;
  return {
    podTemplate: { ...podTemplate, spec: getPodSpec(template, defaults) },
    ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
    ...(service === undefined ? {} : { service }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(restoreFrom === undefined ? {} : { restoreFrom }),
  };
}

/**
 * The hash that members carry. An equal hash means current; a different one means that the blueprints have to be compared
 * (docs/reference/sandbox-warm-pool.md#staleness-and-rollout).
 */
export function getBlueprintHash(template: SandboxTemplate, defaults: PodDefaults): string {
  return hashBlueprint(buildBlueprint(template, defaults));
}

export function getLifecycleDefaults(template: SandboxTemplate): LifecycleDefaults {
  const present = LIFECYCLE_FIELDS.filter((field) => template.spec[field] !== undefined);
  return Object.fromEntries(present.map((field) => [field, template.spec[field]]));
}

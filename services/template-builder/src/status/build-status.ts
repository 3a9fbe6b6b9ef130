import { buildConditions, formatRfc3339, setCondition } from '@sandlot/api-types';
import type { BuildReason, SandboxTemplateBuild, SandboxTemplateBuildStatus } from '@sandlot/api-types';

type Phase = NonNullable<SandboxTemplateBuildStatus['phase']>;

export interface Said {
  readonly reason: BuildReason;
  readonly message: string;
}

/** The longest message of a condition that the API server accepts. */
const MOST_CHARACTERS = 32_768;

/** The status with this phase, and the condition that goes with it. */
export function buildStatus(
  { metadata, status }: SandboxTemplateBuild,
  { phase, reason, message, nowMs }: Said & { readonly phase: Phase; readonly nowMs: number },
): SandboxTemplateBuildStatus {
  const observedGeneration = metadata.generation ?? 1;
  const ready = {
    type: buildConditions.ready,
    status: phase === 'Ready' ? ('True' as const) : ('False' as const),
    observedGeneration,
    reason,
    message: message.slice(0, MOST_CHARACTERS),
  };
  const conditions = setCondition(status?.conditions, ready, formatRfc3339(nowMs));
  return { ...status, observedGeneration, phase, conditions };
}

/** Whether the build has ended, well or not. */
export function hasEnded({ status }: Pick<SandboxTemplateBuild, 'status'>): boolean {
  return status?.phase === 'Ready' || status?.phase === 'Failed';
}

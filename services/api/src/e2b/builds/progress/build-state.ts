import { buildConditions } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import type { BuildInfo, BuildStatus } from './schemas.ts';

/** The state of a build in the words of E2B. One that waits for its turn builds already: its client has done all it can. */
export function getBuildStatus({ spec, status }: Pick<SandboxTemplateBuild, 'spec' | 'status'>): BuildStatus {
  if (status?.phase === 'Ready') return 'ready';
  if (status?.phase === 'Failed') return 'error';
  return spec.paused === true ? 'waiting' : 'building';
}

/** Why a build failed; undefined for any other. Clients find the line of their script by the step. */
export function findReason({ status }: Pick<SandboxTemplateBuild, 'status'>): BuildInfo['reason'] {
  if (status?.phase !== 'Failed') return undefined;
  const ready = (status.conditions ?? []).find(({ type }) => type === buildConditions.ready);
  const step = status.failedStep;
  return { message: ready?.message ?? 'Build failed', ...(step === undefined ? {} : { step }), logEntries: [] };
}

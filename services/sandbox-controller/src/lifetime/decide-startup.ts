import {
  annotations,
  resolveMode,
  findCondition,
  isPoolMember,
  formatRfc3339,
  sandboxConditions,
} from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';
import { suspendStep } from './suspend-steps.ts';

/** Suspends a new Sandbox, at once or once its first Ready is visible: docs/reference/sandbox.md#startup-action. */
export function decideStartup({ sandbox }: Pick<Snapshot, 'sandbox'>): Plan {
  const { spec, status } = sandbox;
  if (!isStartupPending(sandbox) || hasActed(sandbox) || resolveMode(spec) === 'Suspended') return [];
  const isReady = findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True';
  return spec.startup?.action === 'Suspended' || isReady ? [suspendStep(sandbox, 'Startup')] : [];
}

/** Whether the status does not show the startup action as complete. It acts once, and not on a pool member. */
export function isStartupPending(sandbox: Sandbox): boolean {
  const { action = 'Run' } = sandbox.spec.startup ?? {};
  return action !== 'Run' && sandbox.status?.startup?.completedTime === undefined && !isPoolMember(sandbox);
}

/** Whether the action has run and the status does not show it yet. */
export function needsStartupRecord(sandbox: Sandbox): boolean {
  return isStartupPending(sandbox) && hasActed(sandbox);
}

/** `status.startup`: complete once the Sandbox records the action; after that, edits of the spec rule. */
export function findStartup({ sandbox, nowMs }: Pick<Snapshot, 'sandbox' | 'nowMs'>): SandboxStatus['startup'] {
  const { startup } = sandbox.status ?? {};
  if (!needsStartupRecord(sandbox)) return startup;
  return { ...startup, completedTime: formatRfc3339(nowMs) };
}

/** Whether the action has run. An owner who creates a Sandbox suspended has done what the action would do. */
function hasActed({ metadata, spec }: Sandbox): boolean {
  if (metadata.annotations?.[annotations.suspendedBy] === 'Startup') return true;
  return spec.startup?.action === 'Suspended' && resolveMode(spec) === 'Suspended';
}

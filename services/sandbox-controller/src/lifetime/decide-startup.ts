import {
  annotations,
  effectiveMode,
  findCondition,
  isPoolMember,
  rfc3339,
  sandboxConditions,
} from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';
import { suspendStep } from './suspend.ts';

/** Whether the startup action is still ahead. It acts once, and not while a pool member waits for its claim. */
export function isStartupPending(sandbox: Sandbox): boolean {
  const { action = 'Run' } = sandbox.spec.startup ?? {};
  return action !== 'Run' && sandbox.status?.startup?.completedTime === undefined && !isPoolMember(sandbox);
}

/** Suspends a new Sandbox, at once or after its first Ready is visible (API contract, startup action). */
export function decideStartup({ sandbox }: Pick<Snapshot, 'sandbox'>): Plan {
  const { spec, status } = sandbox;
  if (!isStartupPending(sandbox) || hasActed(sandbox) || effectiveMode(spec) === 'Suspended') return [];
  const isReady = findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True';
  return spec.startup?.action === 'Suspended' || isReady ? [suspendStep(sandbox, 'Startup')] : [];
}

/** `status.startup`: complete once the action is on record in the Sandbox; later edits of the spec rule. */
export function startupOf({ sandbox, nowMs }: Pick<Snapshot, 'sandbox' | 'nowMs'>): SandboxStatus['startup'] {
  const { startup } = sandbox.status ?? {};
  if (!isStartupUntold(sandbox)) return startup;
  return { ...startup, completedTime: rfc3339(nowMs) };
}

/** The action has been taken, and the status does not say so yet. */
export function isStartupUntold(sandbox: Sandbox): boolean {
  return isStartupPending(sandbox) && hasActed(sandbox);
}

/** An owner who creates a Sandbox suspended has done what the action would do. */
function hasActed({ metadata, spec }: Sandbox): boolean {
  if (metadata.annotations?.[annotations.suspendedBy] === 'Startup') return true;
  return spec.startup?.action === 'Suspended' && effectiveMode(spec) === 'Suspended';
}

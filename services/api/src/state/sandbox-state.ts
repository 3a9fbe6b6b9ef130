// What a claim and its Sandbox say about the state of the sandbox.
import { resolveMode, findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';

export type SandboxState = 'running' | 'paused';

/** `paused` as soon as a suspend is requested, and while it is under way. */
export function getState(sandbox: Sandbox | undefined): SandboxState {
  return sandbox !== undefined && resolveMode(sandbox.spec) === 'Suspended' ? 'paused' : 'running';
}

/** Whether the suspend is complete: no process of the sandbox is left. */
export function isSuspended(sandbox: Sandbox | undefined): boolean {
  return findCondition(sandbox?.status?.conditions, sandboxConditions.suspended)?.status === 'True';
}

export function isReady({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, 'Ready')?.status === 'True';
}

/** Whether the Sandbox was Ready from the one state to the other. A Sandbox that resumes is not. */
export function wasReadyThroughout(before: Sandbox, after: Sandbox): boolean {
  const [first, last] = [before, after].map(({ status }) => findCondition(status?.conditions, sandboxConditions.ready));
  const isStillReady = first?.status === 'True' && last?.status === 'True';
  return isStillReady && first.lastTransitionTime === last.lastTransitionTime;
}

/** Whether the claim was ever Ready: until then the client that creates the sandbox does not have its id. */
export function wasReady({ status }: SandboxClaim): boolean {
  return status?.completionTime !== undefined;
}

/** Whether the claim has expired, even if the controller has not deleted it yet. */
export function isExpired({ spec }: SandboxClaim, nowMs: number): boolean {
  return Date.parse(spec.lifecycle?.shutdownTime ?? '') <= nowMs;
}

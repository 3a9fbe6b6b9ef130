import { sandboxConditions } from '../catalogue/sandbox.ts';
import { findCondition } from './conditions.ts';
import type { Sandbox } from '../objects.ts';

/** Whether the condition Ready of the Sandbox is True. */
export function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True';
}

/** Whether the pod of the Sandbox has ended: it never serves a claim again. */
export function isFinished({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.finished)?.status === 'True';
}

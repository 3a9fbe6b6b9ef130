import { findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';

export function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True';
}

/** Its pod has ended: it will never serve a claim. */
export function isFinished({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.finished)?.status === 'True';
}

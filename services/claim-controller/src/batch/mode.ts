import { resolveClaimMode } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';

/** Whether the claim hands its Sandboxes over instead of owning one. Stored on the first pass; it cannot change. */
export function isDetached({ spec, status }: SandboxClaim): boolean {
  return (status?.mode ?? resolveClaimMode(spec)) === 'Detached';
}

import type { SandboxClaim } from '@sandlot/api-types';

/** How many Sandboxes the API key of a claim may have, and how many places its other claims have taken. */
export interface Quota {
  readonly limit: number;
  readonly taken: number;
}

/** Whether all Sandboxes of the claim fit: a batch is admitted as a whole. */
export function hasPlace({ spec }: SandboxClaim, { limit, taken }: Quota): boolean {
  return taken + (spec.replicas ?? 1) <= limit;
}

import { isStock } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { getKey } from '@sandlot/kube';
import type { Candidate } from './stock.ts';

export interface CandidateInput {
  readonly sandbox: Sandbox;
  readonly pool: SandboxWarmPool;
  /** Whether the member is built from the current template. */
  readonly current: boolean;
  /** Whether the template's clients can use the member. */
  readonly usable: boolean;
}

/** The member as a candidate; undefined when it may not be adopted (docs/reference/sandbox-claim.md#adoption). */
export function findCandidate({ sandbox, pool, current, usable }: CandidateInput): Candidate | undefined {
  if (!usable || !isStock(sandbox, pool)) return undefined;
  if (!current && !canServeStale(pool)) return undefined;
  return {
    key: getKey(sandbox),
    poolUid: pool.metadata.uid ?? '',
    node: sandbox.status?.nodeName ?? '',
    ready: isReady(sandbox),
    addressed: (sandbox.status?.podIPs ?? []).length > 0,
    current,
  };
}

function canServeStale({ spec }: SandboxWarmPool): boolean {
  return (spec.updateStrategy?.type ?? 'OnReplenish') === 'OnReplenish';
}

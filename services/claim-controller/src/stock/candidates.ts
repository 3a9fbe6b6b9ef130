import { isStock } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { Candidate } from './stock.ts';

export interface CandidateInput {
  readonly sandbox: Sandbox;
  readonly pool: SandboxWarmPool;
  /** Whether the member is built from the current template. */
  readonly current: boolean;
}

/** The member as a candidate; undefined when it may not be adopted (docs/reference/sandbox-claim.md#adoption). */
export function candidateOf({ sandbox, pool, current }: CandidateInput): Candidate | undefined {
  if (!isStock(sandbox, pool)) return undefined;
  if (!current && !servesStale(pool)) return undefined;
  return {
    key: keyOf(sandbox),
    poolUid: pool.metadata.uid ?? '',
    node: sandbox.status?.nodeName ?? '',
    ready: isReady(sandbox),
    addressed: (sandbox.status?.podIPs ?? []).length > 0,
    current,
  };
}

function servesStale({ spec }: SandboxWarmPool): boolean {
  return (spec.updateStrategy?.type ?? 'OnReplenish') === 'OnReplenish';
}

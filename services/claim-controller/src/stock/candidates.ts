import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import { controllerOf, keyOf } from '@sandlot/kube';
import type { Candidate } from './stock.ts';

export interface CandidateInput {
  readonly sandbox: Sandbox;
  readonly pool: SandboxWarmPool;
  /** Whether it is built from the template as it is now. */
  readonly current: boolean;
}

/** The member as a candidate; undefined when it may not be adopted (API contract, candidates). */
export function candidateOf({ sandbox, pool, current }: CandidateInput): Candidate | undefined {
  if (!isMarked(sandbox) || !isAdoptable(sandbox, pool)) return undefined;
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

/** Still the pool's own, and of use to a claim. */
export function isAdoptable(sandbox: Sandbox, { metadata: { uid } }: SandboxWarmPool): boolean {
  const deleting = sandbox.metadata.deletionTimestamp !== undefined;
  return controllerOf(sandbox)?.uid === uid && !deleting && !isFinished(sandbox);
}

function isMarked({ metadata }: Sandbox): boolean {
  const { [labels.warmPoolMember]: member, [labels.templateRefHash]: template } = metadata.labels ?? {};
  return member !== undefined && template !== undefined;
}

function servesStale({ spec }: SandboxWarmPool): boolean {
  return (spec.updateStrategy?.type ?? 'OnReplenish') === 'OnReplenish';
}

import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { fillsSlotOf } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { BatchMemory } from './batch-memory.ts';
import { BY_CLAIM } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import { observe } from '../observe.ts';
import type { ObserveDeps } from '../observe.ts';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import type { RuntimeInits } from '../runtime/runtime-inits.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** One moment's view of a detached claim. */
export interface BatchSnapshot extends ClaimSnapshot {
  /** Sandboxes committed to slots of the claim and not being deleted, the freshest known form of each. */
  readonly live: readonly Sandbox[];
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
}

export interface BatchDeps {
  readonly memory: ClaimMemory;
  readonly cache: Pick<Cache, 'sandboxes'>;
  readonly batches: BatchMemory;
  readonly runtime: Pick<RuntimeInits, 'view'>;
}

/** A detached claim owns nothing, and its name is no Sandbox's. */
export function observeBatch(deps: ObserveDeps & BatchDeps, watched: SandboxClaim): BatchSnapshot {
  const claim = deps.batches.newest(watched, deps.nowMs());
  const seen = observe(deps, claim);
  const { startMs } = deps.batches.of(claim, seen.nowMs);
  const committed = committedSandboxes(deps, claim);
  return {
    ...seen,
    owned: [],
    uninitialised: deps.runtime.pending(claim, committed),
    namesake: undefined,
    promised: undefined,
    live: committed.map((sandbox) => deps.runtime.view(claim, sandbox)),
    startMs,
  };
}

/** The Sandboxes of a detached claim, not Ready before their daemon is initialised. */
export function liveSandboxes(deps: BatchDeps, claim: SandboxClaim): readonly Sandbox[] {
  return committedSandboxes(deps, claim).map((sandbox) => deps.runtime.view(claim, sandbox));
}

/** What the watch shows, and what this process committed that the watch does not show yet. */
function committedSandboxes({ cache, batches, memory }: BatchDeps, claim: SandboxClaim): readonly Sandbox[] {
  const { store } = cache.sandboxes;
  const shown = [...store.byIndex(BY_CLAIM, claim.metadata.uid ?? '')].filter((sandbox) => fillsSlotOf(sandbox, claim));
  const unshown = batches.unshown(claim).filter((sandbox) => {
    const seen = store.get(keyOf(sandbox));
    return seen === undefined || seen.metadata.uid !== sandbox.metadata.uid || !fillsSlotOf(seen, claim);
  });
  return [...shown, ...unshown].filter(
    (sandbox) => sandbox.metadata.deletionTimestamp === undefined && !memory.isDiscarded(claim, sandbox),
  );
}

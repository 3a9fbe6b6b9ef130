import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { fillsSlotOf } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import { observe } from '../observe.ts';
import type { ObserveDeps } from '../observe.ts';
import type { BatchSnapshot } from '../plan/snapshot-batch.ts';
import type { RuntimeInits } from '../runtime/runtime-inits.ts';
import { BY_CLAIM } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import type { BatchMemory } from './batch-memory.ts';
import { freeSlots } from './slots.ts';

export interface BatchDeps {
  readonly memory: ClaimMemory;
  readonly cache: Pick<Cache, 'sandboxes'>;
  readonly batches: BatchMemory;
  readonly runtime: Pick<RuntimeInits, 'recordShown' | 'viewOf'>;
}

/** One moment's view of a detached claim. It owns no Sandbox, and no Sandbox has its name. */
export function observeBatch(deps: ObserveDeps & BatchDeps, watched: SandboxClaim): BatchSnapshot {
  const claim = deps.batches.keepNewest(watched, deps.nowMs());
  const seen = observe(deps, claim);
  const { startMs } = deps.batches.of(claim, seen.nowMs);
  const committed = findCommittedSandboxes(deps, claim);
  deps.runtime.recordShown(claim, committed);
  return {
    ...seen,
    owned: [],
    uninitialised: deps.runtime.uninitialisedOf(claim, committed),
    namesake: undefined,
    promised: undefined,
    live: committed.map((sandbox) => deps.runtime.viewOf(claim, sandbox)),
    startMs,
  };
}

/** Whether slots of the claim are free. */
export function wantsSlots({ claim, live }: BatchSnapshot): boolean {
  return freeSlots(claim, live).length > 0;
}

/** The Sandboxes of a detached claim, shown not Ready until their daemon is initialised. */
export function findLiveSandboxes(deps: BatchDeps, claim: SandboxClaim): readonly Sandbox[] {
  const committed = findCommittedSandboxes(deps, claim);
  deps.runtime.recordShown(claim, committed);
  return committed.map((sandbox) => deps.runtime.viewOf(claim, sandbox));
}

/** Sandboxes that the watch shows in slots of the claim, and those this process committed that the watch does not show yet. */
function findCommittedSandboxes({ cache, batches, memory }: BatchDeps, claim: SandboxClaim): readonly Sandbox[] {
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

import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { fillsSlotOf } from '@sandlot/blueprint';
import type { OwnWrites } from '@sandlot/kube';
import type { DeliveryMemory } from '../delivery/delivery-memory.ts';
import { observe } from '../observe.ts';
import type { ObserveDeps } from '../observe.ts';
import type { BatchSnapshot } from '../plan/snapshot-batch.ts';
import type { RuntimeInits } from '../runtime/runtime-inits.ts';
import { BY_CLAIM } from '../wiring/cache.ts';
import type { BatchMemory } from './batch-memory.ts';
import { listFreeSlots } from './slots.ts';

export interface BatchDeps {
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly deliveries: DeliveryMemory;
  readonly batches: BatchMemory;
  readonly runtime: Pick<RuntimeInits, 'recordShown' | 'buildView'>;
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
    uninitialised: deps.runtime.listUninitialised(claim, committed),
    namesake: undefined,
    rival: undefined,
    promised: undefined,
    live: committed.map((sandbox) => deps.runtime.buildView(claim, sandbox)),
    startMs,
  };
}

/** Whether slots of the claim are free. */
export function needsSlots({ claim, live }: BatchSnapshot): boolean {
  return listFreeSlots(claim, live).length > 0;
}

/** The Sandboxes of a detached claim, shown not Ready until their daemon is initialised. */
export function findLiveSandboxes(deps: BatchDeps, claim: SandboxClaim): readonly Sandbox[] {
  const committed = findCommittedSandboxes(deps, claim);
  deps.runtime.recordShown(claim, committed);
  return committed.map((sandbox) => deps.runtime.buildView(claim, sandbox));
}

/** Sandboxes in slots of the claim that are neither given up nor being deleted. */
function findCommittedSandboxes({ sandboxes, deliveries }: BatchDeps, claim: SandboxClaim): readonly Sandbox[] {
  return [...sandboxes.listByIndex(BY_CLAIM, claim.metadata.uid ?? '')].filter(
    (sandbox) =>
      fillsSlotOf(sandbox, claim) &&
      sandbox.metadata.deletionTimestamp === undefined &&
      !deliveries.isDiscarded(claim, sandbox),
  );
}

import { confirmCommit } from '../adopt/confirm.ts';
import type { ConfirmDeps } from '../adopt/confirm.ts';
import type { Pass } from '../plan/pass.ts';
import type { BatchMemory } from './batch-memory.ts';

interface ConfirmSlotsDeps extends ConfirmDeps {
  readonly batches: BatchMemory;
  readonly nowMs: () => number;
}

/** Confirms the adoptions of earlier passes of a detached claim whose outcome is unknown. */
export async function confirmSlots(deps: ConfirmSlotsDeps, { claim, signal }: Pass): Promise<void> {
  for (const [slot, record] of deps.batches.unconfirmed(claim)) {
    const committed = await confirmCommit(deps, { claim, slot, record, signal });
    if (committed !== undefined) deps.batches.requireSync(claim, deps.nowMs());
  }
}

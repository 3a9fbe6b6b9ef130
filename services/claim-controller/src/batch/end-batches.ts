import type { Sandbox } from '@sandlot/api-types';
import type { ReconcileContext } from '@sandlot/kube';
import type { Ending } from './batch-memory.ts';
import { findLiveSandboxes } from './observe-batch.ts';
import { dropSandbox } from '../delivery/give-up.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import { mapShownSlots } from './slots.ts';

type Context = Pick<ReconcileContext, 'signal' | 'log'>;

/**
 * Deletes Sandboxes that were committed to deleted detached claims and never published. Only the last form of the claim
 * says which those are: this process's own copy may be older than what another leader wrote. When a re-list merely lacked
 * the claim, its last form is lost, and Sandboxes that may be in use stay.
 */
export async function endBatches(deps: ApplyDeps, claimKey: string, { signal, log }: Context): Promise<void> {
  for (const ending of deps.batches.endings(claimKey)) {
    const { claim, isFinal } = ending;
    const unshown = getUnshown(deps, ending);
    if (isFinal) await Promise.all(unshown.map((sandbox) => dropSandbox(deps, { claim, signal }, sandbox)));
    else if (unshown.length > 0) {
      const sandboxes = unshown.map(({ metadata }) => metadata.name);
      log.warn(
        { sandboxes },
        'a batch claim is gone and its last status is unknown: keeping its Sandboxes, which may be in use',
      );
    }
    deps.batches.close(ending);
    deps.memory.forget(claim);
    deps.deliveries.forget(claim);
  }
}

function getUnshown(deps: ApplyDeps, { claim }: Ending): Sandbox[] {
  const shown = new Set(mapShownSlots(claim).values());
  return findLiveSandboxes(deps, claim).filter(({ metadata }) => !shown.has(metadata.name ?? ''));
}

import type { Sandbox } from '@sandlot/api-types';
import type { ReconcileContext } from '@sandlot/kube';
import type { Ending } from './batch-memory.ts';
import { liveSandboxes } from './observe-batch.ts';
import { drop } from '../delivery/give-up.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import { shownSlots } from './slots.ts';

type Context = Pick<ReconcileContext, 'signal' | 'log'>;

/**
 * Does away with what was taken for detached claims that are gone and was never shown. Only the claim as it was deleted
 * tells: what this process wrote, tried to write or read of it may be older than what another leader wrote. Where a list
 * merely lacked the claim nobody can tell any more, and what may be in use stays.
 */
export async function endBatches(deps: ApplyDeps, claimKey: string, { signal, log }: Context): Promise<void> {
  for (const ending of deps.batches.endings(claimKey)) {
    const { claim, isFinal } = ending;
    const unshown = unshownOf(deps, ending);
    if (isFinal) await Promise.all(unshown.map((sandbox) => drop(deps, { claim, signal }, sandbox)));
    else if (unshown.length > 0) {
      const sandboxes = unshown.map(({ metadata }) => metadata.name);
      log.warn({ sandboxes }, 'a batch claim is gone; whether these Sandboxes were delivered is not known: they stay');
    }
    deps.batches.close(ending);
    deps.memory.forget(claim);
  }
}

function unshownOf(deps: ApplyDeps, { claim }: Ending): Sandbox[] {
  const shown = new Set(shownSlots(claim).values());
  return liveSandboxes(deps, claim).filter(({ metadata }) => !shown.has(metadata.name ?? ''));
}

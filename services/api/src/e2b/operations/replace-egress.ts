import { annotations, egressText } from '@sandlot/api-types';
import type { EgressWish, SandboxClaim } from '@sandlot/api-types';
import type { Deps } from '../../wiring/deps.ts';
import { ApiError, conflict, noSandbox } from '../../errors/api-error.ts';
import type { Held } from '../../state/cluster-state.ts';
import { patchClaim } from './lifecycle.ts';
import { isReady } from '../answer/view.ts';

const NO_RULES: EgressWish = { allowOut: [], denyOut: [] };

/**
 * Replaces the egress rules of a sandbox that runs, and returns when they hold. Whatever was allowed before stays so until
 * then, and nothing else. Throws an ApiError: 409 while it is being resumed, 503 when the rules do not come into force.
 */
export async function replaceEgress(deps: Deps, held: Held, wish: EgressWish | undefined): Promise<void> {
  if (!isReady(held.claim)) throw conflict('the sandbox is being paused or resumed; try again');
  const text = egressText(wish ?? NO_RULES);
  const patched = await patchClaim(deps, held, ({ claim }) => {
    const present = askedOf(claim);
    const isSame = present === text || (present === undefined && wish === undefined);
    return isSame ? undefined : { metadata: { annotations: { [annotations.network]: text } } };
  });
  const done = await deps.world.settle(
    patched,
    (current) => {
      if (current === undefined) throw noSandbox(held.claim.metadata.name ?? '');
      return isInForce(current.claim) ? true : undefined;
    },
    { timeoutMs: deps.settings.TRANSITION_TIMEOUT },
  );
  if (done === undefined) {
    throw new ApiError({ status: 503, message: 'the rules of the sandbox are noted and not in force yet' });
  }
}

function askedOf({ metadata }: SandboxClaim): string | undefined {
  return metadata.annotations?.[annotations.network];
}

function isInForce(claim: SandboxClaim): boolean {
  return askedOf(claim) === claim.metadata.annotations?.[annotations.networkApplied];
}

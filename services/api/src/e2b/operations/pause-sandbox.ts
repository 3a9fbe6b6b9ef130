import type { Clock } from '@sandlot/std';
import { buildRetentionPatch } from '../../claim/lifetime.ts';
import { ApiError, conflict, noSandbox } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { isSuspended, getState } from '../../state/sandbox-state.ts';
import { pauseHeaders } from '../request/headers.ts';
import { pauseRequest } from '../request/schemas.ts';
import { findOwnSandbox } from './find-sandbox.ts';
import { patchClaim, setMode } from './guarded-patches.ts';
import type { PatchDeps } from './guarded-patches.ts';
import { done, nameInAudit, oneSandbox } from './shape.ts';

export interface PauseDeps extends PatchDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** How long to wait for the suspend to complete. */
  readonly transitionTimeoutMs: number;
}

export function pauseRoute(deps: PauseDeps): Route {
  return route(
    {
      ...endpoint(
        'pauseSandbox',
        'post /sandboxes/{sandboxID}/pause',
        'Pauses a sandbox: its volumes stay, its memory does not.',
      ),
      ...oneSandbox,
      headers: pauseHeaders,
      hideHeaders: true,
      body: pauseRequest,
      answers: done,
      action: 'sandbox.pause',
    },
    async (call) => {
      const { 'x-e2b-kruise-reserve-paused-sandbox-duration': retention } = call.readHeaders();
      const claimed = await findOwnSandbox(deps, call.key, call.params.sandboxID);
      nameInAudit(call, claimed);
      await pauseSandbox(deps, claimed, retention);
      return { status: 204 };
    },
  );
}

/**
 * Suspends the Sandbox and waits until no process of it runs. The claim gets its retention first, so that the claim's end cannot
 * delete the sandbox in between. Throws an ApiError: 409 if it is paused already, 503 if it does not complete in time.
 */
async function pauseSandbox(deps: PauseDeps, claimed: ClaimedSandbox, retention: string | undefined): Promise<void> {
  if (getState(claimed.sandbox) === 'paused') throw conflict('the sandbox is paused already');
  const retained = await patchClaim(deps, claimed, ({ claim }) =>
    buildRetentionPatch(claim, deps.clock.now(), retention),
  );
  const { claim } = retained;
  const sandbox = await setMode(deps, retained, 'Suspended');
  const isDone = await deps.state.waitUntil(
    { claim, sandbox },
    (current) => {
      if (current === undefined) throw noSandbox(claim.metadata.name ?? '');
      return isSuspended(current.sandbox) ? true : undefined;
    },
    { timeoutMs: deps.transitionTimeoutMs },
  );
  if (isDone === undefined) throw new ApiError({ status: 503, message: 'the sandbox is still being paused' });
}

import type { Clock } from '@sandlot/std';
import { endAtMs, endPatch } from '../../claim/lifetime.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { Limits } from '../../limits/limits.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { refreshRequest, timeoutRequest } from '../request/schemas.ts';
import { assertTimeout } from '../request/timeout.ts';
import { findRunningSandbox } from './find-sandbox.ts';
import { patchClaim } from './guarded-patches.ts';
import type { PatchDeps } from './guarded-patches.ts';
import { done, nameInAudit, oneSandbox } from './shape.ts';

interface ExtendDeps extends PatchDeps {
  readonly clock: Pick<Clock, 'now'>;
}

export interface TimeoutDeps extends ExtendDeps {
  readonly limits: Pick<Limits, 'getAllowance'>;
}

const DEFAULT_REFRESH_SECONDS = 15;

export function buildTimeoutRoutes(deps: TimeoutDeps): readonly Route[] {
  return [buildTimeoutRoute(deps), buildRefreshRoute(deps)];
}

function buildTimeoutRoute(deps: TimeoutDeps): Route {
  return route(
    {
      ...endpoint(
        'setSandboxTimeout',
        'post /sandboxes/{sandboxID}/timeout',
        'Sets the end of a running sandbox, counted from now.',
      ),
      ...oneSandbox,
      answers: done,
      body: timeoutRequest,
      action: 'sandbox.timeout',
    },
    async (call) => {
      const { key, params, body } = call;
      const { maxTimeoutSeconds } = deps.limits.getAllowance(key);
      const timeoutSeconds = Math.max(0, body.timeout);
      if (timeoutSeconds > 0) assertTimeout(timeoutSeconds, maxTimeoutSeconds);
      const claimed = await findRunningSandbox(deps, key, params.sandboxID);
      nameInAudit(call, claimed);
      const endMs = deps.clock.now() + timeoutSeconds * 1_000;
      await patchClaim(deps, claimed, ({ claim }) => endPatch(claim, { endMs, timeoutSeconds }));
      return { status: 204 };
    },
  );
}

function buildRefreshRoute(deps: TimeoutDeps): Route {
  return route(
    {
      ...endpoint(
        'refreshSandbox',
        'post /sandboxes/{sandboxID}/refreshes',
        'Gives a running sandbox more time, never less.',
      ),
      ...oneSandbox,
      answers: done,
      body: refreshRequest,
      action: 'sandbox.refresh',
    },
    async (call) => {
      const { key, params, body } = call;
      const claimed = await findRunningSandbox(deps, key, params.sandboxID);
      nameInAudit(call, claimed);
      await extendSandbox(deps, claimed, body.duration ?? DEFAULT_REFRESH_SECONDS);
      return { status: 204 };
    },
  );
}

/** Moves the end of a sandbox to `timeoutSeconds` from now, unless its end is later already. */
export async function extendSandbox(
  deps: ExtendDeps,
  claimed: ClaimedSandbox,
  timeoutSeconds: number,
): Promise<ClaimedSandbox> {
  const endMs = deps.clock.now() + timeoutSeconds * 1_000;
  return patchClaim(deps, claimed, ({ claim }) => {
    const before = endAtMs(claim);
    return before === undefined || before >= endMs ? undefined : endPatch(claim, { endMs, timeoutSeconds });
  });
}

import { annotations, formatEgressText, labels } from '@sandlot/api-types';
import type { EgressWish, SandboxClaim } from '@sandlot/api-types';
import { ApiError, conflict, noSandbox, notPossible } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { isReady } from '../../state/sandbox-state.ts';
import { readEgress } from '../request/egress.ts';
import { networkUpdate } from '../request/schemas.ts';
import { findRunningSandbox } from './find-sandbox.ts';
import type { FindDeps } from './find-sandbox.ts';
import { patchClaim } from './guarded-patches.ts';
import type { PatchDeps } from './guarded-patches.ts';
import { done, nameInAudit, oneSandbox } from './shape.ts';

export interface EgressDeps extends PatchDeps, Pick<FindDeps, 'clock'> {
  /** How long to wait for the rules to take effect. */
  readonly transitionTimeoutMs: number;
}

const NO_RULES: EgressWish = { allowOut: [], denyOut: [] };

export function buildNetworkRoute(deps: EgressDeps): Route {
  return route(
    {
      ...endpoint(
        'updateSandboxNetwork',
        'put /sandboxes/{sandboxID}/network',
        'Replaces the egress rules of a sandbox, which can only narrow those of its template; answers when they hold.',
      ),
      ...oneSandbox,
      answers: done,
      body: networkUpdate,
      action: 'sandbox.network',
    },
    async (call) => {
      const { key, params, body } = call;
      const wish = readEgress(body, body.allow_internet_access);
      const claimed = await findRunningSandbox(deps, key, params.sandboxID);
      nameInAudit(call, claimed);
      await replaceEgress(deps, claimed, wish);
      return { status: 204 };
    },
  );
}

/**
 * Writes the egress rules into the claim and waits until the claim-controller reports them as applied. Until then the previous
 * rules hold. Throws an ApiError: 400 for a fork, 409 while the sandbox resumes, 503 if the rules do not take effect in time.
 */
async function replaceEgress(deps: EgressDeps, claimed: ClaimedSandbox, wish: EgressWish | undefined): Promise<void> {
  if (!isReady(claimed.claim)) throw conflict('the sandbox is being paused or resumed; try again');
  if ((wish?.names ?? []).length > 0 && !isSteered(claimed)) throw conflict(NO_PROXY);
  const text = formatEgressText(wish ?? NO_RULES);
  const patched = await patchClaim(deps, claimed, ({ claim }) => {
    const present = findRules(claim);
    const isSame = present === text || (present === undefined && wish === undefined);
    if (isSame) return undefined;
    if (isFork(claim)) throw notPossible(FORK_RULES);
    return { metadata: { annotations: { [annotations.network]: text } } };
  });
  const isDone = await deps.state.waitUntil(
    patched,
    (current) => {
      if (current === undefined) throw noSandbox(claimed.claim.metadata.name ?? '');
      return isApplied(current.claim) ? true : undefined;
    },
    { timeoutMs: deps.transitionTimeoutMs },
  );
  if (isDone === undefined) {
    throw new ApiError({ status: 503, message: 'the rules of the sandbox are noted and not in force yet' });
  }
}

const NO_PROXY =
  'names are not available for this sandbox: its template has no egress proxy, or has it only since the sandbox was created; create another sandbox, or list addresses';

/** Whether the Pod of the sandbox asks the egress resolver. */
function isSteered({ sandbox }: ClaimedSandbox): boolean {
  return sandbox?.metadata.labels?.[labels.egress] !== undefined;
}

const FORK_RULES =
  'the egress rules of a fork stay as they are: the template that they narrow was there for its start alone';

function isFork({ metadata }: SandboxClaim): boolean {
  return metadata.annotations?.[annotations.forkedTemplate] !== undefined;
}

function findRules({ metadata }: SandboxClaim): string | undefined {
  return metadata.annotations?.[annotations.network];
}

function isApplied(claim: SandboxClaim): boolean {
  return findRules(claim) === claim.metadata.annotations?.[annotations.networkApplied];
}

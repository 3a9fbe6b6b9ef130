import { annotations, formatEgressText, getTemplateId } from '@sandlot/api-types';
import type { EgressWish, SandboxClaim } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { addRules } from '../../claim/build-e2b-claim.ts';
import { noSandbox } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';
import { conflict, notNow, notPossible } from '../../errors/refusals.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { awaitRules, formatSpread, hasProxy } from '../../replicas/await-rules.ts';
import type { RulesDeps } from '../../replicas/await-rules.ts';
import { isReady } from '../../state/sandbox-state.ts';
import { findRunningSandbox } from '../operations/find-sandbox.ts';
import { patchClaim } from '../operations/guarded-patches.ts';
import type { PatchDeps } from '../operations/guarded-patches.ts';
import { done, nameInAudit, oneSandbox } from '../operations/shape.ts';
import { readEgress } from '../request/egress.ts';
import type { EgressRequest } from '../request/egress.ts';
import { networkUpdate } from '../request/schemas.ts';
import { admitRules, skipsInit } from './admit-rules.ts';
import type { RuleDeps } from './admit-rules.ts';
import { replaceStored } from './replace-stored.ts';

export interface EgressDeps extends PatchDeps, RuleDeps, RulesDeps {
  readonly client: PatchDeps['client'] & RuleDeps['client'] & Pick<KubeClient, 'create' | 'find'>;
  readonly state: PatchDeps['state'];
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Logger;
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
      const request = readEgress(body, body.allow_internet_access);
      const claimed = await findRunningSandbox(deps, key, params.sandboxID);
      nameInAudit(call, claimed);
      await replaceEgress(deps, claimed, { ...request, signal: call.signal });
      return { status: 204 };
    },
  );
}

interface Replacement extends EgressRequest {
  /** Ends the wait when the client is gone. */
  readonly signal: AbortSignal;
}

/**
 * Writes the egress rules into the claim and waits until the claim-controller reports them as applied, and every replica of the
 * egress proxy has them. Until then the previous rules may hold, and so may the values of their headers. Throws an ApiError: 400
 * for a fork, 409 while the sandbox resumes, 503 if the rules do not take effect in time.
 */
async function replaceEgress(deps: EgressDeps, claimed: ClaimedSandbox, request: Replacement): Promise<void> {
  assertServed(claimed, request);
  const { claim, sandbox } = claimed;
  const stored = await admitRules(deps, request.headerRules, {
    namespace: claim.metadata.namespace ?? '',
    templateName: getTemplateId(claim),
    made: sandbox,
    skipsInit: skipsInit(claim),
  });
  const text = formatEgressText(addRules(request.egress, stored.rules) ?? NO_RULES);
  await replaceStored(deps, { claim, values: stored.values }, async (onReplaced) => {
    const patched = await patchClaim(deps, claimed, ({ claim: current }) => {
      const present = findRules(current);
      const isSame =
        present === text || (present === undefined && request.egress === undefined && stored.rules.length === 0);
      if (isSame) return undefined;
      if (isFork(current)) throw notPossible(FORK_RULES);
      onReplaced(current);
      return { metadata: { annotations: { [annotations.network]: text } } };
    });
    await waitUntilApplied(deps, patched, request.signal);
  });
}

/** Throws an ApiError for a sandbox that cannot have these rules now. */
function assertServed({ claim, sandbox }: ClaimedSandbox, { egress, headerRules }: EgressRequest): void {
  if (!isReady(claim)) throw conflict('the sandbox is being paused or resumed; try again');
  const isSteered = hasProxy(sandbox);
  if ((egress?.names ?? []).length > 0 && !isSteered) throw conflict(formatNoProxy('names are', ', or list addresses'));
  if (headerRules.length === 0) return;
  if (isFork(claim)) throw notPossible(FORK_RULES);
  if (!isSteered) throw conflict(formatNoProxy('network.rules are', ''));
}

async function waitUntilApplied(deps: EgressDeps, patched: ClaimedSandbox, signal: AbortSignal): Promise<void> {
  const { state, clock, transitionTimeoutMs } = deps;
  const untilMs = clock.now() + transitionTimeoutMs;
  const applied = await state.waitUntil(
    patched,
    (current) => {
      if (current === undefined) throw noSandbox(patched.claim.metadata.name ?? '');
      return isApplied(current.claim) ? current : undefined;
    },
    { timeoutMs: transitionTimeoutMs, signal },
  );
  if (applied === undefined) throw notInForce();
  const spread = await awaitRules(deps, applied, { timeoutMs: untilMs - clock.now(), signal });
  if (!spread.isComplete) throw notInForce(`: ${formatSpread(spread)}`);
}

function notInForce(detail = ''): ApiError {
  const message = `the rules of the sandbox are noted and not in force yet${detail}`;
  return notNow(message, { afterSeconds: 1 });
}

function formatNoProxy(what: string, instead: string): string {
  return `${what} not available for this sandbox: its template has no egress proxy, or has it only since the sandbox was created; create another sandbox${instead}`;
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

import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { isDelivered } from '../delivery/rules.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Pass } from '../plan/pass.ts';
import { announceBinding } from './announce.ts';
import { findRecordedReadyAt } from './first-ready.ts';
import { publish } from './publish.ts';
import { boundStatus, getPublishedName } from './status.ts';

/** Why a claim needs a later pass for its first status. */
export const AWAITS_DAEMON = 'the runtime of a Sandbox has not answered yet';

/** `lost`: the claim is gone or shows another one. `laterInMs`: its first status waits for the answer of the daemon. */
type Shown = 'shown' | 'lost' | { readonly laterInMs: number };

/** Shows the Sandbox in the claim's status. */
export async function publishSandbox(
  deps: ApplyDeps,
  { claim, early, signal }: Pass,
  committed: Sandbox,
): Promise<Shown> {
  const laterInMs = deps.runtime.findQuietMs(claim, committed);
  if (laterInMs !== undefined) return { laterInMs };
  deps.memory.release(claim);
  const sandbox = deps.runtime.buildView(claim, committed);
  // Before the write: if its answer gets lost, the next pass finds the claim Ready and must not take it for earlier work.
  if (isReady(sandbox) && isDelivered(claim, sandbox)) deps.memory.markReady(claim, findRecordedReadyAt(claim));
  const nowMs = deps.nowMs();
  const getStatus = (current: SandboxClaim): ReturnType<typeof boundStatus> => boundStatus(current, sandbox, nowMs);
  const newest = await early?.settle();
  const published = await publish(deps, { claim, newest, sandbox, buildStatus: getStatus, signal });
  if (published === 'written' && getPublishedName(claim) !== sandbox.metadata.name)
    announceBinding(deps, claim, sandbox);
  return published === 'lost' ? 'lost' : 'shown';
}

/** Leaves the first status to a later pass. If this process dies before, the next one finds the Sandbox and writes at once. */
export function holdStatus({ memory }: Pick<ApplyDeps, 'memory'>, { claim }: Pass, ms: number): ReconcileResult {
  memory.of(claim).held = true;
  return requeueAfter(ms, 'the Sandbox of a claim is starting');
}

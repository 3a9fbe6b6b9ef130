import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
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

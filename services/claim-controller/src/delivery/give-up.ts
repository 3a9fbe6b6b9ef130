import { claimNameLabel, claimReasons, eventReasons, findCondition, labels, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isConflict, isNotFound, keyOf, RetryableError } from '@sandlot/kube';
import type { JsonObject } from '@sandlot/kube';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Report } from '../plan/report.ts';
import { deliveryFailure, isDelivered, wasServed } from './rules.ts';
import { deleteSandbox, readClaim } from '../publish/publish.ts';
import { isDetached } from '../publish/status.ts';
import { shownSlots } from '../batch/slots.ts';

export interface FailedDelivery {
  readonly sandbox: Sandbox;
  readonly message: string;
}

/**
 * A Sandbox that was committed and did not become what was asked for is given up: deleted, or kept for troubleshooting
 * when the claim says so. The next pass looks for another one. Another leader may have seen it Ready and shown it, and our
 * watches may be behind: so the claim is read, and the Sandbox has to be as it was when it was found wanting.
 */
export async function failDelivery(deps: ApplyDeps, pass: Pass, failed: FailedDelivery): Promise<void> {
  const { sandbox } = failed;
  const live = await readClaim(deps, pass.claim, pass.signal);
  if (live === undefined || isServed(live, sandbox)) {
    throw new RetryableError(`Sandbox ${keyOf(sandbox)} is not given up: claim ${keyOf(pass.claim)} has changed`);
  }
  const { resourceVersion } = sandbox.metadata;
  await giveUp(deps, pass, { ...failed, resourceVersion });
}

function isServed(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (!isDetached(claim)) return wasServed(claim, sandbox);
  return [...shownSlots(claim).values()].includes(sandbox.metadata.name ?? '');
}

/** Does away with a Sandbox in a slot that the claim, as it is or was at its end, does not show and never will. */
export async function drop(deps: ApplyDeps, pass: Pass, sandbox: Sandbox): Promise<void> {
  const { claim, signal } = pass;
  if (claim.spec.reserveFailedSandbox === true && !isDelivered(claim, sandbox)) {
    await giveUp(deps, pass, { sandbox, message: deliveryFailure(claim, sandbox) });
    return;
  }
  await deleteSandbox(deps, sandbox, { signal });
  deps.batches.sandboxGone(sandbox);
}

interface GivenUp extends FailedDelivery {
  /** The only version of the Sandbox to be given up; whichever there is, when absent. */
  readonly resourceVersion?: string | undefined;
}

async function giveUp(deps: ApplyDeps, pass: Pass, given: GivenUp): Promise<void> {
  const { claim, signal } = pass;
  const { sandbox, message, resourceVersion } = given;
  const reserved = claim.spec.reserveFailedSandbox === true;
  const isGivenUp = await (reserved
    ? reserve(deps, pass, given)
    : deleteSandbox(deps, sandbox, { resourceVersion, signal }));
  if (!isGivenUp) throw new RetryableError(`Sandbox ${keyOf(sandbox)} is not given up: it has changed`);
  deps.memory.discard(claim, sandbox, { atMs: deps.nowMs(), message });
  deps.batches.sandboxGone(sandbox);
  const what = `${message}; it is ${reserved ? 'kept, with label sandlot.dev/reserved-failed' : 'deleted'}`;
  const event = { type: 'Warning', reason: eventReasons.sandboxInitFailed, message: what } as const;
  deps.recorder.event({ object: claim, ...event, related: sandbox });
}

/** Nobody's from now on: it fills no slot and belongs to no claim, until somebody deletes it or its own time is over. */
async function reserve({ client }: ApplyDeps, { claim, signal }: Pass, given: GivenUp): Promise<boolean> {
  const { namespace, name = '', uid = '' } = given.sandbox.metadata;
  const { resourceVersion } = given;
  const guard = resourceVersion === undefined ? { uid } : { uid, resourceVersion };
  try {
    await client.mergePatch(sandboxes, { namespace, name }, reservation(claim, guard), { signal });
  } catch (error) {
    if (isConflict(error)) return resourceVersion === undefined;
    if (!isNotFound(error)) throw error;
  }
  return true;
}

/** The name of the claim stays: it marks the Sandbox as made here, so that its pod keeps its network policy. */
function reservation(claim: SandboxClaim, guard: JsonObject): JsonObject {
  const marks = {
    [labels.reservedFailed]: 'true',
    [labels.claimName]: claimNameLabel(claim.metadata.name ?? ''),
    [labels.claimSlot]: null,
  };
  return { metadata: { ...guard, ownerReferences: [], labels: marks } };
}

/** Once: when the claim does not say so yet. */
export function noteTimeout({ recorder }: ApplyDeps, { claim }: Pass, { reason, message }: Report): void {
  if (reason !== claimReasons.claimTimeout) return;
  if (findCondition(claim.status?.conditions, 'Ready')?.reason === reason) return;
  recorder.event({ object: claim, type: 'Warning', reason: eventReasons.claimTimeout, message });
}

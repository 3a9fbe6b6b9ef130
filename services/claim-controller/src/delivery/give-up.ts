import { claimReasons, eventReasons, findCondition, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isConflict, isNotFound, getKey, RetryableError } from '@sandlot/kube';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Report } from '../plan/report.ts';
import { formatDeliveryFailure, isDelivered, wasServed } from './rules.ts';
import { deleteSandbox, readClaim } from '../publish/publish.ts';
import { buildReservation } from './reservation.ts';
import { isDetached } from '../batch/mode.ts';
import { mapShownSlots } from '../batch/slots.ts';

export interface FailedDelivery {
  readonly sandbox: Sandbox;
  readonly message: string;
  readonly isRefused?: boolean | undefined;
}

/**
 * Gives up a committed Sandbox that was not ready in time: deletes it, or keeps it for troubleshooting when the claim asks
 * for that. The next pass looks for another one. Another leader may have published the Sandbox while our watches are behind,
 * so this reads the claim first, and acts only on the version of the Sandbox that the decision saw.
 */
export async function giveUpLate(deps: ApplyDeps, pass: Pass, failed: FailedDelivery): Promise<void> {
  const { sandbox } = failed;
  const live = await readClaim(deps, pass.claim, pass.signal);
  if (live === undefined || isServed(live, sandbox)) {
    throw new RetryableError(`Sandbox ${getKey(sandbox)} is not given up: claim ${getKey(pass.claim)} has changed`);
  }
  const { resourceVersion } = sandbox.metadata;
  await giveUp(deps, pass, { ...failed, resourceVersion });
}

function isServed(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (!isDetached(claim)) return wasServed(claim, sandbox);
  return [...mapShownSlots(claim).values()].includes(sandbox.metadata.name ?? '');
}

/** Deletes a Sandbox in a slot that the claim does not show and never will; keeps one that failed, when the claim asks for that. */
export async function dropSandbox(deps: ApplyDeps, pass: Pass, sandbox: Sandbox): Promise<void> {
  const { claim, signal } = pass;
  if (claim.spec.reserveFailedSandbox === true && !isDelivered(claim, sandbox)) {
    await giveUp(deps, pass, { sandbox, message: formatDeliveryFailure(claim, sandbox) });
    return;
  }
  await deleteSandbox(deps, sandbox, { signal });
  deps.sandboxes.forget(getKey(sandbox));
}

interface GivenUp extends FailedDelivery {
  /** The only version of the Sandbox that may be given up; any version when absent. */
  readonly resourceVersion?: string | undefined;
}

async function giveUp(deps: ApplyDeps, pass: Pass, given: GivenUp): Promise<void> {
  const { claim, signal } = pass;
  const { sandbox, message, isRefused, resourceVersion } = given;
  const reserved = claim.spec.reserveFailedSandbox === true;
  const isGivenUp = await (reserved
    ? reserve(deps, pass, given)
    : deleteSandbox(deps, sandbox, { resourceVersion, signal }));
  if (!isGivenUp) throw new RetryableError(`Sandbox ${getKey(sandbox)} is not given up: it has changed`);
  deps.runtime.forget(sandbox);
  deps.deliveries.discard(claim, sandbox, { atMs: deps.nowMs(), message, isRefused });
  deps.sandboxes.forget(getKey(sandbox));
  const what = `${message}; it is ${reserved ? describeReservation(claim) : 'deleted'}`;
  const event = { type: 'Warning', reason: eventReasons.sandboxInitFailed, message: what } as const;
  deps.recorder.record({ object: claim, ...event, related: sandbox });
}

function describeReservation({ spec: { reserveFailedSandboxFor: time } }: SandboxClaim): string {
  return `kept${time === undefined ? '' : ` for ${time}`}, with label sandlot.dev/reserved-failed`;
}

/** Keeps the Sandbox without an owner or a slot, until a user deletes it, its reservation ends or its own time is over. */
async function reserve({ client, nowMs }: ApplyDeps, { claim, signal }: Pass, given: GivenUp): Promise<boolean> {
  const { sandbox, resourceVersion } = given;
  const { namespace, name = '', uid = '' } = sandbox.metadata;
  const guard = resourceVersion === undefined ? { uid } : { uid, resourceVersion };
  const { metadata, ...rest } = buildReservation({ claim, sandbox, nowMs: nowMs() });
  const patch = { ...rest, metadata: { ...metadata, ...guard } };
  try {
    await client.mergePatch(sandboxes, { namespace, name }, patch, { signal });
  } catch (error) {
    if (isConflict(error)) return resourceVersion === undefined;
    if (!isNotFound(error)) throw error;
  }
  return true;
}

/** Writes the Event of a timeout once: only while the claim's status does not show it yet. */
export function recordTimeout({ recorder }: ApplyDeps, { claim }: Pass, { reason, message }: Report): void {
  if (reason !== claimReasons.claimTimeout) return;
  if (findCondition(claim.status?.conditions, 'Ready')?.reason === reason) return;
  recorder.record({ object: claim, type: 'Warning', reason: eventReasons.claimTimeout, message });
}

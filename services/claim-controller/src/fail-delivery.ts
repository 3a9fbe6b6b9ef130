import { claimNameLabel, claimReasons, eventReasons, findCondition, labels, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isConflict, isNotFound } from '@sandlot/kube';
import type { JsonObject } from '@sandlot/kube';
import type { ApplyDeps, Pass } from './pass.ts';
import type { Report } from './plan.ts';
import { deleteSandbox } from './publish.ts';

export interface FailedDelivery {
  readonly sandbox: Sandbox;
  readonly message: string;
}

/**
 * A Sandbox that was committed and did not become what was asked for is given up: deleted, or kept for troubleshooting
 * when the claim says so. The next pass looks for another one.
 */
export async function failDelivery(deps: ApplyDeps, pass: Pass, { sandbox, message }: FailedDelivery): Promise<void> {
  const { claim, signal } = pass;
  const reserved = claim.spec.reserveFailedSandbox === true;
  if (reserved) await reserve(deps, pass, sandbox);
  else await deleteSandbox(deps, sandbox, signal);
  deps.memory.discard(claim, sandbox, { atMs: deps.nowMs(), message });
  deps.batches.sandboxGone(sandbox);
  const what = `${message}; it is ${reserved ? 'kept, with label sandlot.dev/reserved-failed' : 'deleted'}`;
  const event = { type: 'Warning', reason: eventReasons.sandboxInitFailed, message: what } as const;
  deps.recorder.event({ object: claim, ...event, related: sandbox });
}

/** Nobody's from now on: it fills no slot and belongs to no claim, until somebody deletes it or its own time is over. */
async function reserve({ client }: ApplyDeps, { claim, signal }: Pass, sandbox: Sandbox): Promise<void> {
  const { namespace, name = '', uid = '' } = sandbox.metadata;
  try {
    await client.mergePatch(sandboxes, { namespace, name }, reservation(claim, uid), { signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** The name of the claim stays: it marks the Sandbox as made here, so that its pod keeps its network policy. */
function reservation(claim: SandboxClaim, uid: string): JsonObject {
  const marks = {
    [labels.reservedFailed]: 'true',
    [labels.claimName]: claimNameLabel(claim.metadata.name ?? ''),
    [labels.claimSlot]: null,
  };
  return { metadata: { uid, ownerReferences: [], labels: marks } };
}

/** Once: when the claim does not say so yet. */
export function noteTimeout({ recorder }: ApplyDeps, { claim }: Pass, { reason, message }: Report): void {
  if (reason !== claimReasons.claimTimeout) return;
  if (findCondition(claim.status?.conditions, 'Ready')?.reason === reason) return;
  recorder.event({ object: claim, type: 'Warning', reason: eventReasons.claimTimeout, message });
}

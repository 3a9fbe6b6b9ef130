import { annotations, claimConditions, findCondition } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { carrier } from '@sandlot/telemetry';
import { isComplete, mapShownSlots, countWantedSlots } from '../batch/slots.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Pass } from '../plan/pass.ts';
import { measureFirstReady } from '../telemetry/measure.ts';
import { formatRefKey } from '../wiring/cache.ts';
import { decideNotes } from './decide-notes.ts';
import { findRecordedReadyAt } from './first-ready.ts';
import { getPublishedName } from './status.ts';

/** Schedules the bookkeeping annotations of a bound claim (docs/reference/labels-and-annotations.md#annotations). */
export function annotate(deps: ApplyDeps, { claim }: Pick<Pass, 'claim'>, sandbox: Sandbox): void {
  measureFirstReady(deps, claim, deps.runtime.buildView(claim, sandbox));
  scheduleNotes(deps, claim, { sandboxName: sandbox.metadata.name, sandbox });
}

/**
 * The same for a detached claim, in one write for all of a batch: once all is delivered and Ready, or no more will be.
 * `before` is the claim as it was before this pass wrote its status.
 */
export function annotateBatch(deps: ApplyDeps, before: SandboxClaim, after: SandboxClaim): void {
  const sandboxName = getPublishedName(after);
  const isReadyNow = isAllReady(after);
  if (sandboxName === '' || (!isReadyNow && !isPartial(after))) return;
  const sandbox = deps.sandboxes.get(formatRefKey(after, sandboxName));
  if (isReadyNow) deps.memory.markReady(after, findRecordedReadyAt(before));
  if (isReadyNow && sandbox !== undefined) measureFirstReady(deps, after, sandbox);
  scheduleNotes(deps, after, { sandboxName, sandbox });
}

function isAllReady({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, claimConditions.ready)?.status === 'True';
}

/** Claiming is over, and the claim has fewer Sandboxes than it asked for. */
function isPartial(claim: SandboxClaim): boolean {
  return isComplete(claim) && mapShownSlots(claim).size < countWantedSlots(claim);
}

/** Whether the annotations of the claim are to be there when it is first seen Ready. */
export function isEarly({ memory }: Pick<ApplyDeps, 'memory'>, claim: SandboxClaim): boolean {
  const snapshot = {
    isInBurst: memory.isInBurst(claim),
    hasWaitedInCrowd: memory.of(claim).waitedInCrowd === true,
    isNoted: claim.metadata.annotations?.[annotations.sandboxName] !== undefined,
  };
  return decideNotes(snapshot) === 'early';
}

interface Noted {
  readonly sandboxName: string | undefined;
  readonly sandbox: Sandbox | undefined;
}

function scheduleNotes(deps: ApplyDeps, claim: SandboxClaim, noted: Noted): void {
  const isSoon = isEarly(deps, claim) && deps.memory.of(claim).readyAt === undefined;
  deps.writeBehind.schedule(claim, buildNotes(deps, claim, noted), isSoon ? 0 : undefined);
}

/** The annotations of a claim with this Sandbox, as far as they are known. */
export function buildNotes(
  deps: Pick<ApplyDeps, 'memory' | 'traces'>,
  claim: SandboxClaim,
  { sandboxName, sandbox }: Noted,
): Record<string, string> {
  const { memory } = deps;
  const present = claim.metadata.annotations ?? {};
  const { observedAt, readyAt, untrueReadyAt } = memory.of(claim);
  const noted = present[annotations.claimFirstReadyAt];
  const firstReadyAt = noted === undefined || noted === untrueReadyAt ? readyAt : noted;
  const wanted: Record<string, string | undefined> = {
    [annotations.sandboxName]: sandboxName,
    [annotations.controllerFirstObservedAt]:
      present[annotations.controllerFirstObservedAt] ?? pickEarlier(observedAt, firstReadyAt),
    [annotations.claimFirstReadyAt]: firstReadyAt,
    [annotations.traceContext]: findTrace(deps, claim, sandbox),
  };
  const known = Object.entries(wanted).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(known);
}

/** After a restart, a claim may have become Ready before this process first saw it. Stamps of one form compare as text. */
function pickEarlier(observedAt: string, readyAt: string | undefined): string {
  return readyAt !== undefined && /^\d/.test(readyAt) && readyAt < observedAt ? readyAt : observedAt;
}

/** The claim's own trace if it has a valid one, else the trace of the Sandbox's adoption, else the one that served the claim. */
function findTrace(
  { traces }: Pick<ApplyDeps, 'traces'>,
  claim: SandboxClaim,
  sandbox: Sandbox | undefined,
): string | undefined {
  const present = claim.metadata.annotations?.[annotations.traceContext];
  if (present !== undefined && carrier.extract(present) !== undefined) return present;
  return sandbox?.metadata.annotations?.[annotations.traceContext] ?? traces.findCarrier(claim) ?? present;
}

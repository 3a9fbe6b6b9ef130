// Lifecycle events of claims, derived from what their status says (docs/events.md).
import { claimConditions, claimReasons, findCondition, labels, launchTypes, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { slotOf } from '@sandlot/blueprint';
import type { AnyFact, Fact, Outbox, Telling } from '@sandlot/outbox';
import { isOwnedBy } from '../adopt/owner.ts';
import { expiresAtMs } from '../lifetime/deadlines.ts';

export interface Binding {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  /** Name of the pool concerned, if any. */
  readonly pool: string | undefined;
  /** From first sight of the claim; of its first Sandbox only. */
  readonly bindMs: number | undefined;
}

/** What the controller tells of a claim before its status is seen to say so: pools refill the sooner. */
export interface ClaimEvents {
  tellBound(binding: Binding): void;
}

export function createClaimEvents(outbox: Outbox<SandboxClaim>, nowMs: () => number): ClaimEvents {
  return {
    tellBound({ claim, sandbox, pool, bindMs }) {
      const { name = '', uid = '', labels: marks } = sandbox.metadata;
      const slot = slotOf(sandbox);
      const launchType = marks?.[labels.launchType] === launchTypes.warm ? 'warm' : 'cold';
      const data = () => ({ ...about(claim), pool, bindMs, sandbox: { name, uid }, launchType }) as const;
      const marker = slot === undefined ? uid : slotMarker(slot);
      outbox.tell(claim, { type: 'claim.bound', marker, timeMs: nowMs(), urgent: true, data });
    },
  };
}

/** How the state of a claim is told; `sandboxOf` finds a Sandbox by `namespace/name`. */
export function claimTelling(sandboxOf: (key: string) => Sandbox | undefined): Telling<SandboxClaim> {
  return {
    factsOf: (claim) => [submitted(claim), ...bindings(claim, sandboxOf), ...endings(claim)],
  };
}

function about({ metadata, spec }: SandboxClaim) {
  const { namespace = '', name = '', uid = '' } = metadata;
  return { namespace, name, uid, pool: spec.warmPoolRef?.name, template: spec.sandboxTemplateRef?.name };
}

function submitted(claim: SandboxClaim): Fact<'claim.submitted'> {
  const { creationTimestamp = '' } = claim.metadata;
  return {
    type: 'claim.submitted',
    marker: 'created',
    timeMs: Date.parse(creationTimestamp),
    data: () => about(claim),
  };
}

function slotMarker(slot: number): string {
  return `slot-${slot}`;
}

type SandboxOf = (key: string) => Sandbox | undefined;

function bindings(claim: SandboxClaim, sandboxOf: SandboxOf): readonly Fact<'claim.bound'>[] {
  const { sandboxes, sandbox } = claim.status ?? {};
  const find = (name: string): Sandbox | undefined => sandboxOf(`${claim.metadata.namespace ?? ''}/${name}`);
  if (sandboxes !== undefined) return sandboxes.map((entry) => delivery(claim, entry, find));
  const own = sandbox?.name === undefined ? undefined : find(sandbox.name);
  // The UID tells a Sandbox from the next one of its name: without it this process cannot say which binding it was.
  return own === undefined || !isOwnedBy(own, claim) ? [] : [binding(claim, own)];
}

function binding(claim: SandboxClaim, { metadata }: Sandbox): Fact<'claim.bound'> {
  const { name = '', uid = '', labels: marks } = metadata;
  const launchType = marks?.[labels.launchType] === launchTypes.warm ? 'warm' : 'cold';
  return {
    type: 'claim.bound',
    marker: uid,
    timeMs: servedAtMs(claim),
    data: () => ({ ...about(claim), sandbox: { name, uid }, launchType }),
  };
}

type Entry = NonNullable<NonNullable<SandboxClaim['status']>['sandboxes']>[number];

/** A slot keeps its name for good, whatever becomes of the Sandbox. */
function delivery(claim: SandboxClaim, entry: Entry, find: SandboxOf): Fact<'claim.bound'> {
  return {
    type: 'claim.bound',
    marker: slotMarker(entry.slot ?? 0),
    timeMs: servedAtMs(claim),
    data: () => ({
      ...about(claim),
      sandbox: { name: entry.name, uid: find(entry.name)?.metadata.uid ?? '' },
      launchType: entry.origin === 'Warm' ? 'warm' : 'cold',
    }),
  };
}

function servedAtMs({ status }: SandboxClaim): number | undefined {
  return status?.completionTime === undefined ? undefined : Date.parse(status.completionTime);
}

function endings(claim: SandboxClaim): readonly AnyFact[] {
  const { conditions, phase } = claim.status ?? {};
  const ready = findCondition(conditions, claimConditions.ready);
  const finished = findCondition(conditions, claimConditions.finished);
  const completed = findCondition(conditions, claimConditions.completed);
  const facts: AnyFact[] = [];
  if (phase === 'Failed' && ready !== undefined) facts.push(failure(claim, ready));
  else if (completed?.status === 'True') facts.push(completion(claim, completed.lastTransitionTime));
  if (finished?.status === 'True') facts.push(finish(claim, finished));
  if (ready?.reason === claimReasons.claimExpired) facts.push(expiry(claim, ready));
  return facts;
}

/** Ready stays False from one reason to the next: the generation tells a second failure after an edit. */
function failure(claim: SandboxClaim, { reason, message, lastTransitionTime }: Condition): Fact<'claim.failed'> {
  const marker = [reason, claim.metadata.generation ?? 0, lastTransitionTime].join('.');
  const timeMs = Date.parse(claim.status?.completionTime ?? lastTransitionTime);
  return { type: 'claim.failed', marker, timeMs, data: () => ({ ...about(claim), reason, message }) };
}

function completion(claim: SandboxClaim, at: string): Fact<'claim.completed'> {
  return { type: 'claim.completed', marker: at, timeMs: Date.parse(at), data: () => about(claim) };
}

type Condition = NonNullable<NonNullable<SandboxClaim['status']>['conditions']>[number];

/** What ran in the claim's Sandbox has ended. */
function finish(claim: SandboxClaim, { reason, message, lastTransitionTime }: Condition): AnyFact {
  if (reason !== sandboxReasons.podFailed) return completion(claim, lastTransitionTime);
  return {
    type: 'claim.failed',
    marker: `${reason}.${lastTransitionTime}`,
    timeMs: Date.parse(lastTransitionTime),
    data: () => ({ ...about(claim), reason, message }),
  };
}

/** The deadline tells one expiry from the next: a claim that got more time expires again. */
function expiry(claim: SandboxClaim, { reason, message, lastTransitionTime }: Condition): Fact<'claim.expired'> {
  const timeMs = expiresAtMs(claim) ?? Date.parse(lastTransitionTime);
  return {
    type: 'claim.expired',
    marker: new Date(timeMs).toISOString(),
    timeMs,
    data: () => ({ ...about(claim), reason, message }),
  };
}

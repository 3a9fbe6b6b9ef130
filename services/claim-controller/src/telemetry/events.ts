// Lifecycle events of claims, derived from their status (docs/events.md).
import { claimConditions, claimReasons, findCondition, labels, launchTypes, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { findSlot } from '@sandlot/blueprint';
import type { AnyFact, Fact, Outbox, FactSource } from '@sandlot/outbox';
import { isOwnedBy } from '../adopt/owner.ts';
import { findKeyId, readRequests } from '../usage/facts.ts';
import { findExpiresAtMs } from '../lifetime/deadlines.ts';
import { buildIdentity } from './claim-identity.ts';
import { describeClient, findClient, findClientEnd, listClientFacts } from './client-events.ts';

export interface Binding {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  /** Name of the pool concerned, if any. */
  readonly pool: string | undefined;
  /** From the first sight of the claim, milliseconds; undefined for every Sandbox but its first. */
  readonly bindMs: number | undefined;
}

/** Events that the controller publishes before the watch shows the status they derive from, so that pools refill sooner. */
export interface ClaimEvents {
  tellBound(binding: Binding): void;
}

export function createClaimEvents(outbox: Outbox<SandboxClaim>, nowMs: () => number): ClaimEvents {
  return {
    tellBound({ claim, sandbox, pool, bindMs }) {
      const { name = '', uid = '', labels: marks } = sandbox.metadata;
      const slot = findSlot(sandbox);
      const launchType = marks?.[labels.launchType] === launchTypes.warm ? 'warm' : 'cold';
      const about = () => ({
        ...buildIdentity(claim),
        pool,
        bindMs,
        client: findClient(claim, sandbox),
        ...describeUse(claim, sandbox),
      });
      const data = () => ({ ...about(), sandbox: { name, uid }, launchType }) as const;
      const marker = slot === undefined ? uid : formatSlotMarker(slot);
      outbox.report(claim, { type: 'claim.bound', marker, timeMs: nowMs(), urgent: true, data });
    },
  };
}

/** Derives the events of a claim from its state; `sandboxOf` finds a Sandbox by `namespace/name`. */
export function describeClaims(
  sandboxOf: (key: string) => Sandbox | undefined,
  nowMs: () => number,
): FactSource<SandboxClaim> {
  const findOwn = (claim: SandboxClaim | undefined): Sandbox | undefined => {
    const name = claim?.status?.sandbox?.name;
    return name === undefined ? undefined : sandboxOf(`${claim?.metadata.namespace ?? ''}/${name}`);
  };
  return {
    listFacts: (claim) => [
      buildSubmission(claim),
      ...listBindings(claim, sandboxOf),
      ...listClientFacts(claim, findOwn(claim)),
      ...listEndings(claim),
    ],
    describe: describeClient,
    findEnd: (end) => findClientEnd(end, { sandbox: findOwn(end.last), nowMs: nowMs() }),
  };
}

function buildSubmission(claim: SandboxClaim): Fact<'claim.submitted'> {
  const { creationTimestamp = '' } = claim.metadata;
  return {
    type: 'claim.submitted',
    marker: 'created',
    timeMs: Date.parse(creationTimestamp),
    data: () => buildIdentity(claim),
  };
}

function formatSlotMarker(slot: number): string {
  return `slot-${slot}`;
}

type SandboxOf = (key: string) => Sandbox | undefined;

function listBindings(claim: SandboxClaim, sandboxOf: SandboxOf): readonly Fact<'claim.bound'>[] {
  const { sandboxes, sandbox } = claim.status ?? {};
  const find = (name: string): Sandbox | undefined => sandboxOf(`${claim.metadata.namespace ?? ''}/${name}`);
  if (sandboxes !== undefined) return sandboxes.map((entry) => buildDelivery(claim, entry, find));
  const own = sandbox?.name === undefined ? undefined : find(sandbox.name);
  // Without the UID this process cannot tell the binding from one of a later Sandbox of that name.
  return own === undefined || !isOwnedBy(own, claim) ? [] : [buildBinding(claim, own)];
}

/** What the ledger of usage has to know. */
function describeUse(claim: SandboxClaim, sandbox: Sandbox | undefined) {
  const apiKey = findKeyId(claim);
  return {
    ...(apiKey === '' ? {} : { apiKey }),
    ...(sandbox === undefined ? {} : { requests: readRequests(sandbox) }),
  };
}

function buildBinding(claim: SandboxClaim, sandbox: Sandbox): Fact<'claim.bound'> {
  const { metadata } = sandbox;
  const { name = '', uid = '', labels: marks } = metadata;
  const launchType = marks?.[labels.launchType] === launchTypes.warm ? 'warm' : 'cold';
  return {
    type: 'claim.bound',
    marker: uid,
    timeMs: findServedAtMs(claim),
    data: () => ({
      ...buildIdentity(claim),
      client: findClient(claim, sandbox),
      sandbox: { name, uid },
      launchType,
      ...describeUse(claim, sandbox),
    }),
  };
}

type Entry = NonNullable<NonNullable<SandboxClaim['status']>['sandboxes']>[number];

/** A slot keeps its name, whatever happens to the Sandbox. */
function buildDelivery(claim: SandboxClaim, entry: Entry, find: SandboxOf): Fact<'claim.bound'> {
  return {
    type: 'claim.bound',
    marker: formatSlotMarker(entry.slot ?? 0),
    timeMs: findServedAtMs(claim),
    data: () => ({
      ...buildIdentity(claim),
      sandbox: { name: entry.name, uid: find(entry.name)?.metadata.uid ?? '' },
      launchType: entry.origin === 'Warm' ? 'warm' : 'cold',
      ...describeUse(claim, find(entry.name)),
    }),
  };
}

function findServedAtMs({ status }: SandboxClaim): number | undefined {
  return status?.completionTime === undefined ? undefined : Date.parse(status.completionTime);
}

function listEndings(claim: SandboxClaim): readonly AnyFact[] {
  const { conditions, phase } = claim.status ?? {};
  const ready = findCondition(conditions, claimConditions.ready);
  const finished = findCondition(conditions, claimConditions.finished);
  const completed = findCondition(conditions, claimConditions.completed);
  const facts: AnyFact[] = [];
  if (phase === 'Failed' && ready !== undefined) facts.push(buildFailure(claim, ready));
  else if (completed?.status === 'True') facts.push(buildCompletion(claim, completed.lastTransitionTime));
  if (finished?.status === 'True') facts.push(buildFinish(claim, finished));
  if (ready?.reason === claimReasons.claimExpired) facts.push(buildExpiry(claim, ready));
  return facts;
}

/** Ready stays False when its reason changes: the generation distinguishes a second failure after an edit. */
function buildFailure(claim: SandboxClaim, { reason, message, lastTransitionTime }: Condition): Fact<'claim.failed'> {
  const marker = [reason, claim.metadata.generation ?? 0, lastTransitionTime].join('.');
  const timeMs = Date.parse(claim.status?.completionTime ?? lastTransitionTime);
  return { type: 'claim.failed', marker, timeMs, data: () => ({ ...buildIdentity(claim), reason, message }) };
}

function buildCompletion(claim: SandboxClaim, at: string): Fact<'claim.completed'> {
  return { type: 'claim.completed', marker: at, timeMs: Date.parse(at), data: () => buildIdentity(claim) };
}

type Condition = NonNullable<NonNullable<SandboxClaim['status']>['conditions']>[number];

/** The pod of the claim's Sandbox has ended. */
function buildFinish(claim: SandboxClaim, { reason, message, lastTransitionTime }: Condition): AnyFact {
  if (reason !== sandboxReasons.podFailed) return buildCompletion(claim, lastTransitionTime);
  return {
    type: 'claim.failed',
    marker: `${reason}.${lastTransitionTime}`,
    timeMs: Date.parse(lastTransitionTime),
    data: () => ({ ...buildIdentity(claim), reason, message }),
  };
}

/** The deadline distinguishes expiries: a claim that gets more time expires again. */
function buildExpiry(claim: SandboxClaim, { reason, message, lastTransitionTime }: Condition): Fact<'claim.expired'> {
  const timeMs = findExpiresAtMs(claim) ?? Date.parse(lastTransitionTime);
  return {
    type: 'claim.expired',
    marker: new Date(timeMs).toISOString(),
    timeMs,
    data: () => ({ ...buildIdentity(claim), reason, message }),
  };
}

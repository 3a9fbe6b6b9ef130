import {
  claimConditions,
  claimMessages,
  claimReasons,
  findCondition,
  labels,
  launchTypes,
  rfc3339,
  setCondition,
} from '@sandlot/api-types';
import type { Condition, NextCondition, Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import type { Report } from '../plan/report.ts';
import { deliverable, isComplete, shownSlots, wantedSlots } from './slots.ts';
import { identityOf, withReady } from '../publish/status.ts';

type Entry = NonNullable<SandboxClaimStatus['sandboxes']>[number];

/** What the status of a detached claim is made from. */
export interface BatchView {
  /** Sandboxes committed to slots of the claim that are to be shown, and those that are shown already. */
  readonly live: readonly Sandbox[];
  readonly nowMs: number;
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
  /** The time to claim is over. */
  readonly timedOut: boolean;
  /** Why claiming does not go on, if it does not. */
  readonly report?: Report | undefined;
}

/** What there is to say about a batch. */
interface Tally {
  readonly wanted: number;
  readonly claimed: number;
  readonly ready: number;
  /** Of the delivered Sandboxes that still exist, those that are not Ready. */
  readonly unready: number;
  /** Nothing more is claimed. */
  readonly over: boolean;
}

/**
 * Status of a detached claim. A slot that was shown under a name keeps it for good, whatever becomes of that Sandbox; once
 * complete nothing is added (API contract, detached claims).
 */
export function batchStatus(claim: SandboxClaim, view: BatchView): SandboxClaimStatus {
  const sandboxes = entriesOf(claim, view.live);
  const tally = tallyOf(claim, sandboxes, view);
  const finding = readyOf(tally, view.report);
  const { claimStartTime = rfc3339(view.startMs), completionTime = rfc3339(view.nowMs) } = claim.status ?? {};
  const [first] = sandboxes;
  return {
    ...identityOf(claim),
    conditions: conditionsOf(claim, tally, { finding, nowMs: view.nowMs }),
    phase: phaseOf(tally, view.report),
    ...(finding.status === 'True' ? {} : { message: finding.message }),
    claimStartTime,
    ...(tally.over ? { completionTime } : {}),
    claimedReplicas: tally.claimed,
    ...(tally.ready === 0 ? {} : { readyReplicas: tally.ready }),
    ...(first === undefined ? {} : { sandbox: { name: first.name, ...addressesOf(first.podIPs) }, sandboxes }),
  };
}

function tallyOf(claim: SandboxClaim, sandboxes: readonly Entry[], { live, timedOut }: BatchView): Tally {
  const unready = new Set(live.filter((sandbox) => !isReady(sandbox)).map(({ metadata }) => metadata.name));
  const wanted = wantedSlots(claim);
  return {
    wanted,
    claimed: sandboxes.length,
    ready: sandboxes.filter((entry) => entry.ready === true).length,
    unready: sandboxes.filter(({ name }) => unready.has(name)).length,
    over: isComplete(claim) || timedOut || sandboxes.length >= wanted,
  };
}

/** Whether a status says more than how its Sandboxes fare: that may wait a moment, to be told together with more. */
export function saysMore(before: SandboxClaimStatus | undefined, after: SandboxClaimStatus): boolean {
  const gist = ({ conditions = [], phase, claimedReplicas }: SandboxClaimStatus): string =>
    JSON.stringify([phase, claimedReplicas, conditions.map(({ type, status, reason }) => [type, status, reason])]);
  return before === undefined || gist(before) !== gist(after);
}

function phaseOf({ claimed, over }: Tally, report: Report | undefined): NonNullable<SandboxClaimStatus['phase']> {
  if (over) return claimed > 0 ? 'Completed' : 'Failed';
  if (report?.final === true) return 'Failed';
  return claimed > 0 ? 'Claiming' : 'Pending';
}

type Finding = Pick<Condition, 'status' | 'reason' | 'message'>;

function readyOf({ wanted, claimed, ready, unready, over }: Tally, report: Report | undefined): Finding {
  if (claimed < wanted && over) {
    return { status: 'False', reason: claimReasons.claimTimeout, message: claimMessages.claimTimeout(claimed, wanted) };
  }
  if (claimed < wanted) {
    const { reason = claimReasons.claiming, message = claimMessages.claiming(claimed, wanted) } = report ?? {};
    return { status: 'False', reason, message };
  }
  if (unready > 0) {
    return { status: 'False', reason: claimReasons.claiming, message: claimMessages.notAllReady(ready, wanted) };
  }
  return { status: 'True', reason: claimReasons.allReplicasClaimed, message: claimMessages.allReplicasClaimed(wanted) };
}

interface Judgement {
  readonly finding: Finding;
  readonly nowMs: number;
}

function conditionsOf(claim: SandboxClaim, tally: Tally, { finding, nowMs }: Judgement): Condition[] {
  const now = rfc3339(nowMs);
  const conditions = withReady(claim, { type: claimConditions.ready, ...finding, lastTransitionTime: now });
  const { claimed, wanted, over } = tally;
  if (!over) return conditions;
  const completed: NextCondition = {
    type: claimConditions.completed,
    status: 'True',
    ...(claimed >= wanted
      ? { reason: claimReasons.allReplicasClaimed, message: claimMessages.allReplicasClaimed(wanted) }
      : { reason: claimReasons.timeoutReached, message: claimMessages.claimTimeout(claimed, wanted) }),
    observedGeneration: claim.metadata.generation ?? 0,
  };
  const before = findCondition(claim.status?.conditions, claimConditions.completed);
  return setCondition(conditions, completed, before?.lastTransitionTime ?? now);
}

function entriesOf(claim: SandboxClaim, live: readonly Sandbox[]): Entry[] {
  const byName = new Map(live.map((sandbox) => [sandbox.metadata.name ?? '', sandbox]));
  const shown = shownSlots(claim);
  const kept = (claim.status?.sandboxes ?? []).map((entry) => updated(entry, byName.get(entry.name)));
  const added = isComplete(claim) ? [] : [...deliverable(claim, live)].filter(([slot]) => !shown.has(slot));
  const entries = [...kept, ...added.map(([slot, sandbox]) => entryOf(slot, sandbox))];
  return entries.sort((a, b) => (a.slot ?? 0) - (b.slot ?? 0));
}

/** What was delivered stays delivered; of a Sandbox that is gone there is no more to say. */
function updated(entry: Entry, sandbox: Sandbox | undefined): Entry {
  const { name, slot = 0, origin } = entry;
  return sandbox === undefined ? { name, slot, ...(origin === undefined ? {} : { origin }) } : entryOf(slot, sandbox);
}

function entryOf(slot: number, sandbox: Sandbox): Entry {
  const { name = '', labels: marks } = sandbox.metadata;
  return {
    name,
    slot,
    ...addressesOf(sandbox.status?.podIPs),
    ...(isReady(sandbox) ? { ready: true } : {}),
    origin: marks?.[labels.launchType] === launchTypes.warm ? 'Warm' : 'Cold',
  };
}

function addressesOf(podIPs: readonly string[] = []): { podIPs?: string[] } {
  return podIPs.length === 0 ? {} : { podIPs: [...podIPs] };
}

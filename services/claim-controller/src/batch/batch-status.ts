import {
  claimConditions,
  claimMessages,
  claimReasons,
  findCondition,
  labels,
  launchTypes,
  formatRfc3339,
  setCondition,
} from '@sandlot/api-types';
import type { Condition, NextCondition, Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import type { Report } from '../plan/report.ts';
import { isComplete, mapSandboxesBySlot, mapShownSlots, countWantedSlots } from './slots.ts';
import { buildIdentity, withReady } from '../publish/status.ts';

type Entry = NonNullable<SandboxClaimStatus['sandboxes']>[number];

/** What the status of a detached claim is computed from. */
export interface BatchView {
  /** Sandboxes in slots of the claim that the status is to show, including those it shows already. */
  readonly live: readonly Sandbox[];
  readonly nowMs: number;
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
  /** Whether the time to claim is over. */
  readonly timedOut: boolean;
  /** Why claiming does not go on; undefined when it does. */
  readonly report?: Report | undefined;
}

/** The counts that the status reports. */
interface Tally {
  readonly wanted: number;
  readonly claimed: number;
  readonly ready: number;
  /** Delivered Sandboxes that still exist and are not Ready. */
  readonly unready: number;
  /** The claim gets no more Sandboxes. */
  readonly over: boolean;
}

/**
 * Status of a detached claim. A slot keeps the name it was shown under, whatever happens to that Sandbox; a complete claim
 * gets no new entries (docs/reference/sandbox-claim.md#detached-claims).
 */
export function buildBatchStatus(claim: SandboxClaim, view: BatchView): SandboxClaimStatus {
  const sandboxes = listEntries(claim, view.live);
  const tally = buildTally(claim, sandboxes, view);
  const finding = buildReady(tally, view.report);
  const { claimStartTime = formatRfc3339(view.startMs), completionTime = formatRfc3339(view.nowMs) } =
    claim.status ?? {};
  const [first] = sandboxes;
  return {
    ...buildIdentity(claim),
    conditions: listConditions(claim, tally, { finding, nowMs: view.nowMs }),
    phase: getPhase(tally, view.report),
    ...(finding.status === 'True' ? {} : { message: finding.message }),
    claimStartTime,
    ...(tally.over ? { completionTime } : {}),
    claimedReplicas: tally.claimed,
    ...(tally.ready === 0 ? {} : { readyReplicas: tally.ready }),
    ...(first === undefined ? {} : { sandbox: { name: first.name, ...getAddresses(first.podIPs) }, sandboxes }),
  };
}

function buildTally(claim: SandboxClaim, sandboxes: readonly Entry[], { live, timedOut }: BatchView): Tally {
  const unready = new Set(live.filter((sandbox) => !isReady(sandbox)).map(({ metadata }) => metadata.name));
  const wanted = countWantedSlots(claim);
  return {
    wanted,
    claimed: sandboxes.length,
    ready: sandboxes.filter((entry) => entry.ready === true).length,
    unready: sandboxes.filter(({ name }) => unready.has(name)).length,
    over: isComplete(claim) || timedOut || sandboxes.length >= wanted,
  };
}

/** Whether two statuses differ in more than the readiness of single Sandboxes. Such changes alone are gathered for a moment. */
export function differsInSubstance(before: SandboxClaimStatus | undefined, after: SandboxClaimStatus): boolean {
  const substance = ({ conditions = [], phase, claimedReplicas }: SandboxClaimStatus): string =>
    JSON.stringify([phase, claimedReplicas, conditions.map(({ type, status, reason }) => [type, status, reason])]);
  return before === undefined || substance(before) !== substance(after);
}

function getPhase({ claimed, over }: Tally, report: Report | undefined): NonNullable<SandboxClaimStatus['phase']> {
  if (over) return claimed > 0 ? 'Completed' : 'Failed';
  if (report?.final === true) return 'Failed';
  return claimed > 0 ? 'Claiming' : 'Pending';
}

type Finding = Pick<Condition, 'status' | 'reason' | 'message'>;

function buildReady({ wanted, claimed, ready, unready, over }: Tally, report: Report | undefined): Finding {
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

function listConditions(claim: SandboxClaim, tally: Tally, { finding, nowMs }: Judgement): Condition[] {
  const now = formatRfc3339(nowMs);
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

function listEntries(claim: SandboxClaim, live: readonly Sandbox[]): Entry[] {
  const byName = new Map(live.map((sandbox) => [sandbox.metadata.name ?? '', sandbox]));
  const shown = mapShownSlots(claim);
  const kept = (claim.status?.sandboxes ?? []).map((entry) => updateEntry(entry, byName.get(entry.name)));
  const added = isComplete(claim) ? [] : [...mapSandboxesBySlot(claim, live)].filter(([slot]) => !shown.has(slot));
  const entries = [...kept, ...added.map(([slot, sandbox]) => buildEntry(slot, sandbox))];
  return entries.sort((a, b) => (a.slot ?? 0) - (b.slot ?? 0));
}

/** The entry of a slot as its Sandbox is now. A slot whose Sandbox is gone keeps only its name. */
function updateEntry(entry: Entry, sandbox: Sandbox | undefined): Entry {
  const { name, slot = 0, origin } = entry;
  return sandbox === undefined
    ? { name, slot, ...(origin === undefined ? {} : { origin }) }
    : buildEntry(slot, sandbox);
}

function buildEntry(slot: number, sandbox: Sandbox): Entry {
  const { name = '', labels: marks } = sandbox.metadata;
  return {
    name,
    slot,
    ...getAddresses(sandbox.status?.podIPs),
    ...(isReady(sandbox) ? { ready: true } : {}),
    origin: marks?.[labels.launchType] === launchTypes.warm ? 'Warm' : 'Cold',
  };
}

function getAddresses(podIPs: readonly string[] = []): { podIPs?: string[] } {
  return podIPs.length === 0 ? {} : { podIPs: [...podIPs] };
}

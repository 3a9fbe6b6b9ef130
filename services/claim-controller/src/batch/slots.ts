import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { slotOf } from '@sandlot/blueprint';

/** How many Sandboxes a claim asks for. */
export function wantedSlots({ spec }: SandboxClaim): number {
  return spec.replicas ?? 1;
}

/** The slots that a claim's status shows as delivered, with the names they were delivered under. Entries never change. */
export function shownSlots({ status }: SandboxClaim): ReadonlyMap<number, string> {
  return new Map((status?.sandboxes ?? []).map(({ slot = 0, name }) => [slot, name]));
}

/** Whether claiming is over, one way or the other: from then on nothing is added. */
export function isComplete({ status }: SandboxClaim): boolean {
  return status?.completionTime !== undefined;
}

/**
 * The Sandbox of each slot. Of two live ones for a slot the published one stays, else the oldest (API contract, detached
 * claims); a slot out of the claim's range is none.
 */
export function deliverable(claim: SandboxClaim, live: readonly Sandbox[]): ReadonlyMap<number, Sandbox> {
  const shown = shownSlots(claim);
  const winners = new Map<number, Sandbox>();
  for (const sandbox of live) {
    const slot = slotOf(sandbox) ?? -1;
    if (slot < 0 || slot >= wantedSlots(claim)) continue;
    const rival = winners.get(slot);
    if (rival === undefined || precedes(sandbox, rival, shown.get(slot))) winners.set(slot, sandbox);
  }
  return winners;
}

function precedes(a: Sandbox, b: Sandbox, shownName: string | undefined): boolean {
  if (a.metadata.name === shownName) return true;
  if (b.metadata.name === shownName) return false;
  return ageOf(a) < ageOf(b);
}

function ageOf({ metadata }: Sandbox): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
}

/** Slots that nothing fills and nothing was delivered to, lowest first. */
export function freeSlots(claim: SandboxClaim, live: readonly Sandbox[]): number[] {
  const shown = shownSlots(claim);
  const filled = deliverable(claim, live);
  const all = Array.from({ length: wantedSlots(claim) }, (_, slot) => slot);
  return all.filter((slot) => !shown.has(slot) && !filled.has(slot));
}

/** Live Sandboxes that the claim, as its status stands, will never show: nobody was given them. */
export function surplus(claim: SandboxClaim, live: readonly Sandbox[]): Sandbox[] {
  const shown = shownSlots(claim);
  return live.filter((sandbox) => {
    const name = shown.get(slotOf(sandbox) ?? -1);
    return name === undefined ? isComplete(claim) : name !== sandbox.metadata.name;
  });
}

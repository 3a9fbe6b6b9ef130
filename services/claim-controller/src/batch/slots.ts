import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { findSlot } from '@sandlot/blueprint';

/** How many Sandboxes a claim asks for. */
export function countWantedSlots({ spec }: SandboxClaim): number {
  return spec.replicas ?? 1;
}

/** The delivered slots in the claim's status, with the names of their Sandboxes. The entry of a slot never changes. */
export function mapShownSlots({ status }: SandboxClaim): ReadonlyMap<number, string> {
  return new Map((status?.sandboxes ?? []).map(({ slot = 0, name }) => [slot, name]));
}

/** Whether claiming is over, with all slots delivered or not. From then on the claim gets no more Sandboxes. */
export function isComplete({ status }: SandboxClaim): boolean {
  return status?.completionTime !== undefined;
}

/**
 * The Sandbox of each slot in the claim's range. Of two live ones for a slot the published one wins, else the oldest
 * (docs/reference/sandbox-claim.md#detached-claims).
 */
export function mapSandboxesBySlot(claim: SandboxClaim, live: readonly Sandbox[]): ReadonlyMap<number, Sandbox> {
  const shown = mapShownSlots(claim);
  const winners = new Map<number, Sandbox>();
  for (const sandbox of live) {
    const slot = findSlot(sandbox) ?? -1;
    if (slot < 0 || slot >= countWantedSlots(claim)) continue;
    const rival = winners.get(slot);
    if (rival === undefined || isPreferred(sandbox, rival, shown.get(slot))) winners.set(slot, sandbox);
  }
  return winners;
}

function isPreferred(a: Sandbox, b: Sandbox, shownName: string | undefined): boolean {
  if (a.metadata.name === shownName) return true;
  if (b.metadata.name === shownName) return false;
  return formatAge(a) < formatAge(b);
}

function formatAge({ metadata }: Sandbox): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
}

/** Slots without a Sandbox, now or delivered before, lowest first. */
export function listFreeSlots(claim: SandboxClaim, live: readonly Sandbox[]): number[] {
  const shown = mapShownSlots(claim);
  const filled = mapSandboxesBySlot(claim, live);
  const all = Array.from({ length: countWantedSlots(claim) }, (_, slot) => slot);
  return all.filter((slot) => !shown.has(slot) && !filled.has(slot));
}

/** Live Sandboxes that the claim, by its status, will never show: no client has seen them. */
export function listSurplus(claim: SandboxClaim, live: readonly Sandbox[]): Sandbox[] {
  const shown = mapShownSlots(claim);
  return live.filter((sandbox) => {
    const name = shown.get(findSlot(sandbox) ?? -1);
    return name === undefined ? isComplete(claim) : name !== sandbox.metadata.name;
  });
}

import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { coldSandbox } from '@sandlot/blueprint';
import type { ColdStartInput } from '@sandlot/blueprint';
import { containerVariables } from '../runtime/claim-env.ts';
import type { Shortage } from '../plan/plan.ts';
import { hasDynamicVolumes } from '../volumes/dynamic-volumes.ts';
import { claimedParts } from '../refusal/refusal.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** A claim waits this long for members that are starting before it goes cold (API contract, lookup order 6). */
const WARMING_PATIENCE_MS = 2_000;
const WARMING_POLL_MS = 500;
/** Who waits for stock is woken by it; this is for wake-ups that went missing. */
const STOCK_POLL_MS = 30_000;

/** What a warm sandbox cannot give: its variables and volumes are fixed (API contract, lookup order 4). */
export function needsColdStart({ claim }: ClaimSnapshot, template: SandboxTemplate): boolean {
  const { volumeClaimTemplates = [], warmpool } = claim.spec;
  const suspended = template.spec.startup?.action === 'Suspended';
  return (
    containerVariables(claim, template).length > 0 ||
    volumeClaimTemplates.length > 0 ||
    hasDynamicVolumes(claim) ||
    warmpool === 'none' ||
    suspended
  );
}

/** No candidate to be had: wait a moment for those that are starting, then go cold, unless the claim asks to wait. */
export function decideShortage(
  snapshot: ClaimSnapshot,
  template: SandboxTemplate,
  pools: readonly SandboxWarmPool[],
): Shortage {
  return shortageOf(snapshot, pools) ?? { kind: 'create', sandbox: coldSandbox(coldStart(snapshot, template)) };
}

/** How to wait for stock; undefined when it is time to go cold. */
export function shortageOf(
  snapshot: ClaimSnapshot,
  pools: readonly SandboxWarmPool[],
): Extract<Shortage, { readonly kind: 'queueForStock' }> | undefined {
  const { claim, warming } = snapshot;
  if (pools.length === 0) return undefined;
  if (claim.spec.createOnNoStock === false) {
    const report = { reason: claimReasons.waitingForStock, message: claimMessages.waitingForStock };
    return { kind: 'queueForStock', pools, retryMs: STOCK_POLL_MS, report };
  }
  const remainingMs = WARMING_PATIENCE_MS - ageMs(snapshot);
  if (warming === 0 || remainingMs <= 0) return undefined;
  return { kind: 'queueForStock', pools, retryMs: Math.min(WARMING_POLL_MS, remainingMs) };
}

function ageMs({ claim, nowMs }: ClaimSnapshot): number {
  const created = claim.metadata.creationTimestamp;
  return created === undefined ? 0 : Math.max(0, nowMs - Date.parse(created));
}

/** What the claim's cold Sandboxes are made of. */
export function coldStart(snapshot: ClaimSnapshot, template: SandboxTemplate): ColdStartInput {
  const { claim, podDefaults } = snapshot;
  return { claim, template, defaults: podDefaults, ...claimedParts(snapshot, template) };
}

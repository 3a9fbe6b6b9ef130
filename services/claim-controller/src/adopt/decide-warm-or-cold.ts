import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { buildColdSandbox } from '@sandlot/blueprint';
import type { ColdStartInput } from '@sandlot/blueprint';
import { isRefusedAgain } from '../delivery/rules.ts';
import { AFTER_COMMIT } from '../plan/plan.ts';
import type { Shortage } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { decideHold } from '../publish/decide-hold.ts';
import { buildClaimedParts } from '../refusal/claimed-parts.ts';
import { listContainerVariables } from '../runtime/claim-env.ts';
import { listMissingVolumes } from '../volumes/volume-sources.ts';

/** A claim waits this long for members that are starting before it starts cold (docs/reference/sandbox-claim.md#lookup-order). */
const WARMING_PATIENCE_MS = 2_000;
const WARMING_POLL_MS = 500;
/** New stock enqueues the claims that wait for it; this retry covers a lost event. */
const STOCK_POLL_MS = 30_000;
/** The warmpool-controller writes the policy of a new template within moments: a claim that waits no longer reports nothing. */
const POLICY_PATIENCE_MS = 1_000;
/** Template and policy enqueue the claims that wait for them; this retry covers a lost event. */
const POLICY_POLL_MS = 5_000;

/** Whether the claim asks for what a warm Sandbox cannot have, since its name, variables and volumes are fixed (docs/reference/sandbox-claim.md#lookup-order). */
export function needsColdStart({ claim, failures }: ClaimSnapshot, template: SandboxTemplate): boolean {
  const { volumeClaimTemplates = [], warmpool, sandboxName } = claim.spec;
  const suspended = template.spec.startup?.action === 'Suspended';
  return (
    listContainerVariables(claim, template).length > 0 ||
    volumeClaimTemplates.length > 0 ||
    listMissingVolumes(claim, template.spec.podTemplate.spec).length > 0 ||
    sandboxName !== undefined ||
    warmpool === 'none' ||
    suspended ||
    (isRefusedAgain(claim, failures) && claim.spec.createOnNoStock !== false)
  );
}

/**
 * Without a candidate: wait a moment for members that are starting, then start cold. A claim waits longer if it asks to,
 * and while its template has no network rules in place.
 */
export function decideShortage(
  snapshot: ClaimSnapshot,
  template: SandboxTemplate,
  pools: readonly SandboxWarmPool[],
): Shortage {
  const queue = decideQueue(snapshot, template, pools);
  if (queue !== undefined) return queue;
  const sandbox = buildColdSandbox(buildColdStart(snapshot, template));
  const holdMs = decideHold({ ...snapshot, committedForMs: 0 }, sandbox);
  return { kind: 'create', sandbox, then: holdMs === undefined ? AFTER_COMMIT : [], holdMs };
}

type Queue = Extract<Shortage, { readonly kind: 'queueForStock' }>;

/** How to wait for stock; undefined when it is time to start cold. */
export function decideQueue(
  snapshot: ClaimSnapshot,
  template: SandboxTemplate,
  pools: readonly SandboxWarmPool[],
): Queue | undefined {
  const { claim, warming } = snapshot;
  if (pools.length > 0 && claim.spec.createOnNoStock === false) {
    const report = { reason: claimReasons.waitingForStock, message: claimMessages.waitingForStock };
    return { kind: 'queueForStock', pools, retryMs: STOCK_POLL_MS, report };
  }
  const remainingMs = pools.length === 0 || warming === 0 ? 0 : WARMING_PATIENCE_MS - ageMs(snapshot);
  if (remainingMs > 0) return { kind: 'queueForStock', pools, retryMs: Math.min(WARMING_POLL_MS, remainingMs) };
  return decidePolicyWait(snapshot, template, pools);
}

/** Holds a cold start back until the template's network rules are in place. Stock that appears meanwhile serves the claim. */
function decidePolicyWait(
  { networkGap, knownForMs }: ClaimSnapshot,
  { metadata: { name = '' } }: SandboxTemplate,
  pools: readonly SandboxWarmPool[],
): Queue | undefined {
  if (networkGap === undefined) return undefined;
  const patienceMs = POLICY_PATIENCE_MS - knownForMs;
  if (patienceMs > 0) return { kind: 'queueForStock', pools, retryMs: patienceMs };
  const message = claimMessages.networkPolicyPending(name, networkGap);
  const report = { reason: claimReasons.networkPolicyPending, message };
  return { kind: 'queueForStock', pools, retryMs: POLICY_POLL_MS, report };
}

function ageMs({ claim, nowMs }: ClaimSnapshot): number {
  const created = claim.metadata.creationTimestamp;
  return created === undefined ? 0 : Math.max(0, nowMs - Date.parse(created));
}

/** What the claim's cold Sandboxes are made of. */
export function buildColdStart(snapshot: ClaimSnapshot, template: SandboxTemplate): ColdStartInput {
  const { claim, podDefaults } = snapshot;
  return { claim, template, defaults: podDefaults, ...buildClaimedParts(snapshot, template) };
}

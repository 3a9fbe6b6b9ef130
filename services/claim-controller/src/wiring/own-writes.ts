import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { findClaimName, findSlot } from '@sandlot/blueprint';
import { findController, createOwnWrites } from '@sandlot/kube';
import type { OwnWrites } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { isCommitted } from '../adopt/owner.ts';
import type { BatchMemory } from '../batch/batch-memory.ts';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import { formatRefKey } from './cache.ts';
import type { Cache } from './cache.ts';

/** A watch that has not shown a write for this long may never show it: the next pass reads the Sandbox. */
const UNSHOWN_LIMIT_MS = 10_000;

interface OwnWritesDeps {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly memory: ClaimMemory;
  readonly batches: BatchMemory;
  /** The claim of this key needs a pass. */
  readonly enqueue: (claimKey: string) => void;
}

/** Claims as this process last wrote them, while the watch still shows an earlier version. */
export function createOwnClaims({ cache, clock }: Pick<OwnWritesDeps, 'cache' | 'clock'>): OwnWrites<SandboxClaim> {
  return createOwnWrites({ informer: cache.claims, clock, keepMs: UNSHOWN_LIMIT_MS });
}

/**
 * Sandboxes that this process has adopted or created and the watch does not show so yet. When the watch is overdue, the
 * claim reads the Sandbox before it decides anything else.
 */
export function createOwnSandboxes(deps: OwnWritesDeps): OwnWrites<Sandbox> {
  const { cache, clock } = deps;
  const own = createOwnWrites({
    informer: cache.sandboxes,
    clock,
    keepMs: UNSHOWN_LIMIT_MS,
    onDoubt: (key, sandbox) => {
      own.forget(key);
      if (sandbox !== undefined) requireConfirmation(deps, key, sandbox);
    },
  });
  return own;
}

/** Has the claim of an unshown Sandbox read it in its next pass. */
function requireConfirmation({ cache, memory, batches, enqueue }: OwnWritesDeps, key: string, sandbox: Sandbox): void {
  const target = findTarget(sandbox);
  const shown = cache.sandboxes.store.get(key);
  if (target === undefined || (shown !== undefined && isCommitted(shown, target))) return;
  const { claim, name, slot } = target;
  const { uid } = claim.metadata;
  const isKnown = slot === undefined ? memory.markUnconfirmed(uid, key) : batches.markUnconfirmed(uid, slot, key);
  if (isKnown) enqueue(formatRefKey(sandbox, name));
}

interface Target {
  readonly claim: { readonly metadata: { readonly uid: string } };
  /** Name of the claim. */
  readonly name: string;
  readonly slot: number | undefined;
}

/** The claim or slot that the Sandbox is committed to; undefined for a member of a pool. */
function findTarget(sandbox: Sandbox): Target | undefined {
  const owner = findController(sandbox);
  if (owner?.kind === 'SandboxClaim') {
    return { claim: { metadata: { uid: owner.uid } }, name: owner.name, slot: undefined };
  }
  const slot = findSlot(sandbox);
  const uid = sandbox.metadata.labels?.[labels.claimUid];
  const name = findClaimName(sandbox);
  return slot === undefined || uid === undefined || name === undefined
    ? undefined
    : { claim: { metadata: { uid } }, name, slot };
}

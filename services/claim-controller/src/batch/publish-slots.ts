import {
  claimConditions,
  claimReasons,
  eventReasons,
  findCondition,
  labels,
  launchTypes,
  buildMergePatch,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { getKey, RetryableError } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { findLiveSandboxes } from './observe-batch.ts';
import { buildBatchStatus, differsInSubstance } from './batch-status.ts';
import type { BatchView } from './batch-status.ts';
import { isDelivered } from '../delivery/rules.ts';
import { annotateBatch } from '../publish/annotate.ts';
import { announceDelivery } from '../publish/announce.ts';
import { dropSandbox } from '../delivery/give-up.ts';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Report } from '../plan/report.ts';
import { readClaim, tryPatch } from '../publish/publish.ts';
import { isComplete, mapShownSlots, listSurplus } from './slots.ts';

/** Retries of a status patch after conflicts with other changes of the claim. */
const MAX_RETRIES = 5;

export interface BatchNews {
  /** The time to claim is over. */
  readonly timedOut: boolean;
  readonly report?: Report | undefined;
}

/** `gone`: the claim is gone, and `endBatches` deletes what it never showed. Otherwise how long to gather before the next pass. */
export type BatchPublished = 'gone' | { readonly againInMs: number | undefined };

/**
 * W2 of a wave: shows the Sandboxes delivered so far. The patch is always guarded by the claim's resourceVersion: when
 * another controller wrote an entry for a slot, that entry stays and this controller deletes its own Sandbox for the slot,
 * which no client has seen.
 */
export async function publishSlots(deps: ApplyDeps, pass: Pass, news: BatchNews): Promise<BatchPublished> {
  let claim: SandboxClaim | undefined = deps.claims.get(getKey(pass.claim)) ?? pass.claim;
  for (let retry = 0; retry <= MAX_RETRIES; retry += 1) {
    if (claim === undefined || claim.metadata.uid !== pass.claim.metadata.uid) return 'gone';
    const written = await writeOnce(deps, { ...pass, claim: deps.batches.keepNewest(claim, deps.nowMs()) }, news);
    if (typeof written === 'object') return written;
    claim = await readClaim(deps, claim, pass.signal);
  }
  throw new RetryableError(`the status of claim ${getKey(pass.claim)} changes faster than it can be written`);
}

async function writeOnce(deps: ApplyDeps, pass: Pass, news: BatchNews): Promise<BatchPublished | undefined> {
  const { claim, signal } = pass;
  const live = findLiveSandboxes(deps, claim);
  const nowMs = deps.nowMs();
  const record = deps.batches.of(claim, nowMs);
  const view: BatchView = { ...news, live: listPublishable(claim, live), nowMs, startMs: record.startMs };
  const status = buildBatchStatus(claim, view);
  let current = claim;
  if (buildMergePatch(claim.status, status) !== undefined) {
    const dueMs = (record.publishedMs ?? -Infinity) + pacing.batchStatus.intervalMs - nowMs;
    if (!differsInSubstance(claim.status, status) && dueMs > 0) return { againInMs: dueMs };
    const answer = await tryPatch(deps, { claim, status, guard: 'version', signal });
    if (typeof answer === 'string') return undefined;
    record.publishedMs = nowMs;
    deps.batches.keepNewest(answer, nowMs);
    announceNew(deps, { before: claim, after: answer, live });
    current = answer;
  }
  annotateBatch(deps, claim, current);
  await Promise.all(listSurplus(current, live).map((sandbox) => dropSandbox(deps, pass, sandbox)));
  return { againInMs: undefined };
}

/** Sandboxes that the status shows already, and those that are as the claim asks. */
function listPublishable(claim: SandboxClaim, live: readonly Sandbox[]): readonly Sandbox[] {
  const shown = new Set(mapShownSlots(claim).values());
  return live.filter((sandbox) => shown.has(sandbox.metadata.name ?? '') || isDelivered(claim, sandbox));
}

interface Written {
  readonly before: SandboxClaim;
  readonly after: SandboxClaim;
  readonly live: readonly Sandbox[];
}

/** Announces the Sandboxes that this write showed for the first time. */
function announceNew(deps: ApplyDeps, { before, after, live }: Written): void {
  const shown = new Set((before.status?.sandboxes ?? []).map(({ name }) => name));
  const fresh = new Set((after.status?.sandboxes ?? []).map(({ name }) => name).filter((name) => !shown.has(name)));
  const delivered = live.filter(({ metadata }) => fresh.has(metadata.name ?? ''));
  const isWarm = ({ metadata }: Sandbox): boolean => metadata.labels?.[labels.launchType] === launchTypes.warm;
  recordDelivery(deps, after, { reason: eventReasons.sandboxAdopted, delivered: delivered.filter(isWarm) });
  recordDelivery(deps, after, {
    reason: eventReasons.sandboxProvisioned,
    delivered: delivered.filter((sandbox) => !isWarm(sandbox)),
  });
  for (const sandbox of delivered) announceDelivery(deps, after, sandbox);
  if (!isComplete(before)) recordEnd(deps, after);
}

interface Note {
  readonly reason: string;
  readonly delivered: readonly Sandbox[];
}

/** Writes one Event per wave. */
function recordDelivery({ recorder }: ApplyDeps, claim: SandboxClaim, { reason, delivered }: Note): void {
  const [first, ...more] = delivered;
  if (first === undefined) return;
  const verb = reason === eventReasons.sandboxAdopted ? 'Adopted warm pool' : 'Created';
  const what = more.length === 0 ? `Sandbox "${first.metadata.name ?? ''}"` : `${delivered.length} Sandboxes`;
  recorder.record({ object: claim, type: 'Normal', reason, message: `${verb} ${what}`, related: first });
}

function recordEnd(deps: ApplyDeps, claim: SandboxClaim): void {
  const completed = findCondition(claim.status?.conditions, claimConditions.completed);
  if (completed === undefined) return;
  const { reason, message } = completed;
  if (reason === claimReasons.timeoutReached) {
    deps.recorder.record({ object: claim, type: 'Warning', reason: eventReasons.claimTimeout, message });
  }
}

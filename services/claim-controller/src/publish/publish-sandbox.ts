import {
  annotations,
  claimConditions,
  eventReasons,
  findCondition,
  labels,
  launchTypes,
  nameHash,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { carrier } from '@sandlot/telemetry';
import { isOwnedBy } from '../adopt/adopt.ts';
import { BY_TEMPLATE, refKey } from '../wiring/cache.ts';
import { isDelivered } from '../delivery/rules.ts';
import { recordedReadyAt } from './first-ready.ts';
import { measureBinding, measureDelivery, measureFirstReady } from '../telemetry/measure.ts';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import { publish } from './publish.ts';
import { isComplete, shownSlots, wantedSlots } from '../batch/slots.ts';
import { boundStatus, publishedName } from './status.ts';

/** Committed: from here on the Sandbox is the claim's, whatever happens. The owner reference says so. */
export async function deliver(deps: ApplyDeps, pass: Pass, sandbox: Sandbox): Promise<ReconcileResult> {
  deps.memory.reached(pass.claim, 'committed');
  const shown = deps.sandboxes.get(keyOf(sandbox));
  if (shown === undefined || !isOwnedBy(shown, pass.claim)) deps.memory.assign(pass.claim, sandbox);
  deps.waiters.remove(keyOf(pass.claim));
  const initialised = await deps.runtime.commence(pass, sandbox);
  if (await publishSandbox(deps, pass, sandbox)) annotate(deps, pass, sandbox);
  return initialised;
}

/** Shows the Sandbox in the claim's status; false when the claim is gone or shows another one. */
export async function publishSandbox(deps: ApplyDeps, { claim, signal }: Pass, committed: Sandbox): Promise<boolean> {
  const sandbox = deps.runtime.view(claim, committed);
  // Before the write: should its answer be lost, the next pass finds the claim Ready, and this process made it so.
  if (isReady(sandbox) && isDelivered(claim, sandbox)) deps.memory.markReady(claim, recordedReadyAt(claim));
  const nowMs = deps.nowMs();
  const statusOf = (current: SandboxClaim): ReturnType<typeof boundStatus> => boundStatus(current, sandbox, nowMs);
  const write = { claim, sandbox, statusOf, signal };
  const published = await publish(deps, write);
  if (published === 'written' && publishedName(claim) !== sandbox.metadata.name) announceBinding(deps, claim, sandbox);
  return published !== 'lost';
}

/** Once per binding, as far as this process knows: told by whoever publishes, also what a process before it committed. */
function announceBinding(deps: ApplyDeps, claim: SandboxClaim, sandbox: Sandbox): void {
  const { name = '' } = sandbox.metadata;
  const warm = isWarm(sandbox);
  const isFirst = publishedName(claim) === '' && claim.metadata.annotations?.[annotations.sandboxName] === undefined;
  const bindMs = isFirst ? deps.memory.elapsedMs(claim) : undefined;
  if (bindMs !== undefined) measureBinding(deps, claim, { path: warm ? 'warm' : 'cold', ms: bindMs });
  deps.recorder.event({
    object: claim,
    type: 'Normal',
    reason: warm ? eventReasons.sandboxAdopted : eventReasons.sandboxProvisioned,
    message: warm ? `Adopted warm pool Sandbox "${name}"` : `Created Sandbox "${name}"`,
    related: sandbox,
  });
  const pool = poolNameOf(deps, claim, sandbox);
  measureDelivery(deps, claim, { sandbox, pool });
  deps.events.bound({ claim, sandbox, pool, bindMs });
}

/** Tells of one delivered Sandbox of a detached claim. */
export function announceDelivery(deps: ApplyDeps, claim: SandboxClaim, sandbox: Sandbox): void {
  const pool = poolNameOf(deps, claim, sandbox);
  measureDelivery(deps, claim, { sandbox, pool });
  deps.metrics.bound(isWarm(sandbox) ? 'warm' : 'cold', sinceStartMs(deps, claim));
  deps.events.bound({ claim, sandbox, pool, bindMs: undefined });
}

/** Since the claim was first seen, by this process or, to the second, by one before it. */
function sinceStartMs({ memory, batches, nowMs }: ApplyDeps, claim: SandboxClaim): number {
  return Math.max(memory.elapsedMs(claim), nowMs() - batches.of(claim, nowMs()).startMs);
}

function isWarm({ metadata }: Sandbox): boolean {
  return metadata.labels?.[labels.launchType] === launchTypes.warm;
}

/** The pool the claim names, else the one its Sandbox came from. */
function poolNameOf({ cache }: ApplyDeps, { spec }: SandboxClaim, sandbox: Sandbox): string | undefined {
  if (spec.warmPoolRef !== undefined) return spec.warmPoolRef.name;
  const hash = sandbox.metadata.labels?.[labels.warmPool];
  const pools = cache.pools.store.byIndex(BY_TEMPLATE, refKey(sandbox, spec.sandboxTemplateRef?.name ?? ''));
  for (const { metadata } of hash === undefined ? [] : pools) {
    if (nameHash(metadata.name ?? '') === hash) return metadata.name;
  }
  return undefined;
}

/** Has the bookkeeping annotations written behind (API contract, written behind). */
export function annotate(deps: ApplyDeps, { claim }: Pick<Pass, 'claim'>, sandbox: Sandbox): void {
  measureFirstReady(deps, claim, deps.runtime.view(claim, sandbox));
  scheduleNotes(deps, claim, { sandboxName: sandbox.metadata.name, sandbox });
}

/**
 * The same for a detached claim, once all is delivered and Ready, or no more will be: one write for all of a batch.
 * `before` is the claim as it was before this pass wrote its status.
 */
export function annotateBatch(deps: ApplyDeps, before: SandboxClaim, after: SandboxClaim): void {
  const sandboxName = publishedName(after);
  const isReadyNow = isAllReady(after);
  if (sandboxName === '' || (!isReadyNow && !isPartial(after))) return;
  const sandbox = deps.sandboxes.get(refKey(after, sandboxName));
  if (isReadyNow) deps.memory.markReady(after, recordedReadyAt(before));
  if (isReadyNow && sandbox !== undefined) measureFirstReady(deps, after, sandbox);
  scheduleNotes(deps, after, { sandboxName, sandbox });
}

function isAllReady({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, claimConditions.ready)?.status === 'True';
}

/** Claiming is over, and some of what was asked for is missing. */
function isPartial(claim: SandboxClaim): boolean {
  return isComplete(claim) && shownSlots(claim).size < wantedSlots(claim);
}

interface Noted {
  readonly sandboxName: string | undefined;
  readonly sandbox: Sandbox | undefined;
}

function scheduleNotes(deps: ApplyDeps, claim: SandboxClaim, { sandboxName, sandbox }: Noted): void {
  const { memory, writeBehind } = deps;
  const present = claim.metadata.annotations ?? {};
  const { observedAt, readyAt } = memory.of(claim);
  const firstReadyAt = present[annotations.claimFirstReadyAt] ?? readyAt;
  const wanted: Record<string, string | undefined> = {
    [annotations.sandboxName]: sandboxName,
    [annotations.controllerFirstObservedAt]:
      present[annotations.controllerFirstObservedAt] ?? earlier(observedAt, firstReadyAt),
    [annotations.claimFirstReadyAt]: firstReadyAt,
    [annotations.traceContext]: traceOf(deps, claim, sandbox),
  };
  const known = Object.entries(wanted).filter((entry): entry is [string, string] => entry[1] !== undefined);
  writeBehind.schedule(claim, Object.fromEntries(known));
}

/** After a restart a claim may have been Ready before this process first saw it. Stamps of one form compare as text. */
function earlier(observedAt: string, readyAt: string | undefined): string {
  return readyAt !== undefined && /^\d/.test(readyAt) && readyAt < observedAt ? readyAt : observedAt;
}

/** The claim's own trace, when it has a valid one; else the one that its Sandbox was bound in, or that it was served in. */
function traceOf({ traces }: ApplyDeps, claim: SandboxClaim, sandbox: Sandbox | undefined): string | undefined {
  const present = claim.metadata.annotations?.[annotations.traceContext];
  if (present !== undefined && carrier.extract(present) !== undefined) return present;
  return sandbox?.metadata.annotations?.[annotations.traceContext] ?? traces.carrierOf(claim) ?? present;
}

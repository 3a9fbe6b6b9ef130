import { annotations, eventReasons, labels, launchTypes, nameHash } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import { carrier } from '@sandlot/telemetry';
import { isOwnedBy } from './adopt.ts';
import { BY_TEMPLATE, refKey } from './cache.ts';
import { measureBinding, measureDelivery, measureFirstReady } from './measure.ts';
import type { ApplyDeps, Pass } from './pass.ts';
import { publish } from './publish.ts';
import { boundStatus, publishedName } from './status.ts';

/** Committed: from here on the Sandbox is the claim's, whatever happens. The owner reference says so. */
export async function deliver(deps: ApplyDeps, pass: Pass, sandbox: Sandbox): Promise<void> {
  deps.memory.reached(pass.claim, 'committed');
  const shown = deps.sandboxes.get(keyOf(sandbox));
  if (shown === undefined || !isOwnedBy(shown, pass.claim)) deps.memory.assign(pass.claim, sandbox);
  deps.waiters.remove(keyOf(pass.claim));
  if (await publishSandbox(deps, pass, sandbox)) annotate(deps, pass, sandbox);
}

/** Shows the Sandbox in the claim's status; false when the claim is gone or shows another one. */
export async function publishSandbox(deps: ApplyDeps, { claim, signal }: Pass, sandbox: Sandbox): Promise<boolean> {
  const nowMs = deps.nowMs();
  const statusOf = (current: SandboxClaim): ReturnType<typeof boundStatus> => boundStatus(current, sandbox, nowMs);
  const published = await publish(deps, { claim, sandbox, statusOf, signal });
  if (published === 'written' && publishedName(claim) !== sandbox.metadata.name) announceBinding(deps, claim, sandbox);
  return published !== 'lost';
}

/** Once per binding, as far as this process knows: told by whoever publishes, also what a process before it committed. */
function announceBinding(deps: ApplyDeps, claim: SandboxClaim, sandbox: Sandbox): void {
  const { name = '', labels: marks } = sandbox.metadata;
  const warm = marks?.[labels.launchType] === launchTypes.warm;
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
  deps.events.bound({ claim, sandbox, pool, bindMs: undefined });
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
export function annotate(deps: ApplyDeps, { claim }: Pass, sandbox: Sandbox): void {
  const { memory, writeBehind } = deps;
  measureFirstReady(deps, claim, sandbox);
  const present = claim.metadata.annotations ?? {};
  if (isReady(sandbox)) memory.markReady(claim);
  const { observedAt, readyAt } = memory.of(claim);
  const firstReadyAt = present[annotations.claimFirstReadyAt] ?? readyAt;
  const wanted: Record<string, string | undefined> = {
    [annotations.sandboxName]: sandbox.metadata.name,
    [annotations.controllerFirstObservedAt]:
      present[annotations.controllerFirstObservedAt] ?? earlier(observedAt, firstReadyAt),
    [annotations.claimFirstReadyAt]: firstReadyAt,
    [annotations.traceContext]: traceOf(present[annotations.traceContext], sandbox),
  };
  const known = Object.entries(wanted).filter((entry): entry is [string, string] => entry[1] !== undefined);
  writeBehind.schedule(claim, Object.fromEntries(known));
}

/** After a restart a claim may have been Ready before this process first saw it. Stamps of one form compare as text. */
function earlier(observedAt: string, readyAt: string | undefined): string {
  return readyAt !== undefined && /^\d/.test(readyAt) && readyAt < observedAt ? readyAt : observedAt;
}

/** The claim's own trace, when it has a valid one; else the one that its Sandbox was bound in. */
function traceOf(present: string | undefined, sandbox: Sandbox): string | undefined {
  const bound = sandbox.metadata.annotations?.[annotations.traceContext];
  return present === undefined || carrier.extract(present) === undefined ? (bound ?? present) : present;
}

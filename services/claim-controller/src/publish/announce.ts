import { annotations, eventReasons, labels, launchTypes, nameHash } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import { measureBinding, measureDelivery } from '../telemetry/measure.ts';
import { BY_TEMPLATE, formatRefKey } from '../wiring/cache.ts';
import { getPublishedName } from './status.ts';

/**
 * Measures and announces a new binding, once as far as this process knows. The process that publishes announces, even when
 * an earlier process committed the Sandbox.
 */
export function announceBinding(deps: ApplyDeps, claim: SandboxClaim, sandbox: Sandbox): void {
  const { name = '' } = sandbox.metadata;
  const warm = isWarm(sandbox);
  const noted = claim.metadata.annotations?.[annotations.sandboxName];
  // This process may have noted the Sandbox beside the commit, and publish it in a later pass.
  const isUnknown = noted === undefined || noted === deps.memory.of(claim).notedName;
  const isFirst = getPublishedName(claim) === '' && isUnknown;
  const bindMs = isFirst ? deps.memory.elapsedMs(claim) : undefined;
  if (bindMs !== undefined) measureBinding(deps, claim, { path: warm ? 'warm' : 'cold', ms: bindMs });
  deps.recorder.record({
    object: claim,
    type: 'Normal',
    reason: warm ? eventReasons.sandboxAdopted : eventReasons.sandboxProvisioned,
    message: warm ? `Adopted warm pool Sandbox "${name}"` : `Created Sandbox "${name}"`,
    related: sandbox,
    isRoutine: true,
  });
  const pool = findPoolName(deps, claim, sandbox);
  measureDelivery(deps, claim, { sandbox, pool });
  deps.events.tellBound({ claim, sandbox, pool, bindMs });
}

/** Measures and announces one delivered Sandbox of a detached claim. */
export function announceDelivery(deps: ApplyDeps, claim: SandboxClaim, sandbox: Sandbox): void {
  const pool = findPoolName(deps, claim, sandbox);
  measureDelivery(deps, claim, { sandbox, pool });
  deps.metrics.observeBinding(isWarm(sandbox) ? 'warm' : 'cold', computeSinceStartMs(deps, claim));
  deps.events.tellBound({ claim, sandbox, pool, bindMs: undefined });
}

/** Since the first sight of the claim by this process or, to the second, by an earlier one. */
function computeSinceStartMs({ memory, batches, nowMs }: ApplyDeps, claim: SandboxClaim): number {
  return Math.max(memory.elapsedMs(claim), nowMs() - batches.of(claim, nowMs()).startMs);
}

function isWarm({ metadata }: Sandbox): boolean {
  return metadata.labels?.[labels.launchType] === launchTypes.warm;
}

/** The pool that the claim names, else the one that its Sandbox came from. */
function findPoolName({ cache }: ApplyDeps, { spec }: SandboxClaim, sandbox: Sandbox): string | undefined {
  if (spec.warmPoolRef !== undefined) return spec.warmPoolRef.name;
  const hash = sandbox.metadata.labels?.[labels.warmPool];
  const pools = cache.pools.store.listByIndex(BY_TEMPLATE, formatRefKey(sandbox, spec.sandboxTemplateRef?.name ?? ''));
  for (const { metadata } of hash === undefined ? [] : pools) {
    if (nameHash(metadata.name ?? '') === hash) return metadata.name;
  }
  return undefined;
}

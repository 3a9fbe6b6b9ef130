import { claimConditions, findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Change, Informer } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { createClaimMetrics } from './metrics.ts';
import type { ClaimMetrics, WaitingSample } from './metrics.ts';

export interface WaitingDeps {
  readonly metrics: Pick<ClaimMetrics, 'countFailure'>;
  /** Whether this replica counts failures and exports the samples: only the leader does. */
  readonly isCounting: () => boolean;
  readonly monotonic: () => number;
}

/** The metrics of a claim-controller, including those that follow the cache. */
export function createMeasuredMetrics(
  { registry, manager, clock, templateLabels }: ControllerParts,
  claims: Informer<SandboxClaim>,
): ClaimMetrics {
  const metrics = createClaimMetrics(registry, templateLabels);
  const isCounting = (): boolean => manager.isLeader();
  const waiting = new WaitingClaims({ metrics, isCounting, monotonic: () => clock.monotonic() });
  metrics.watchWaiting(() => waiting.sample());
  claims.onChange((change) => waiting.follow(change));
  return metrics;
}

/**
 * Counts waiting and failing claims from the cache. A claim that is never served appears in no latency metric, but it
 * appears here. Every replica keeps the record, so that a new leader has it.
 */
export class WaitingClaims {
  /** By UID: since when the claim waits, monotonic milliseconds. In order of arrival. */
  readonly #since = new Map<string, number>();
  readonly #deps: WaitingDeps;

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
  }

  follow({ old, next, initial }: Change<SandboxClaim>): void {
    if (next === undefined) {
      this.#since.delete(old?.metadata.uid ?? '');
      return;
    }
    this.#note(next);
    const isNew = isFailed(next) && !initial && (old === undefined || !isFailed(old));
    if (isNew && this.#deps.isCounting()) this.#deps.metrics.countFailure(findReady(next)?.reason);
  }

  #note(claim: SandboxClaim): void {
    const { uid = '' } = claim.metadata;
    if (!isWaiting(claim)) this.#since.delete(uid);
    else if (!this.#since.has(uid)) this.#since.set(uid, this.#deps.monotonic());
  }

  sample(): WaitingSample | undefined {
    if (!this.#deps.isCounting()) return undefined;
    const { done, value } = this.#since.values().next();
    const oldestSeconds = done === true ? 0 : (this.#deps.monotonic() - value) / 1_000;
    return { claims: this.#since.size, oldestSeconds };
  }
}

const WAITING: ReadonlySet<string | undefined> = new Set([undefined, 'Pending', 'Claiming']);

function isFailed({ status }: SandboxClaim): boolean {
  return status?.phase === 'Failed';
}

/** Whether the claim still waits for a Sandbox: not Ready, not Failed, not expired and not being deleted. */
export function isWaiting(claim: SandboxClaim): boolean {
  if (claim.metadata.deletionTimestamp !== undefined || !WAITING.has(claim.status?.phase)) return false;
  return findReady(claim)?.status !== 'True';
}

function findReady({ status }: SandboxClaim) {
  return findCondition(status?.conditions, claimConditions.ready);
}

import { claimConditions, findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Change, Informer } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { createClaimMetrics } from './metrics.ts';
import type { ClaimMetrics, WaitingSample } from './metrics.ts';

export interface WaitingDeps {
  readonly metrics: Pick<ClaimMetrics, 'failed'>;
  /** Whether this process is the one that counts: of several replicas only the leader. */
  readonly isCounting: () => boolean;
  readonly monotonic: () => number;
}

/** The metrics of a claim-controller, those included that follow the cache. */
export function measuredClaims(
  { registry, manager, clock, templateLabels }: ControllerParts,
  claims: Informer<SandboxClaim>,
): ClaimMetrics {
  const metrics = createClaimMetrics(registry, templateLabels);
  const isCounting = (): boolean => manager.isLeader();
  const waiting = new WaitingClaims({ metrics, isCounting, monotonic: () => clock.monotonic() });
  metrics.watchWaiting(() => waiting.sample());
  claims.onChange((change) => waiting.changed(change));
  return metrics;
}

/**
 * Claims that wait, and those that fail, as the cache shows them. A claim that is never served appears in no latency;
 * here it does. Every replica keeps the record, or a new leader would not know it.
 */
export class WaitingClaims {
  /** By UID: since when, monotonic milliseconds. In the order in which they came. */
  readonly #since = new Map<string, number>();
  readonly #deps: WaitingDeps;

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
  }

  changed({ old, next, initial }: Change<SandboxClaim>): void {
    if (next === undefined) {
      this.#since.delete(old?.metadata.uid ?? '');
      return;
    }
    this.#note(next);
    const isNew = isFailed(next) && !initial && (old === undefined || !isFailed(old));
    if (isNew && this.#deps.isCounting()) this.#deps.metrics.failed(readyOf(next)?.reason);
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

/** Ready and Failed claims wait no more, nor do those that are over or on their way out. */
export function isWaiting(claim: SandboxClaim): boolean {
  if (claim.metadata.deletionTimestamp !== undefined || !WAITING.has(claim.status?.phase)) return false;
  return readyOf(claim)?.status !== 'True';
}

function readyOf({ status }: SandboxClaim) {
  return findCondition(status?.conditions, claimConditions.ready);
}

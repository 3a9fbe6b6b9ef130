import type { SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube';
import { withEvent } from '@sandlot/std';
import type { Random } from '@sandlot/std';
import { addAdoption, restartPause } from '../refill/adoption-pause.ts';
import { refillTokensAt } from '../refill/tokens.ts';
import { CLAIM_RATE_WINDOW_MS } from '../sizing/decide-target.ts';
import type { Demand } from '../sizing/demand.ts';
import { computeBackoffAfterFailure, SHORT_LIVED } from './creation-backoff.ts';
import type { CreationFailure } from './creation-backoff.ts';
import type { PoolHistory } from './history.ts';

const NOTHING: PoolHistory = {};

interface Entry {
  readonly uid: string | undefined;
  readonly history: PoolHistory;
}

export interface PoolHistoriesDeps {
  readonly monotonic: () => number;
  readonly random: Random;
}

/** The {@link PoolHistory} of each pool by UID: a pool that is created again under its name starts without one. */
export class PoolHistories {
  readonly #entries = new Map<string, Entry>();
  readonly #deps: PoolHistoriesDeps;

  constructor(deps: PoolHistoriesDeps) {
    this.#deps = deps;
  }

  /** Empty until {@link recordSeen}. */
  of(pool: SandboxWarmPool): PoolHistory {
    const entry = this.#entries.get(getKey(pool));
    return entry !== undefined && entry.uid === pool.metadata.uid ? entry.history : NOTHING;
  }

  /** Starts the history of a pool with what its status still says; changes nothing for a pool already seen. */
  recordSeen(pool: SandboxWarmPool): void {
    const known = this.#entries.get(getKey(pool));
    if (known !== undefined && known.uid === pool.metadata.uid) return;
    this.#entries.set(getKey(pool), {
      uid: pool.metadata.uid,
      history: parseHistory(pool.status, this.#deps.monotonic()),
    });
  }

  /** The watch shows that a claim adopted a member. */
  recordAdoption(pool: SandboxWarmPool): void {
    this.recordSeen(pool);
    const nowMs = this.#deps.monotonic();
    const { adoptions, claimRate } = this.of(pool);
    this.#update(pool, {
      adoptions: addAdoption(adoptions, pool.spec.refill, nowMs),
      claimRate: withEvent(claimRate, nowMs, CLAIM_RATE_WINDOW_MS),
    });
  }

  recordDemands(pool: SandboxWarmPool, demands: readonly Demand[]): void {
    this.#update(pool, { demands });
  }

  /** The pool is about to create members. */
  recordRefillStart(pool: SandboxWarmPool): void {
    this.#update(pool, { adoptions: restartPause(this.of(pool).adoptions, this.#deps.monotonic()) });
  }

  /** The pool has sent `count` creations, whatever came of them. */
  recordCreations(pool: SandboxWarmPool, count: number): void {
    const tokens = refillTokensAt(this.of(pool).tokens, pool.spec.refill, this.#deps.monotonic());
    this.#update(pool, { tokens: tokens === undefined ? undefined : { ...tokens, left: tokens.left - count } });
  }

  /** Creations failed, or members did not last. Returns the milliseconds until the next attempt. */
  recordFailure(pool: SandboxWarmPool, failure: CreationFailure): number {
    const nowMs = this.#deps.monotonic();
    const backoff = computeBackoffAfterFailure(this.of(pool).backoff, failure, { nowMs, random: this.#deps.random });
    this.#update(pool, { backoff });
    return backoff.untilMs - nowMs;
  }

  /** A refill without a failure. That members were created does not show that they last. */
  recordSuccess(pool: SandboxWarmPool): void {
    if (this.of(pool).backoff?.code !== SHORT_LIVED) this.#update(pool, { backoff: undefined });
  }

  forget(poolKey: string): void {
    this.#entries.delete(poolKey);
  }

  #update(pool: SandboxWarmPool, changes: Partial<PoolHistory>): void {
    this.#entries.set(getKey(pool), { uid: pool.metadata.uid, history: { ...this.of(pool), ...changes } });
  }
}

/** The status carries the claim rate over a restart; it fades from there. */
function parseHistory(status: SandboxWarmPoolStatus | undefined, nowMs: number): PoolHistory {
  const perMinute = status?.claimRatePerMinute ?? 0;
  return perMinute === 0 ? NOTHING : { claimRate: { perSecond: perMinute / 60, atMs: nowMs } };
}

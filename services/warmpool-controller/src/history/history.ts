import type { SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { keyOf } from '@sandlot/kube';
import { backoffMs } from '@sandlot/std';
import type { Random, Tokens } from '@sandlot/std';
import type { Demand } from '../sizing/autoscale.ts';
import { withEvent } from '@sandlot/std';
import type { Rate } from '@sandlot/std';
import { afterTurn, refillTokensAt, withAdoption } from '../refill/decide-refill.ts';
import type { Adoptions } from '../refill/decide-refill.ts';
import { CLAIM_RATE_WINDOW_MS } from '../sizing/target.ts';

/** Why members cannot be made, or do not last. Times are monotonic. */
export interface Trouble {
  /** Code of the error, or `ShortLived`. */
  readonly code: string;
  readonly message: string;
  /** 1 for the first in a row. */
  readonly attempt: number;
  /** The next creation waits until then. */
  readonly untilMs: number;
  /** What it was about: another spec or template is worth a try at once. */
  readonly subject: string;
}

/** What a process remembers of one pool. Losing it costs a little patience or haste, never a wrong size. */
export interface Recollection {
  readonly adoptions?: Adoptions | undefined;
  readonly claimRate?: Rate | undefined;
  readonly demands?: readonly Demand[] | undefined;
  readonly tokens?: Tokens | undefined;
  readonly trouble?: Trouble | undefined;
}

const NOTHING: Recollection = {};

const BACKOFF = { baseMs: 250, maxMs: 30_000 };

/** A trouble that has not come back for this long is another one when it does. */
const FORGIVEN_MS = 2 * BACKOFF.maxMs;

interface Entry {
  readonly uid: string | undefined;
  recollection: Recollection;
}

export interface PoolMemoryDeps {
  readonly monotonic: () => number;
  readonly random: Random;
}

/** {@link Recollection}s of all pools, by incarnation: a pool that is made anew starts afresh. */
export class PoolMemory {
  readonly #entries = new Map<string, Entry>();
  readonly #deps: PoolMemoryDeps;

  constructor(deps: PoolMemoryDeps) {
    this.#deps = deps;
  }

  of(pool: SandboxWarmPool): Recollection {
    return this.#entry(pool).recollection;
  }

  /** A claim has taken a member, as the watch shows it. */
  adopted(pool: SandboxWarmPool): void {
    const nowMs = this.#deps.monotonic();
    const { adoptions, claimRate } = this.of(pool);
    this.#update(pool, {
      adoptions: withAdoption(adoptions, pool.spec.refill, nowMs),
      claimRate: withEvent(claimRate, nowMs, CLAIM_RATE_WINDOW_MS),
    });
  }

  demanded(pool: SandboxWarmPool, demands: readonly Demand[]): void {
    this.#update(pool, { demands });
  }

  /** Members are about to be asked for. */
  refills(pool: SandboxWarmPool): void {
    this.#update(pool, { adoptions: afterTurn(this.of(pool).adoptions, this.#deps.monotonic()) });
  }

  /** Members were asked for, successfully or not. */
  spent(pool: SandboxWarmPool, creations: number): void {
    const tokens = refillTokensAt(this.of(pool).tokens, pool.spec.refill, this.#deps.monotonic());
    this.#update(pool, { tokens: tokens === undefined ? undefined : { ...tokens, left: tokens.left - creations } });
  }

  /** Members could not be made, or did not last; gives the milliseconds until the next try. */
  failed(pool: SandboxWarmPool, failure: Pick<Trouble, 'code' | 'message' | 'subject'>): number {
    const nowMs = this.#deps.monotonic();
    const { trouble } = this.of(pool);
    const again = trouble !== undefined && trouble.subject === failure.subject && nowMs < trouble.untilMs + FORGIVEN_MS;
    const attempt = again ? trouble.attempt + 1 : 1;
    const waitMs = backoffMs({ ...BACKOFF, attempt: attempt - 1, random: this.#deps.random, jitter: 0.2 });
    this.#update(pool, { trouble: { ...failure, attempt, untilMs: nowMs + waitMs } });
    return waitMs;
  }

  succeeded(pool: SandboxWarmPool): void {
    if (this.of(pool).trouble?.code !== SHORT_LIVED) this.#update(pool, { trouble: undefined });
  }

  forget(poolKey: string): void {
    this.#entries.delete(poolKey);
  }

  #entry(pool: SandboxWarmPool): Entry {
    const key = keyOf(pool);
    const known = this.#entries.get(key);
    if (known?.uid === pool.metadata.uid && known !== undefined) return known;
    const entry = { uid: pool.metadata.uid, recollection: inherited(pool.status, this.#deps.monotonic()) };
    this.#entries.set(key, entry);
    return entry;
  }

  #update(pool: SandboxWarmPool, news: Partial<Recollection>): void {
    const entry = this.#entry(pool);
    entry.recollection = { ...entry.recollection, ...news };
  }
}

/** The trouble that still counts for `subject`. */
export function troubleAt({ trouble }: Recollection, subject: string, nowMs: number): Trouble | undefined {
  if (trouble === undefined || trouble.subject !== subject) return undefined;
  return nowMs < trouble.untilMs + FORGIVEN_MS ? trouble : undefined;
}

/** Code of a trouble whose members were made but ended soon after. */
export const SHORT_LIVED = 'ShortLived';

/** The claim rate outlives a restart in the status; it fades from there. */
function inherited(status: SandboxWarmPoolStatus | undefined, nowMs: number): Recollection {
  const perMinute = status?.claimRatePerMinute ?? 0;
  return perMinute === 0 ? NOTHING : { claimRate: { perSecond: perMinute / 60, atMs: nowMs } };
}

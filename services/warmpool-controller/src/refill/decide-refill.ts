import type { Tokens } from '@sandlot/std';
import { getPause } from './adoption-pause.ts';
import type { Adoptions, RefillSpec } from './adoption-pause.ts';
import { findMsUntilToken, refillTokensAt } from './tokens.ts';

const DEFAULT_MAX_IN_FLIGHT = 300;

export interface RefillInput {
  readonly refill: RefillSpec;
  /** The installation's limit, for a pool without `refill.maxInFlight`. */
  readonly maxInFlight?: number | undefined;
  /** Members below target. */
  readonly missing: number;
  readonly ready: number;
  /** Members that are not Ready yet, with those that the watch has not shown. */
  readonly starting: number;
  readonly adoptions: Adoptions | undefined;
  readonly tokens: Tokens | undefined;
  /** Monotonic end of the back-off after failed creations. */
  readonly notBeforeMs: number | undefined;
  /** Monotonic. */
  readonly nowMs: number;
}

export interface Refill {
  /** Members to create now. */
  readonly count: number;
  /** Adoptions that start another pause of `refill.delay` interrupt the refill. */
  readonly yields: boolean;
  /** Less than half of the pool is Ready: claims are about to find no stock, so the refill is as urgent as they are. */
  readonly isShort: boolean;
  /** When to decide again although no event arrives. */
  readonly waitMs?: number | undefined;
  /** `refill.delay` holds the pool for this long. */
  readonly heldMs?: number | undefined;
}

/** How many of the missing members the pool creates now (docs/reference/sandbox-warm-pool.md#refill). */
export function decideRefill(input: RefillInput): Refill {
  const { missing, nowMs, notBeforeMs = -Infinity } = input;
  const isShort = isShortOfReady(input);
  if (missing <= 0) return { count: 0, yields: true, isShort };
  const pausedMs = getPausedForMs(input);
  const waitMs = Math.max(pausedMs, notBeforeMs - nowMs);
  if (waitMs <= 0) return decideBatch(input);
  return { count: 0, yields: true, isShort, waitMs, ...(pausedMs > 0 ? { heldMs: pausedMs } : {}) };
}

function decideBatch(input: RefillInput): Refill {
  const { refill, missing, starting, nowMs } = input;
  const room = Math.max(0, (refill?.maxInFlight ?? input.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT) - starting);
  const wanted = Math.min(missing, room);
  const tokens = refillTokensAt(input.tokens, refill, nowMs);
  const count = Math.max(0, Math.min(wanted, Math.floor(tokens?.left ?? wanted)));
  const tokenMs = count < wanted ? findMsUntilToken(tokens, refill) : undefined;
  return {
    count,
    yields: canYield(input),
    isShort: isShortOfReady(input),
    ...(tokenMs === undefined ? {} : { waitMs: tokenMs }),
  };
}

function isShortOfReady({ ready, starting, missing }: RefillInput): boolean {
  return ready < starting + missing;
}

function getPausedForMs({ refill, adoptions, nowMs }: RefillInput): number {
  return adoptions === undefined ? 0 : Math.max(0, getPause(adoptions, refill, nowMs).untilMs - nowMs);
}

/** After an exhausted pause the pool refills without yielding, or steady claims would interrupt every refill. */
function canYield({ refill, adoptions, nowMs }: RefillInput): boolean {
  return adoptions === undefined || !getPause(adoptions, refill, nowMs).exhausted;
}

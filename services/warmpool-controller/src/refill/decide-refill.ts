import { parseDurationMs, secondsUntil, tokensAt } from '@sandlot/std';
import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { isBurst, withBurstEvent } from '@sandlot/std';
import type { Rate, TokenRate, Tokens } from '@sandlot/std';

type Refill = SandboxWarmPoolSpec['refill'];

/** Adoptions close enough together to be one reason to wait. Times are monotonic. */
export interface Adoptions {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly pace: Rate;
}

/** `refill.delay` is re-armed by each adoption for at most this many times itself (API contract, warm pools). */
const REARM_LIMIT = 10;

/**
 * Without a delay of its own a pool still lets claims pass first: each member costs the API server several times what
 * an adoption costs, and those claims wait for it. A short silence ends the pause, and so does an empty pool.
 */
const STEADY_YIELDS = { waitMs: 30, limitMs: 200 };
/** In a burst the server has more to do than it can, and adoptions come in clumps: a silence is longer there. */
const BURST_YIELDS = { waitMs: 200, limitMs: 3_000 };

const DEFAULT_MAX_IN_FLIGHT = 300;

function delayMsOf(refill: Refill): number {
  return parseDurationMs(refill?.delay ?? '0s') ?? 0;
}

interface Pause {
  readonly untilMs: number;
  /** When it ends by itself, if no more claims come. */
  readonly silentMs: number;
  /** The adoptions went on for so long that the pause ends in spite of them. */
  readonly exhausted: boolean;
}

function pauseOf(adoptions: Adoptions, refill: Refill, nowMs: number): Pause {
  const delayMs = delayMsOf(refill);
  const yields = isBurst(adoptions.pace, nowMs) ? BURST_YIELDS : STEADY_YIELDS;
  const { waitMs, limitMs } = delayMs > 0 ? { waitMs: delayMs, limitMs: delayMs * REARM_LIMIT } : yields;
  const silentMs = adoptions.lastMs + waitMs;
  const lastMs = adoptions.firstMs + limitMs;
  return { untilMs: Math.min(silentMs, lastMs), silentMs, exhausted: lastMs <= nowMs && nowMs < silentMs };
}

/**
 * What is known of adoptions after one more: it prolongs a pause, or begins one after a silence. A pause that has lasted
 * its longest is not begun anew before the pool has had its turn: the next claim must not take that away.
 */
export function withAdoption(adoptions: Adoptions | undefined, refill: Refill, nowMs: number): Adoptions {
  const pace = withBurstEvent(adoptions?.pace, nowMs);
  const isSilent = adoptions === undefined || nowMs >= pauseOf(adoptions, refill, nowMs).silentMs;
  return isSilent ? { firstMs: nowMs, lastMs: nowMs, pace } : { ...adoptions, lastMs: nowMs, pace };
}

/** What is known of adoptions when a refill begins: claims that follow begin another pause. */
export function afterTurn(adoptions: Adoptions | undefined, nowMs: number): Adoptions | undefined {
  return adoptions === undefined ? undefined : { ...adoptions, firstMs: nowMs };
}

/**
 * Creations that `refill.maxPerSecond` still allows at `nowMs`; a full bucket holds one second's worth. Undefined without
 * a limit.
 */
export function refillTokensAt(tokens: Tokens | undefined, refill: Refill, nowMs: number): Tokens | undefined {
  const rate = rateOf(refill);
  return rate === undefined ? undefined : tokensAt(tokens, rate, nowMs);
}

function rateOf(refill: Refill): TokenRate | undefined {
  const perSecond = refill?.maxPerSecond;
  return perSecond === undefined ? undefined : { perSecond, burst: perSecond };
}

export interface RefillInput {
  readonly refill: Refill;
  /** Where the pool does not say. */
  readonly maxInFlight?: number | undefined;
  /** Places to fill. */
  readonly missing: number;
  readonly ready: number;
  /** Creations that are not Ready yet, those that the watch has not shown included. */
  readonly starting: number;
  readonly adoptions: Adoptions | undefined;
  readonly tokens: Tokens | undefined;
  /** Creations failed: none before this monotonic time. */
  readonly notBeforeMs: number | undefined;
  readonly nowMs: number;
}

export interface Refilling {
  /** Members to make now. */
  readonly count: number;
  /** Claims that come meanwhile stop it. */
  readonly yields: boolean;
  /** Less than half of the pool is Ready: claims would go without, which costs more than what the refill takes from them. */
  readonly isShort: boolean;
  /** When to look again although nothing happens. */
  readonly waitMs?: number | undefined;
  /** `refill.delay` holds the pool for this long. */
  readonly heldMs?: number | undefined;
}

/** How many of the missing members are made now (API contract, refill). */
export function refilling(input: RefillInput): Refilling {
  const { missing, nowMs, notBeforeMs = -Infinity } = input;
  const isShort = isShortOf(input);
  if (missing <= 0) return { count: 0, yields: true, isShort };
  const pausedMs = pausedForMs(input);
  const waitMs = Math.max(pausedMs, notBeforeMs - nowMs);
  if (waitMs <= 0) return batchOf(input);
  const isHeld = delayMsOf(input.refill) > 0 && pausedMs > 0;
  return { count: 0, yields: true, isShort, waitMs, ...(isHeld ? { heldMs: pausedMs } : {}) };
}

function batchOf(input: RefillInput): Refilling {
  const { refill, missing, starting, nowMs } = input;
  const room = Math.max(0, (refill?.maxInFlight ?? input.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT) - starting);
  const wanted = Math.min(missing, room);
  const tokens = refillTokensAt(input.tokens, refill, nowMs);
  const count = Math.max(0, Math.min(wanted, Math.floor(tokens?.left ?? wanted)));
  const order = { yields: yieldsOf(input), isShort: isShortOf(input) };
  return { count, ...order, ...(count < wanted ? tokenWait(tokens, refill) : {}) };
}

function isShortOf({ ready, starting, missing }: RefillInput): boolean {
  return ready < starting + missing;
}

function tokenWait(tokens: Tokens | undefined, refill: Refill): { readonly waitMs?: number } {
  const rate = rateOf(refill);
  if (tokens === undefined || rate === undefined) return {};
  const next = Math.max(0, Math.floor(tokens.left)) + 1;
  return { waitMs: Math.ceil(secondsUntil(tokens, rate, next) * 1_000) };
}

/** An empty pool has no claims to let pass: those that wait, wait for its members. */
function pausedForMs({ refill, ready, adoptions, nowMs }: RefillInput): number {
  if (adoptions === undefined || (ready === 0 && delayMsOf(refill) === 0)) return 0;
  return Math.max(0, pauseOf(adoptions, refill, nowMs).untilMs - nowMs);
}

/** After a pause that claims have used up, it is the pool's turn. */
function yieldsOf({ refill, ready, adoptions, nowMs }: RefillInput): boolean {
  if (ready === 0 && delayMsOf(refill) === 0) return false;
  return adoptions === undefined || !pauseOf(adoptions, refill, nowMs).exhausted;
}

/** Whether a refill under way that yields should stop: a new pause has begun, and not one of steady traffic. */
export function interrupts(adoptions: Adoptions | undefined, refill: Refill, nowMs: number): boolean {
  if (adoptions === undefined || nowMs >= pauseOf(adoptions, refill, nowMs).untilMs) return false;
  return delayMsOf(refill) > 0 || isBurst(adoptions.pace, nowMs);
}

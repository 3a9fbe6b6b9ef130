import type { Clock } from '@sandlot/std';

/** How often the same is said of a claim, and how long what was said counts. */
const PERIOD_MS = 10 * 60_000;
/** Different things that are said of one claim in that time. A sandbox may try a million names. */
const MAX_OF_CLAIM = 10;
const MAX_CLAIMS = 10_000;
/** Stands for all things beyond the bound. No other key is empty. */
const MORE = '';

/** Bounds what is said of claims: each thing once in ten minutes, at most ten things in that time, and once that there are more. */
export class Quota {
  /** When each thing was said, by claim. The claim of which something was said last is the last one. */
  readonly #said = new Map<string, Map<string, number>>();
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Takes a place for a thing: `this` if it may be said, `more` if it may be said that there are more; undefined: nothing may. */
  take(claimUid: string, thing: string): 'this' | 'more' | undefined {
    const nowMs = this.#clock.monotonic();
    const said = this.#takeOut(claimUid, nowMs);
    const isFull = said.size - Number(said.has(MORE)) >= MAX_OF_CLAIM;
    const key = isFull ? MORE : thing;
    const isNew = !said.has(thing) && !said.has(key);
    if (isNew) said.set(key, nowMs);
    if (said.size > 0) this.#said.set(claimUid, said);
    for (const [oldest] of this.#said) {
      if (this.#said.size <= MAX_CLAIMS) break;
      this.#said.delete(oldest);
    }
    if (!isNew) return undefined;
    return isFull ? 'more' : 'this';
  }

  /** Forgets a claim that is gone. */
  forget(claimUid: string): void {
    this.#said.delete(claimUid);
  }

  #takeOut(claimUid: string, nowMs: number): Map<string, number> {
    const said = this.#said.get(claimUid) ?? new Map<string, number>();
    this.#said.delete(claimUid);
    for (const [thing, saidMs] of said) if (nowMs - saidMs >= PERIOD_MS) said.delete(thing);
    return said;
  }
}

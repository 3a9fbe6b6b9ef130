/** Slots of one claim that are filled side by side, wave after wave (API contract, detached claims). */
const SIZES = [5, 10, 20, 40, 50] as const;

/** How many slots may be in progress: more with every wave that went well. */
export class Wave {
  #index = 0;
  #succeeded = 0;

  get size(): number {
    return SIZES[Math.min(this.#index, SIZES.length - 1)] ?? 1;
  }

  /** One more slot is filled; true when that completes a wave. */
  succeeded(): boolean {
    this.#succeeded += 1;
    if (this.#succeeded < this.size) return false;
    this.#succeeded = 0;
    this.#index += 1;
    return true;
  }
}

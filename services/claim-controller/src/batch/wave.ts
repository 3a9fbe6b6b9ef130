/** How many slots of one claim are filled side by side, wave after wave (docs/reference/sandbox-claim.md#detached-claims). */
const SIZES = [5, 10, 20, 40, 50] as const;

/** How many slots may be in progress: every successful wave allows more. */
export class Wave {
  #index = 0;
  #succeeded = 0;

  get size(): number {
    return SIZES[Math.min(this.#index, SIZES.length - 1)] ?? 1;
  }

  /** Counts one filled slot; true when it completes a wave. */
  countFilled(): boolean {
    this.#succeeded += 1;
    if (this.#succeeded < this.size) return false;
    this.#succeeded = 0;
    this.#index += 1;
    return true;
  }
}

/** How many webhooks of one team this process serves at a time, so that slow receivers of one keep no place from others. */
export class TeamPlaces {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Undefined: the team has all of its places. */
  take(namespace: string): Disposable | undefined {
    const taken = this.#taken.get(namespace) ?? 0;
    if (taken >= this.#most) return undefined;
    this.#taken.set(namespace, taken + 1);
    return { [Symbol.dispose]: () => this.#leave(namespace) };
  }

  #leave(namespace: string): void {
    const left = (this.#taken.get(namespace) ?? 1) - 1;
    if (left === 0) this.#taken.delete(namespace);
    else this.#taken.set(namespace, left);
  }
}

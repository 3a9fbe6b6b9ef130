interface Entry<V> {
  readonly value: V;
  readonly untilMs: number;
}

/** A bounded map whose entries expire. When it is full, it forgets the entry that was set longest ago. Times are monotonic. */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** The entry of the key; undefined when there is none or it has expired. */
  get(key: string, nowMs: number): { readonly value: V } | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.untilMs > nowMs ? entry : undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  set(key: string, value: V, untilMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#max && oldest !== undefined) this.#entries.delete(oldest);
  }
}

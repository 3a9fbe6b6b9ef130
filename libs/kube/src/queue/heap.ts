/** A binary heap: `peek` and `pop` give the item that comes before all others. Equal items come in no particular order. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let at = this.#items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return first;
    this.#items[0] = last;
    let at = 0;
    for (let child = this.#firstChild(at); child !== undefined; child = this.#firstChild(at)) {
      if (!this.#swapIfBefore(child, at)) break;
      at = child;
    }
    return first;
  }

  /** Of the two children of `at`, the one that comes first. */
  #firstChild(at: number): number | undefined {
    const left = this.#items[2 * at + 1];
    const right = this.#items[2 * at + 2];
    if (left === undefined) return undefined;
    return right !== undefined && this.#before(right, left) ? 2 * at + 2 : 2 * at + 1;
  }

  #swapIfBefore(a: number, b: number): boolean {
    const [x, y] = [this.#items[a], this.#items[b]];
    if (x === undefined || y === undefined || !this.#before(x, y)) return false;
    this.#items[a] = y;
    this.#items[b] = x;
    return true;
  }
}

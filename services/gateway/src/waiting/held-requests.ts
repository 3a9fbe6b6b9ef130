/** Requests that wait for their sandbox: bounded in number and in what of their bodies may be in memory meanwhile. */
export class Holds {
  readonly #max: number;
  readonly #maxBytes: number;
  #count = 0;
  #bytes = 0;

  constructor(max: number, maxBytes: number) {
    this.#max = max;
    this.#maxBytes = maxBytes;
  }

  get count(): number {
    return this.#count;
  }

  /** A place for a request with a body of `bodyBytes` (Infinity: nobody knows); undefined when there is none. */
  enter(bodyBytes: number): Disposable | undefined {
    const bytes = HEAD_BYTES + Math.min(bodyBytes, BUFFERED_BYTES);
    if (this.#count >= this.#max || this.#bytes + bytes > this.#maxBytes) return undefined;
    this.#count += 1;
    this.#bytes += bytes;
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#count -= 1;
        this.#bytes -= bytes;
      },
    };
  }
}

/** What Node reads of a body that nobody asks for, before it stops reading its connection. */
const BUFFERED_BYTES = 131_072;
const HEAD_BYTES = 16_384;

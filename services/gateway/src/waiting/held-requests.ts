/** What Node reads of an unread body before it stops reading the connection. */
const BUFFERED_BYTES = 131_072;
const HEAD_BYTES = 16_384;

/** Bounds the requests that wait for their sandbox: their number, and the bytes of their bodies in memory. */
export class HeldRequests {
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

  /**
   * Takes a place for a request with a body of `bodyBytes` (Infinity: unknown), until the result is disposed of. Undefined when
   * there is no place left.
   */
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

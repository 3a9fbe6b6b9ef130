/** A line that is longer is handed on in parts: output of a hostile step must not fill the memory. */
const MOST_CHARACTERS = 8_192;

/** Cuts output into lines. */
export class Lines {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(bytes: Uint8Array | undefined): void {
    if (bytes === undefined) return;
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Hands on what has no end of line. */
  end(): void {
    this.#take(this.#decoder.decode());
    if (this.#rest !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#handOn(line);
    while (this.#rest.length > MOST_CHARACTERS) {
      this.#onLine(this.#rest.slice(0, MOST_CHARACTERS));
      this.#rest = this.#rest.slice(MOST_CHARACTERS);
    }
  }

  #handOn(line: string): void {
    for (let at = 0; at === 0 || at < line.length; at += MOST_CHARACTERS) {
      this.#onLine(line.slice(at, at + MOST_CHARACTERS));
    }
  }
}

import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** A value that prints as `[secret]` in strings, JSON, logs and inspection; only {@link Secret.reveal} returns it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Pass it straight to the client that needs it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}

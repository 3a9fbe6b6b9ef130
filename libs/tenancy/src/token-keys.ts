import { annotations } from '@sandlot/api-types';
import { parseTokenKey } from './tokens.ts';

/** A key of the installation for tokens. A rotation makes the next one, with the next number; the first has the number 1. */
export interface TokenKey {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** The entries of the Secret: `envd.key`, and while it is rotated `envd.key.number` and `envd.key.other`. */
export interface TokenKeyTexts {
  readonly key: string;
  /** Of `key`. */
  readonly number: number;
  /** The next key before the switch and the one of before after it, as `NUMBER:BASE64`; undefined: there is no rotation. */
  readonly other?: string | undefined;
}

/** A claim, as far as it says by which key its tokens are made. */
interface KeyHolder {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

/** The keys by which tokens of sandboxes are made: one, and two while the key is rotated. */
export class TokenKeys {
  /** Makes the tokens of new sandboxes. */
  readonly current: TokenKey;
  readonly #all: readonly TokenKey[];

  /** Throws when a key is malformed, too short to be safe, or has the number of the other one. */
  constructor({ key, number, other }: TokenKeyTexts) {
    this.current = { number, bytes: parseTokenKey(key) };
    this.#all = other === undefined ? [this.current] : [this.current, parseNumberedKey(other)];
    if (new Set(this.#all.map((each) => each.number)).size < this.#all.length) {
      throw new Error('envd.key.other must have another number than envd.key');
    }
  }

  /**
   * The key of the claim's tokens. A claim whose key is gone gets those of the current key: its sandbox has them from the next
   * start of its Pod on.
   */
  of({ metadata }: KeyHolder): Uint8Array {
    return this.find(readKeyNumber(metadata.annotations?.[annotations.tokenKey]));
  }

  /** The same by number; undefined: it cannot be read. */
  find(number: number | undefined): Uint8Array {
    return (this.#all.find((each) => each.number === number) ?? this.current).bytes;
  }

  /** All keys, the current one first. */
  list(): readonly Uint8Array[] {
    return this.#all.map(({ bytes }) => bytes);
  }

  /**
   * The key from which ids of repeated creates are derived. It is the same before and after the switch of a rotation, so that two
   * processes of which one has restarted find the same sandbox.
   */
  get ofRepeats(): Uint8Array {
    const [oldest = this.current] = this.#all.toSorted((a, b) => a.number - b.number);
    return oldest.bytes;
  }
}

/** The annotation of a claim whose tokens are made by the key of this number; undefined for the first, which needs none. */
export function formatKeyNumber(number: number): string | undefined {
  return number === 1 ? undefined : String(number);
}

/** The number of an annotation, 1 without one; undefined: it is malformed. */
export function readKeyNumber(text: string | undefined): number | undefined {
  if (text === undefined) return 1;
  return /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : undefined;
}

function parseNumberedKey(text: string): TokenKey {
  const [first = '', ...rest] = text.trim().split(':');
  const number = readKeyNumber(first);
  if (number === undefined) throw new Error('envd.key.other must be NUMBER:BASE64');
  return { number, bytes: parseTokenKey(rest.join(':')) };
}

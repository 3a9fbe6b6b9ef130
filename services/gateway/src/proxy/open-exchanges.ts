import { ConcurrencyLimit } from '../limits/concurrency-limit.ts';

/** Who the open requests and WebSockets of a sandbox count against. */
export interface Holder {
  /** UID of the Sandbox. */
  readonly uid: string;
  readonly namespace: string;
  /** The API key that the claim names; undefined: none. */
  readonly keyId: string | undefined;
}

export interface OpenLimits {
  readonly perSandbox: number;
  readonly perNamespace: number;
  readonly perKey: number;
}

/** A limit that is used up: its number, and whose it is. */
export interface Full {
  readonly limit: number;
  readonly whose: string;
}

/**
 * Limits the open requests and WebSockets of each sandbox, namespace and API key. Authors of claims write the key's id
 * themselves, so a key counts within each namespace on its own: who forges it uses up only the limits of their own namespace.
 */
export class OpenExchanges {
  readonly #perSandbox: ConcurrencyLimit;
  readonly #perNamespace: ConcurrencyLimit;
  readonly #perKey: ConcurrencyLimit;

  constructor({ perSandbox, perNamespace, perKey }: OpenLimits) {
    this.#perSandbox = new ConcurrencyLimit(perSandbox);
    this.#perNamespace = new ConcurrencyLimit(perNamespace);
    this.#perKey = new ConcurrencyLimit(perKey);
  }

  /** Takes a place of each limit; says which one is used up. The caller gives the places back with {@link leave}. */
  enter(holder: Holder): Full | undefined {
    const taken: (() => void)[] = [];
    for (const { limit, key, whose } of this.#listLimits(holder)) {
      if (!limit.enter(key)) {
        for (const giveBack of taken) giveBack();
        return { limit: limit.limit, whose };
      }
      taken.push(() => limit.leave(key));
    }
    return undefined;
  }

  leave(holder: Holder): void {
    for (const { limit, key } of this.#listLimits(holder)) limit.leave(key);
  }

  #listLimits({ uid, namespace, keyId }: Holder): readonly Place[] {
    const places: Place[] = [
      { limit: this.#perSandbox, key: uid, whose: 'a sandbox' },
      { limit: this.#perNamespace, key: namespace, whose: 'all sandboxes of a namespace together' },
    ];
    if (keyId === undefined) return places;
    const key = `${namespace}/${keyId}`;
    return [...places, { limit: this.#perKey, key, whose: 'all sandboxes of an API key together' }];
  }
}

interface Place {
  readonly limit: ConcurrencyLimit;
  readonly key: string;
  readonly whose: string;
}

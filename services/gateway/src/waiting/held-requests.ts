import type { LimitName } from '../limits/limit-names.ts';

/** What Node reads of an unread body before it stops reading the connection. */
const BUFFERED_BYTES = 131_072;
const HEAD_BYTES = 16_384;

/** A share of the places. */
export type HeldLimit = LimitName & `held-by-${string}`;

export interface HeldLimits {
  readonly requests: number;
  /** Bytes of their heads and bodies in memory. */
  readonly bytes: number;
  /** How many of the requests one sandbox, one namespace and one source may have; of the bytes they get the same share. */
  readonly perSandbox: number;
  readonly perNamespace: number;
  readonly perSource: number;
}

/** A request that asks for a place. */
export interface HeldRequest {
  /** Bytes of its body; Infinity: unknown. */
  readonly bodyBytes: number;
  /** The UID of what the request waits for. */
  readonly sandbox: string;
  readonly namespace: string;
  readonly source: string;
}

/** The limit that leaves no place, and its number of requests. `all`: all places together are taken. */
export interface NoPlace {
  readonly limit: HeldLimit | 'all';
  readonly requests: number;
}

/**
 * Bounds the requests that wait for their sandbox: their number, and the bytes of their bodies in memory. No sandbox,
 * namespace or source can take the places of the others.
 */
export class HeldRequests {
  readonly #all: Share;
  readonly #shares: Readonly<Record<HeldLimit, Share>>;

  constructor({ requests, bytes, perSandbox, perNamespace, perSource }: HeldLimits) {
    const buildShare = (most: number): Share => {
      const share = Math.min(most, requests);
      // One request fits into every share, however small.
      const least = HEAD_BYTES + BUFFERED_BYTES;
      return new Share(share, requests === 0 ? 0 : Math.max(least, (bytes * share) / requests));
    };
    this.#all = new Share(requests, bytes);
    this.#shares = {
      'held-by-sandbox': buildShare(perSandbox),
      'held-by-namespace': buildShare(perNamespace),
      'held-by-source': buildShare(perSource),
    };
  }

  get count(): number {
    return this.#all.countHeld(ALL);
  }

  /** Takes a place until the result is disposed of; says which limit leaves none. */
  enter({ bodyBytes, sandbox, namespace, source }: HeldRequest): Disposable | NoPlace {
    const bytes = HEAD_BYTES + Math.min(bodyBytes, BUFFERED_BYTES);
    const wanted = [
      ['all', this.#all, ALL],
      ['held-by-sandbox', this.#shares['held-by-sandbox'], sandbox],
      ['held-by-namespace', this.#shares['held-by-namespace'], namespace],
      ['held-by-source', this.#shares['held-by-source'], source],
    ] as const;
    for (const [limit, share, key] of wanted) {
      if (!share.hasRoom(key, bytes)) return { limit, requests: share.requests };
    }
    for (const [, share, key] of wanted) share.add(key, { requests: 1, bytes });
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        for (const [, share, key] of wanted) share.add(key, { requests: -1, bytes: -bytes });
      },
    };
  }
}

const ALL = '';

interface Use {
  readonly requests: number;
  readonly bytes: number;
}

const NO_USE: Use = { requests: 0, bytes: 0 };

/** What each key uses of its share. A key without requests takes no memory. */
class Share {
  readonly requests: number;
  readonly #bytes: number;
  readonly #used = new Map<string, Use>();

  constructor(requests: number, bytes: number) {
    this.requests = requests;
    this.#bytes = bytes;
  }

  countHeld(key: string): number {
    return (this.#used.get(key) ?? NO_USE).requests;
  }

  hasRoom(key: string, bytes: number): boolean {
    const used = this.#used.get(key) ?? NO_USE;
    return used.requests < this.requests && used.bytes + bytes <= this.#bytes;
  }

  add(key: string, change: Use): void {
    const used = this.#used.get(key) ?? NO_USE;
    const next = { requests: used.requests + change.requests, bytes: used.bytes + change.bytes };
    if (next.requests > 0) this.#used.set(key, next);
    else this.#used.delete(key);
  }
}

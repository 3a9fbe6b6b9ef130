/** How many daemons may be called at once: in all, for one namespace, and for one template of it. */
export interface InitLimits {
  readonly total: number;
  readonly perNamespace: number;
  readonly perTemplate: number;
}

/** An honest daemon gives its place back within milliseconds; a hostile one keeps it until the deadline of the call. */
export const INIT_LIMITS: InitLimits = { total: 1_024, perNamespace: 128, perTemplate: 64 };

/** Whose place it is. */
export interface PlaceOwner {
  readonly namespace: string;
  readonly template: string;
}

/** Gives the place back. Call it once. */
export type Release = () => void;

/** Takes the place for the one that waits for it. */
type Waiter = () => void;

/** A limit with the shares below it, in the order of their turns, and those who wait in it. */
class Share {
  readonly limit: number;
  readonly shares = new Map<string, Share>();
  readonly line = new Set<Waiter>();
  used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get isIdle(): boolean {
    return this.used === 0 && this.line.size === 0 && this.shares.size === 0;
  }

  /** The share of that name, which the first call creates. */
  open(name: string, limit: number): Share {
    const share = this.shares.get(name) ?? new Share(limit);
    this.shares.set(name, share);
    return share;
  }

  /** Counts a place for the next waiter and returns it; undefined when no waiter may have one. Shares take turns. */
  admitNext(): Waiter | undefined {
    if (this.used >= this.limit) return undefined;
    for (const [name, share] of this.shares) {
      const waiter = share.admitNext();
      if (waiter === undefined) continue;
      this.shares.delete(name);
      this.shares.set(name, share);
      this.used += 1;
      return waiter;
    }
    const [first] = this.line;
    if (first === undefined) return undefined;
    this.line.delete(first);
    this.used += 1;
    return first;
  }
}

/**
 * Bounds the calls to daemons. Namespaces take turns, and so do the templates of a namespace, so daemons that never answer
 * delay only claims of their own template, and by at most one place in turn those of others.
 */
export class InitPlaces {
  readonly #limits: InitLimits;
  readonly #all: Share;

  constructor(limits: InitLimits = INIT_LIMITS) {
    this.#limits = limits;
    this.#all = new Share(limits.total);
  }

  /** A place that is free now; undefined when there is none. */
  tryTake(owner: PlaceOwner): Release | undefined {
    const path = this.#open(owner);
    if (path.some(({ used, limit }) => used >= limit)) return undefined;
    for (const share of path) share.used += 1;
    return () => this.#release(owner);
  }

  /** Resolves with a place once it is this owner's turn. Rejects when the signal aborts before. */
  waitFor(owner: PlaceOwner, signal: AbortSignal): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const line = this.#open(owner).at(-1)?.line;
    const giveUp = (): void => {
      line?.delete(admit);
      this.#prune(owner);
      reject(signal.reason as Error);
    };
    const admit = (): void => {
      signal.removeEventListener('abort', giveUp);
      resolve(() => this.#release(owner));
    };
    line?.add(admit);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    return promise;
  }

  /** From the limit of all to that of the template. */
  #open({ namespace, template }: PlaceOwner): readonly Share[] {
    const { perNamespace, perTemplate } = this.#limits;
    const ofNamespace = this.#all.open(namespace, perNamespace);
    return [this.#all, ofNamespace, ofNamespace.open(template, perTemplate)];
  }

  #release(owner: PlaceOwner): void {
    for (const share of this.#open(owner)) share.used -= 1;
    this.#prune(owner);
    for (let admit = this.#all.admitNext(); admit !== undefined; admit = this.#all.admitNext()) admit();
  }

  /** Drops idle shares, which would pile up otherwise. */
  #prune({ namespace, template }: PlaceOwner): void {
    const ofNamespace = this.#all.shares.get(namespace);
    if (ofNamespace?.shares.get(template)?.isIdle === true) ofNamespace.shares.delete(template);
    if (ofNamespace?.isIdle === true) this.#all.shares.delete(namespace);
  }
}

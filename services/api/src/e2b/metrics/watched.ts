import type { Clock } from '@sandlot/std';

/** A sandbox of which somebody wants points: the key of its claim. */
export interface Wanted {
  readonly namespace: string;
  readonly name: string;
}

export interface WatchedOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly closing: AbortSignal;
  /** Samples it, unless it is gone. Never rejects. */
  readonly sample: (wanted: Wanted) => Promise<void>;
}

const EVERY_MS = 5_000;
/** How long a sandbox is sampled after a client asked. */
const WANTED_MS = 120_000;
/** Sandboxes of a namespace that are sampled; those that were asked for last. */
const PER_NAMESPACE = 60;
const IN_ALL = 1_000;

/** Samples sandboxes every five seconds, while clients ask for their metrics. */
export class Watched {
  readonly #options: WatchedOptions;
  /** By key of the claim, those asked for last at the end. */
  readonly #wanted = new Map<string, Wanted & { readonly untilMs: number }>();
  #running = false;

  constructor(options: WatchedOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#wanted.size;
  }

  /** Begins or goes on to sample it. With too many of other namespaces, it is sampled only when it is asked for. */
  want({ namespace, name }: Wanted): void {
    const key = `${namespace}/${name}`;
    const isKnown = this.#wanted.delete(key);
    if (!isKnown && this.#wanted.size >= IN_ALL) return;
    this.#wanted.set(key, { namespace, name, untilMs: this.#options.clock.monotonic() + WANTED_MS });
    if (!isKnown) this.#dropBeyond(namespace);
    if (!this.#running) void this.#run();
  }

  #dropBeyond(namespace: string): void {
    const own = [...this.#wanted].filter(([, wanted]) => wanted.namespace === namespace);
    for (const [key] of own.slice(0, Math.max(0, own.length - PER_NAMESPACE))) this.#wanted.delete(key);
  }

  async #run(): Promise<void> {
    const { clock, closing, sample } = this.#options;
    const isOver = (): boolean => closing.aborted;
    this.#running = true;
    while (this.#wanted.size > 0 && !isOver()) {
      await clock.sleep(EVERY_MS, closing);
      for (const [key, wanted] of [...this.#wanted]) {
        if (wanted.untilMs <= clock.monotonic()) this.#wanted.delete(key);
        // The queue behind it asks a few daemons at a time, and no daemon twice at a time.
        else if (!isOver()) void sample(wanted);
      }
    }
    this.#running = false;
  }
}

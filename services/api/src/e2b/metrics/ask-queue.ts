/** Questions at a time: to daemons of one namespace, so that slow ones hold up no other namespace, and in all. */
const PER_NAMESPACE = 4;
const IN_ALL = 32;

export interface Question {
  readonly namespace: string;
  /** No two questions of one id run or wait. */
  readonly id: string;
  /** Never rejects. */
  readonly ask: () => Promise<void>;
}

interface Asked extends Question {
  /** Resolves when it has its answer. */
  readonly answered: Promise<undefined>;
  readonly end: (nothing: undefined) => void;
}

/** Asks a few questions at a time, those of a namespace in their order. */
export class AskQueue {
  readonly #limits: { readonly perNamespace: number; readonly inAll: number };
  /** Running and waiting, by id. */
  readonly #asked = new Map<string, Asked>();
  /** By namespace. Those that had their turn last are at the end. */
  readonly #waiting = new Map<string, Asked[]>();
  /** By namespace. */
  readonly #running = new Map<string, number>();
  #runningInAll = 0;

  constructor(limits = { perNamespace: PER_NAMESPACE, inAll: IN_ALL }) {
    this.#limits = limits;
  }

  /** Resolves when this question, or the one of the same id before it, has its answer. */
  add(question: Question): Promise<void> {
    const before = this.#asked.get(question.id);
    if (before !== undefined) return before.answered;
    const { promise: answered, resolve: end } = Promise.withResolvers<undefined>();
    const asked = { ...question, answered, end };
    this.#asked.set(question.id, asked);
    this.#waiting.set(question.namespace, [...(this.#waiting.get(question.namespace) ?? []), asked]);
    this.#startNext();
    return answered;
  }

  #startNext(): void {
    for (const [namespace, [first, ...others]] of [...this.#waiting]) {
      if (this.#runningInAll >= this.#limits.inAll) return;
      if (first === undefined || this.#count(namespace) >= this.#limits.perNamespace) continue;
      this.#waiting.delete(namespace);
      if (others.length > 0) this.#waiting.set(namespace, others);
      void this.#run(first);
    }
  }

  async #run({ namespace, id, ask, end }: Asked): Promise<void> {
    this.#add(namespace, 1);
    await ask();
    this.#add(namespace, -1);
    this.#asked.delete(id);
    end(undefined);
    this.#startNext();
  }

  #count(namespace: string): number {
    return this.#running.get(namespace) ?? 0;
  }

  #add(namespace: string, change: number): void {
    const count = this.#count(namespace) + change;
    this.#runningInAll += change;
    if (count === 0) this.#running.delete(namespace);
    else this.#running.set(namespace, count);
  }
}

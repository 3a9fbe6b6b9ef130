// Objects with one state, and a bus that fails on the way, for the tests of this library.
import type { Bus, Ledger, OutgoingEvent } from '@sandlot/bus';
import type { Change, ChangeHandler, KubeObject } from '@sandlot/kube';
import type { FactSource } from '../src/fact.ts';
import type { OutboxMetrics } from '../src/metrics.ts';
import type { Shown } from '../src/outbox.ts';

/** An object whose state is a number; 0 has no fact. */
export interface Toy extends KubeObject {
  readonly state: number;
}

const aboutToy = (uid: string) => ({ namespace: 'team-a', name: uid, uid });

export const toyTelling: FactSource<Toy> = {
  listFacts: ({ metadata: { uid = '' }, state }) =>
    state === 0 ? [] : [{ type: 'sandbox.ready', marker: String(state), timeMs: 0, data: () => aboutToy(uid) }],
  describe: ({ metadata: { name = '' } }) => ({ name }),
  findEnd: ({ uid }) => ({
    type: 'sandbox.deleted',
    marker: 'deleted',
    timeMs: 0,
    data: () => ({ ...aboutToy(uid), cause: 'user' }),
  }),
};

/** An informer whose objects a test sets. */
export class Shelf implements Shown<Toy> {
  readonly #toys = new Map<string, Toy>();
  readonly #handlers = new Set<ChangeHandler<Toy>>();
  readonly store = { values: () => this.#toys.values() };
  /** Namespaces whose toys it may not list. */
  forbidden: readonly string[] = [];

  listForbidden(): readonly string[] {
    return this.forbidden;
  }

  get(uid: string): Toy {
    const toy = this.#toys.get(uid);
    if (toy === undefined) throw new Error(`no toy ${uid}`);
    return toy;
  }

  set(uid: string, state: number, annotations?: Record<string, string>): void {
    const about = { uid, name: uid, namespace: 'team-a' };
    const next: Toy = { metadata: annotations === undefined ? about : { ...about, annotations }, state };
    const old = this.#toys.get(uid);
    this.#toys.set(uid, next);
    this.#tell({ key: uid, old, next, initial: false });
  }

  delete(uid: string): void {
    const old = this.#toys.get(uid);
    if (old === undefined) return;
    this.#toys.delete(uid);
    this.#tell({ key: uid, old, next: undefined, initial: false });
  }

  /** Drops all handlers, as a crash of their process does. */
  abandon(): void {
    this.#handlers.clear();
  }

  onChange(handler: ChangeHandler<Toy>): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  #tell(change: Change<Toy>): void {
    for (const handler of this.#handlers) handler(change);
  }
}

export type Port = Pick<Bus, 'send' | 'isConnected' | 'ensureStreams' | 'openLedger' | 'readDeadLetters'>;

/** An in-process NATS that keeps everything until it is wiped. */
export class MemoryServer {
  readonly ids: string[] = [];
  readonly #texts = new Map<string, string>();
  #era = 0;
  isUp = true;
  /** The server is reachable but refuses every message. */
  isFull = false;
  /** The number of refused messages. */
  refused = 0;

  wipe(): void {
    this.#era += 1;
    this.ids.length = 0;
    this.#texts.clear();
  }

  port(): Port {
    const ledger: Ledger = {
      readIdentity: async () => this.#answer({ stream: `s${this.#era}`, bucket: `b${this.#era}` }),
      read: async () => this.#answer(new Map(this.#texts)),
      write: async (key, text) => void this.#take(this.#texts).set(key, text),
      remove: async (key) => void this.#answer(this.#texts).delete(key),
    };
    return {
      send: async (event: OutgoingEvent) => void this.#take(this.ids).push(event.id),
      isConnected: () => this.isUp,
      ensureStreams: async () => undefined,
      readDeadLetters: async () => undefined,
      openLedger: () => ledger,
    };
  }

  #take<R>(value: R): R {
    if (!this.isFull) return this.#answer(value);
    this.refused += 1;
    throw new Error('full');
  }

  #answer<R>(value: R): R {
    if (!this.isUp) throw new Error('away');
    return value;
  }
}

/** The bus of a process that dies after `lastStep` calls: the last one may arrive, but its answer does not. */
export function mortal(bus: Port, lastStep: number): Port {
  let steps = 0;
  const never = (): Promise<never> => Promise.reject(new Error('this process is dead'));
  const step = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      steps += 1;
      if (steps > lastStep + 1) return never();
      const answer = await call(...args);
      return steps > lastStep ? never() : answer;
    };
  };
  const findLedger = (name: string): Ledger | undefined => {
    const ledger = bus.openLedger(name);
    if (ledger === undefined) return undefined;
    return {
      readIdentity: step(() => ledger.readIdentity()),
      read: step(() => ledger.read()),
      write: step((key: string, text: string) => ledger.write(key, text)),
      remove: step((key: string) => ledger.remove(key)),
    };
  };
  return {
    send: step((...args: Parameters<Port['send']>) => bus.send(...args)),
    isConnected: () => bus.isConnected(),
    ensureStreams: () => bus.ensureStreams(),
    readDeadLetters: () => bus.readDeadLetters(),
    openLedger: findLedger,
  };
}

const ignore = (): void => undefined;

export const noOutboxMetrics: OutboxMetrics = {
  watch: ignore,
  countPublished: ignore,
  countFailure: ignore,
  countCollapsed: ignore,
  setDeadLetters: ignore,
};

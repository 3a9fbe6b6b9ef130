import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScriptedInformer } from '../../test/scripted-informer.ts';
import { KubeError } from '../errors.ts';
import type { KubeObject } from '../objects/object.ts';
import { createOwnWrites } from './own-writes.ts';
import type { OwnWrites, OwnWritesOptions } from './own-writes.ts';

const KEEP_MS = 5_000;
const NAMES = ['a', 'b'] as const;

type Name = (typeof NAMES)[number];
type CallKind = 'patch' | 'create' | 'read' | 'delete';

/** One state of a name: the object in a version, or undefined. */
type State = KubeObject | undefined;

interface Call {
  readonly kind: CallKind;
  /** Ends the call. */
  readonly reply: PromiseWithResolvers<State>;
  readonly done: Promise<unknown>;
  /** How many answers had come when it began. */
  readonly began: number;
  /** Incarnations that were found or shown when it began. */
  readonly known: readonly (string | undefined)[];
  /** Once the server has carried it out: the state it led to, or read. */
  served?: number | 'AlreadyExists';
}

interface Answer {
  readonly state: number;
  /** Its call began after this many answers, and its own was the `at`th. */
  readonly began: number;
  readonly at: number;
}

/** What the server did to one name, what the informer has shown of it, and what this process knows of it. */
class History {
  readonly key: string;
  /** All states in their order. Versions and uids are no numbers, so that nothing can be gained by comparing them. */
  readonly states: State[] = [undefined];
  readonly calls: Call[] = [];
  readonly answers: Answer[] = [];
  readonly gone = new Set<string>();
  /** Index of the state that the informer shows. */
  shown = 0;
  #answered = 0;
  #incarnations = 0;
  readonly #name: Name;
  readonly #own: OwnWrites<KubeObject>;
  readonly #informer: ScriptedInformer<KubeObject>;

  constructor(name: Name, informer: ScriptedInformer<KubeObject>, own: OwnWrites<KubeObject>) {
    this.key = `team/${name}`;
    this.#name = name;
    this.#informer = informer;
    this.#own = own;
  }

  get last(): number {
    return this.states.length - 1;
  }

  isGone(state: number): boolean {
    return this.gone.has(this.states[state]?.metadata.uid ?? '');
  }

  /** Index of a state; the last one without the object, if that is what is found. */
  indexOf(object: State): number {
    return this.states.findLastIndex((state) => state?.metadata.resourceVersion === object?.metadata.resourceVersion);
  }

  /** Another client changes, creates or deletes the object. */
  change(kind: 'patch' | 'create' | 'delete'): void {
    const present = this.states[this.last];
    if (kind === 'create' ? present !== undefined : present === undefined) return;
    this.states.push(kind === 'delete' ? undefined : this.#next(present));
  }

  begin(kind: CallKind): void {
    const reply = Promise.withResolvers<State>();
    const known = [this.#own.get(this.key), this.#informer.store.get(this.key)].map((object) => object?.metadata.uid);
    const send = (): Promise<State> => reply.promise;
    const done = { patch: this.#write, create: this.#write, read: this.#read, delete: this.#delete }[kind](send);
    this.calls.push({ kind, reply, done: done.catch(() => undefined), began: this.#answered, known });
  }

  serve(call: Call): void {
    if (call.served !== undefined) return;
    const present = this.states[this.last];
    if (call.kind === 'create' && present !== undefined) {
      call.served = 'AlreadyExists';
      return;
    }
    if (call.kind !== 'read') this.change(call.kind);
    call.served = this.last;
  }

  async answer(call: Call): Promise<void> {
    this.serve(call);
    const { served } = call;
    this.calls.splice(this.calls.indexOf(call), 1);
    if (served === 'AlreadyExists' || served === undefined) call.reply.reject(failure('AlreadyExists', this.key));
    else if (call.kind === 'patch' && this.states[served] === undefined) {
      call.reply.reject(failure('NotFound', this.key));
    } else call.reply.resolve(call.kind === 'delete' ? this.states[served - 1] : this.states[served]);
    await call.done;
    if (typeof served === 'number') this.#noteAnswer(call, served);
  }

  /** The watch shows the next state. */
  deliver(): void {
    if (this.shown === this.last) return;
    const old = this.states[this.shown];
    const next = this.states[(this.shown += 1)];
    if (next !== undefined) this.#informer.shows(next);
    else if (old !== undefined) this.#informer.showsEnd(old);
  }

  readonly #write = (send: () => Promise<State>): Promise<unknown> =>
    this.#own.write(this.key, send as () => Promise<KubeObject>);
  readonly #read = (send: () => Promise<State>): Promise<unknown> => this.#own.read(this.key, send);
  readonly #delete = async (send: () => Promise<State>): Promise<void> => {
    const deleted = await send();
    if (deleted !== undefined) this.#own.recordGone(deleted);
  };

  #next(present: State): KubeObject {
    if (present === undefined) this.#incarnations += 1;
    const uid = `uid ${this.#name} ${(this.#incarnations * 7_919) % 10_007}`;
    const resourceVersion = `version ${this.#name} ${(this.states.length * 7_919) % 10_007}`;
    return { metadata: { namespace: 'team', name: this.#name, uid, resourceVersion } };
  }

  #noteAnswer({ kind, began, known }: Call, served: number): void {
    const at = (this.#answered += 1);
    const state = this.states[served];
    if (state !== undefined) {
      // A read may be overtaken by what was answered while it ran.
      if (kind !== 'read' || at === began + 1) this.answers.push({ state: served, began, at });
      return;
    }
    // A deletion, or nothing where something was: what was known before the call never comes back.
    const before = kind === 'delete' ? [this.states[served - 1]?.metadata.uid] : known;
    for (const uid of before) if (uid !== undefined) this.gone.add(uid);
  }
}

function failure(code: 'AlreadyExists' | 'NotFound', key: string): KubeError {
  return new KubeError({ verb: 'get', resource: 'things', key, code, message: code, status: 404 });
}

type Action =
  | { readonly do: 'change'; readonly name: Name; readonly kind: 'patch' | 'create' | 'delete' }
  | { readonly do: 'begin'; readonly name: Name; readonly kind: CallKind }
  | { readonly do: 'serve' | 'answer'; readonly name: Name; readonly which: number }
  | { readonly do: 'deliver'; readonly name: Name }
  | { readonly do: 'list'; readonly skip: number }
  | { readonly do: 'wait'; readonly ms: number };

const name = fc.constantFrom<Name>('a', 'a', 'a', 'b');
const inOrder: readonly fc.WeightedArbitrary<Action>[] = [
  [3, { do: fc.constant('change'), name, kind: fc.constantFrom('patch', 'patch', 'create', 'delete') }],
  [
    5,
    {
      do: fc.constant('begin'),
      name,
      kind: fc.constantFrom('patch', 'patch', 'create', 'create', 'read', 'read', 'delete'),
    },
  ],
  [3, { do: fc.constant('serve'), name, which: fc.nat(3) }],
  [5, { do: fc.constant('answer'), name, which: fc.nat(3) }],
  [5, { do: fc.constant('deliver'), name }],
].map(([weight, record]) => ({
  weight: weight as number,
  arbitrary: fc.record(record as never) as fc.Arbitrary<Action>,
}));
const disturbances: readonly fc.WeightedArbitrary<Action>[] = [
  { weight: 2, arbitrary: fc.record({ do: fc.constant('list' as const), skip: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(KEEP_MS) }) },
];

const long = { minLength: 1, maxLength: 60, size: 'max' } as const;
const orderly = fc.array(fc.oneof(...inOrder), long);
const disturbed = fc.array(fc.oneof(...inOrder, ...disturbances), long);

/** A server, an informer that follows it, and a process with its calls. */
class Cluster {
  readonly clock = new FakeClock();
  readonly informer = new ScriptedInformer<KubeObject>({ all: () => [''] });
  readonly doubted = new Set<string>();
  readonly own: OwnWrites<KubeObject>;
  readonly histories: readonly History[];

  constructor(options: Partial<OwnWritesOptions<KubeObject>> = {}) {
    const { informer, clock } = this;
    this.own = createOwnWrites({ informer, clock, keepMs: KEEP_MS, ...options });
    this.histories = NAMES.map((one) => new History(one, informer, this.own));
  }

  async run(action: Action): Promise<void> {
    if (action.do === 'list') this.#list(action.skip);
    else if (action.do === 'wait') await this.clock.advance(action.ms);
    else await this.#runOn(this.histories[NAMES.indexOf(action.name)]!, action);
  }

  /** All calls are answered and the watch has shown everything. */
  async settle(): Promise<void> {
    for (const history of this.histories) {
      for (const call of [...history.calls]) await history.answer(call);
      while (history.shown < history.last) history.deliver();
    }
  }

  async #runOn(history: History, action: Exclude<Action, { do: 'list' | 'wait' }>): Promise<void> {
    if (action.do === 'change') history.change(action.kind);
    else if (action.do === 'begin') history.begin(action.kind);
    else if (action.do === 'deliver') history.deliver();
    else {
      const call = history.calls[action.which % history.calls.length];
      if (call === undefined) return;
      if (action.do === 'serve') history.serve(call);
      else await history.answer(call);
    }
  }

  /** A list shows a later state of each name and none of those in between. */
  #list(skip: number): void {
    for (const history of this.histories) history.shown = Math.min(history.shown + skip, history.last);
    this.informer.lists(...this.histories.flatMap(({ states, shown }) => states[shown] ?? []));
  }
}

const runs = { numRuns: 200 };

describe('while the watch shows every version', () => {
  it('finds nothing older than an answer, unless that is gone or two writes ran at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(orderly, async (actions) => {
        const cluster = new Cluster();
        for (const action of actions) {
          await cluster.run(action);
          for (const history of cluster.histories) {
            const found = history.indexOf(cluster.own.get(history.key));
            // Which of two answers is the later one is open until the watch shows one of them.
            const own = found > history.shown ? history.answers.filter(({ state }) => state === found) : [];
            const isRival = (other: Answer): boolean =>
              own.some(({ began, at }) => at > other.began && other.at > began);
            const lost = history.answers.filter(
              (answer) => answer.state > found && !isRival(answer) && !history.isGone(answer.state),
            );
            expect(lost).toEqual([]);
          }
        }
      }),
      runs,
    );
  });

  it('finds nothing older than what the informer shows, and nothing that is gone', async () => {
    await fc.assert(
      fc.asyncProperty(orderly, async (actions) => {
        const cluster = new Cluster();
        for (const action of actions) {
          await cluster.run(action);
          for (const history of cluster.histories) {
            const found = cluster.own.get(history.key);
            expect(history.indexOf(found)).toBeGreaterThanOrEqual(history.shown);
            expect(history.gone.has(found?.metadata.uid ?? '')).toBe(false);
          }
        }
      }),
      runs,
    );
  });

  it('finds the same objects by index as by key', async () => {
    await fc.assert(
      fc.asyncProperty(orderly, async (actions) => {
        const cluster = new Cluster();
        for (const action of actions) await cluster.run(action);
        const found = cluster.histories.flatMap(({ key }) => cluster.own.get(key) ?? []);
        expect(new Set(cluster.own.listByIndex('all', ''))).toEqual(new Set(found));
      }),
      runs,
    );
  });

  it('finds what the informer has as soon as that has shown everything', async () => {
    await fc.assert(
      fc.asyncProperty(orderly, async (actions) => {
        const cluster = new Cluster();
        for (const action of actions) await cluster.run(action);
        await cluster.settle();
        for (const { key } of cluster.histories) expect(cluster.own.get(key)).toBe(cluster.informer.store.get(key));
      }),
      runs,
    );
  });
});

describe('when lists skip versions and time passes', () => {
  it('hides nothing that is newer, if doubt makes it believe the informer', async () => {
    await fc.assert(
      fc.asyncProperty(disturbed, fc.constantFrom(1, 100), async (actions, maxKept) => {
        const cluster = new Cluster({ maxKept });
        for (const action of actions) {
          await cluster.run(action);
          for (const history of cluster.histories) {
            const found = history.indexOf(cluster.own.get(history.key));
            expect(found).toBeGreaterThanOrEqual(history.shown);
          }
        }
      }),
      runs,
    );
  });

  it('says so before it hides something that may be newer', async () => {
    await fc.assert(
      fc.asyncProperty(disturbed, async (actions) => {
        const doubted = new Set<string>();
        const cluster = new Cluster({ onDoubt: (key) => doubted.add(key) });
        for (const action of actions) {
          await cluster.run(action);
          for (const history of cluster.histories) {
            const isBehind = history.indexOf(cluster.own.get(history.key)) < history.shown;
            expect(isBehind && !doubted.has(history.key)).toBe(false);
          }
        }
      }),
      runs,
    );
  });

  it('finds the present state when it reads again where it doubts', async () => {
    await fc.assert(
      fc.asyncProperty(disturbed, async (actions) => {
        const doubted = new Set<string>();
        const cluster = new Cluster({ onDoubt: (key) => doubted.add(key) });
        for (const action of actions) await cluster.run(action);
        await cluster.settle();
        for (const history of cluster.histories) {
          const present = history.states[history.last];
          if (doubted.has(history.key)) await cluster.own.read(history.key, () => Promise.resolve(present));
          expect(cluster.own.get(history.key)).toBe(present);
        }
      }),
      runs,
    );
  });

  it('remembers nothing longer than it is to', async () => {
    await fc.assert(
      fc.asyncProperty(disturbed, async (actions) => {
        const cluster = new Cluster({ onDoubt: () => undefined });
        for (const action of actions) await cluster.run(action);
        for (const { calls } of cluster.histories) calls.length = 0;
        await cluster.clock.advance(2 * KEEP_MS);
        expect(cluster.clock.nextTimerMs()).toBeUndefined();
        for (const { key } of cluster.histories) expect(cluster.own.get(key)).toBe(cluster.informer.store.get(key));
      }),
      runs,
    );
  });
});

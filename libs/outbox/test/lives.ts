// Objects that come, change and go at random, for tests of outages.
import type { Random } from '@sandlot/std';
import type { FactSource } from '../src/fact.ts';
import { toyTelling } from './index.ts';
import type { Shelf, Toy } from './index.ts';

/** A toy has a fact for its creation, for each state and for its end. */
export const lifeTelling: FactSource<Toy> = {
  ...toyTelling,
  listFacts: (toy) => {
    const { uid = '', name = '', namespace = '' } = toy.metadata;
    const data = () => ({ namespace, name, uid });
    return [{ type: 'sandbox.created', marker: 'created', timeMs: 0, data }, ...toyTelling.listFacts(toy)];
  },
};

export const created = (uid: string): string => `${uid}/sandbox.created/created`;
export const ready = (uid: string, state: number): string => `${uid}/sandbox.ready/${state}`;
export const deleted = (uid: string): string => `${uid}/sandbox.deleted/deleted`;

/** Ids of events by UID, in order. */
export function byUid(ids: Iterable<string>): Map<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const id of ids) {
    const uid = id.slice(0, id.indexOf('/'));
    lists.set(uid, [...(lists.get(uid) ?? []), id]);
  }
  return lists;
}

/** Random lives of toys; the same random numbers give the same lives. */
export class Lives {
  readonly #shelf: Shelf;
  readonly #random: Random;
  /** State of each existing toy. */
  readonly #live = new Map<string, number>();
  #serial = 0;
  /** Ids of all events, in order. */
  readonly happened: string[] = [];

  constructor(shelf: Shelf, random: Random) {
    this.#shelf = shelf;
    this.#random = random;
  }

  /** The facts that hold now, which a relay without records publishes. */
  get holds(): string[] {
    return [...this.#live].flatMap(([uid, state]) => [created(uid), ...(state === 0 ? [] : [ready(uid, state)])]);
  }

  /** One change: mostly of a state, sometimes a creation or an end. Every state is new. */
  change(): void {
    const dice = this.#random();
    const uid = [...this.#live.keys()][Math.floor(this.#random() * this.#live.size)];
    if (uid === undefined || dice < 0.25) this.#begin();
    else if (dice < 0.45) this.#end(uid);
    else this.#turn(uid);
  }

  #begin(): void {
    const uid = `toy-${(this.#serial += 1)}`;
    this.#live.set(uid, 0);
    this.#shelf.set(uid, 0);
    this.happened.push(created(uid));
  }

  #turn(uid: string): void {
    const state = (this.#serial += 1);
    this.#live.set(uid, state);
    this.#shelf.set(uid, state);
    this.happened.push(ready(uid, state));
  }

  #end(uid: string): void {
    this.#live.delete(uid);
    this.#shelf.delete(uid);
    this.happened.push(deleted(uid));
  }
}

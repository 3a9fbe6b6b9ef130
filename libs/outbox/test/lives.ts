// Objects that come, change and go by chance while time passes: for the tests of what an outage leaves behind.
import type { Random } from '@sandlot/std';
import type { Telling } from '../src/fact.ts';
import { toyTelling } from './index.ts';
import type { Shelf, Toy } from './index.ts';

/** A toy is told when it is there, in each of its states, and when it is gone. */
export const lifeTelling: Telling<Toy> = {
  ...toyTelling,
  factsOf: (toy) => {
    const { uid = '', name = '', namespace = '' } = toy.metadata;
    const data = () => ({ namespace, name, uid });
    return [{ type: 'sandbox.created', marker: 'created', timeMs: 0, data }, ...toyTelling.factsOf(toy)];
  },
};

export const created = (uid: string): string => `${uid}/sandbox.created/created`;
export const ready = (uid: string, state: number): string => `${uid}/sandbox.ready/${state}`;
export const deleted = (uid: string): string => `${uid}/sandbox.deleted/deleted`;

/** Ids of events by the UID that they are about, each list in the order of the ids. */
export function byUid(ids: Iterable<string>): Map<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const id of ids) {
    const uid = id.slice(0, id.indexOf('/'));
    lists.set(uid, [...(lists.get(uid) ?? []), id]);
  }
  return lists;
}

/** Lives of toys on a shelf; the same random numbers make the same lives. */
export class Lives {
  readonly #shelf: Shelf;
  readonly #random: Random;
  /** State of each that is there. */
  readonly #live = new Map<string, number>();
  #serial = 0;
  /** Ids of all that happened, in order. */
  readonly happened: string[] = [];

  constructor(shelf: Shelf, random: Random) {
    this.#shelf = shelf;
    this.#random = random;
  }

  /** What a relay that knows nothing would tell: what holds of each that is there. */
  get holds(): string[] {
    return [...this.#live].flatMap(([uid, state]) => [created(uid), ...(state === 0 ? [] : [ready(uid, state)])]);
  }

  /** One change: often of a state, now and then a beginning or an end. Every state is another one. */
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

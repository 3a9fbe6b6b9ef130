import type { Deadline } from './deadline.ts';
import { jobIdOf } from './deadline.ts';

/** Nearer than this, a deadline is a timer and nothing else: Redis would hear of it when it is over. */
export const NEAR_MS = 2_000;

/** A deadline of the objects as they are, and what is known of its job. */
export interface Entry {
  readonly id: string;
  deadline: Deadline;
  /** From when on it is late: its time, or when it was first seen if that was later. Epoch milliseconds. */
  lateFromMs: number;
  /** Redis is believed to have its job, at this time or an earlier one. */
  stored: boolean;
  /** A pass has begun since it was due. */
  met: boolean;
}

/** What Redis has to be told. `move` also repairs a job whose time or state is not known. */
export interface Errands {
  readonly add: readonly Deadline[];
  readonly move: readonly Deadline[];
  readonly remove: readonly string[];
}

/** How deadlines came to be known. */
export interface Sight {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** They changed just now; otherwise one that has passed is late since then. */
  readonly isNews: boolean;
}

/**
 * The deadlines of all objects, by object and by job id, and the errands that bring Redis in line with them. A deadline that
 * moves to a later time costs no errand: its job fires early, and is set again then.
 */
export class DeadlineBook {
  readonly #byKey = new Map<string, readonly Entry[]>();
  readonly #byId = new Map<string, Entry>();
  readonly #errands = new Map<string, keyof Errands>();

  get hasErrands(): boolean {
    return this.#errands.size > 0;
  }

  /** The deadlines of an object as they are now; none when it is gone. */
  set(key: string, deadlines: readonly Deadline[], sight: Sight): void {
    const before = this.#byKey.get(key);
    if (before === undefined && deadlines.length === 0) return;
    const after = deadlines.map((deadline) => this.#entry(before, deadline, sight));
    for (const entry of before ?? []) if (!after.includes(entry)) this.#drop(entry);
    for (const entry of after) this.#byId.set(entry.id, entry);
    if (after.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, after);
  }

  find(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  entries(): Iterable<Entry> {
    return this.#byId.values();
  }

  /** Deadlines of the object that are due, each of them once. */
  meet(key: string, nowMs: number): readonly Entry[] {
    const entries = this.#byKey.get(key);
    if (entries === undefined) return [];
    const due = entries.filter(({ met, deadline }) => !met && deadline.dueAtMs <= nowMs);
    for (const entry of due) entry.met = true;
    return due;
  }

  /** The job of this deadline is gone: it is wanted again when its time is still to come. */
  fired(entry: Entry, nowMs: number): void {
    entry.stored = false;
    this.want(entry, nowMs, 'add');
  }

  /** Redis has to hear of this deadline, if it is far enough. */
  want(entry: Entry, nowMs: number, errand: 'add' | 'move'): void {
    if (entry.deadline.dueAtMs - nowMs >= NEAR_MS) this.#errands.set(entry.id, errand);
  }

  /** What is to be done, which the caller now does. */
  takeErrands(): Errands {
    const of = (wanted: keyof Errands): string[] =>
      [...this.#errands].filter(([, errand]) => errand === wanted).map(([id]) => id);
    const deadlines = (ids: readonly string[]): Deadline[] => ids.flatMap((id) => this.#byId.get(id)?.deadline ?? []);
    const errands = { add: deadlines(of('add')), move: deadlines(of('move')), remove: of('remove') };
    this.#errands.clear();
    return errands;
  }

  /** Redis has these jobs now. One whose deadline went meanwhile is to be removed. */
  stored(deadlines: readonly Deadline[]): void {
    for (const deadline of deadlines) {
      const id = jobIdOf(deadline);
      const entry = this.#byId.get(id);
      if (entry === undefined) this.#errands.set(id, 'remove');
      else entry.stored = true;
    }
  }

  clear(): void {
    this.#byKey.clear();
    this.#byId.clear();
    this.#errands.clear();
  }

  #entry(before: readonly Entry[] | undefined, deadline: Deadline, { nowMs, isNews }: Sight): Entry {
    const known = before?.find((entry) => isSame(entry.deadline, deadline));
    const lateFromMs = isNews ? Math.max(deadline.dueAtMs, nowMs) : deadline.dueAtMs;
    if (known === undefined) {
      const entry = { id: jobIdOf(deadline), deadline, lateFromMs, stored: false, met: false };
      // A removal that is still to come means that a job of this id exists, of whatever time.
      this.want(entry, nowMs, this.#errands.has(entry.id) ? 'move' : 'add');
      return entry;
    }
    const movesByMs = deadline.dueAtMs - known.deadline.dueAtMs;
    if (movesByMs === 0) return known;
    known.deadline = deadline;
    known.lateFromMs = lateFromMs;
    known.met = false;
    if (!known.stored) this.want(known, nowMs, 'add');
    else if (movesByMs < 0) this.want(known, nowMs, 'move');
    return known;
  }

  #drop({ id, stored }: Entry): void {
    this.#byId.delete(id);
    // A job that was to be moved exists, known or not.
    if (stored || this.#errands.get(id) === 'move') this.#errands.set(id, 'remove');
    else this.#errands.delete(id);
  }
}

function isSame(a: Deadline, b: Deadline): boolean {
  return a.purpose === b.purpose && a.uid === b.uid && a.generation === b.generation;
}

import type { Deadline } from './deadline.ts';
import { formatJobId } from './deadline.ts';

/** A nearer deadline is a timer only: the job would reach Redis too late. */
export const NEAR_MS = 2_000;

/** A current deadline and the state of its job. */
export interface Entry {
  readonly id: string;
  deadline: Deadline;
  /** Lateness counts from here: the due time, or the time when it was first seen if that is later. Epoch milliseconds. */
  lateFromMs: number;
  /** Redis should have its job, at this time or an earlier one. */
  stored: boolean;
  /** A pass has begun since it was due. */
  met: boolean;
}

/** The commands for Redis. `move` also repairs a job whose time or state is unknown. */
export interface Errands {
  readonly add: readonly Deadline[];
  readonly move: readonly Deadline[];
  readonly remove: readonly string[];
}

/** When and why deadlines were read. */
export interface Sight {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** They changed just now. Otherwise a deadline that has passed is late since its due time. */
  readonly isNews: boolean;
}

/**
 * The deadlines of all objects, by object and by job id, and the errands that bring Redis in line with them. A deadline that
 * moves to a later time costs no errand: its job fires early and is then added again.
 */
export class DeadlineBook {
  readonly #byKey = new Map<string, readonly Entry[]>();
  readonly #byId = new Map<string, Entry>();
  readonly #errands = new Map<string, keyof Errands>();

  get hasErrands(): boolean {
    return this.#errands.size > 0;
  }

  /** Sets the current deadlines of an object; none when it is gone. */
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

  /** Returns the due deadlines of the object, each once. */
  takeDue(key: string, nowMs: number): readonly Entry[] {
    const entries = this.#byKey.get(key);
    if (entries === undefined) return [];
    const due = entries.filter(({ met, deadline }) => !met && deadline.dueAtMs <= nowMs);
    for (const entry of due) entry.met = true;
    return due;
  }

  /** Records that the job has fired and is gone. A deadline that is still to come needs it again. */
  recordFired(entry: Entry, nowMs: number): void {
    entry.stored = false;
    this.request(entry, nowMs, 'add');
  }

  /** Adds an errand for this deadline, unless it is near. */
  request(entry: Entry, nowMs: number, errand: 'add' | 'move'): void {
    if (entry.deadline.dueAtMs - nowMs >= NEAR_MS) this.#errands.set(entry.id, errand);
  }

  /** Returns the errands, which the caller now runs, and forgets them. */
  takeErrands(): Errands {
    const of = (wanted: keyof Errands): string[] =>
      [...this.#errands].filter(([, errand]) => errand === wanted).map(([id]) => id);
    const deadlines = (ids: readonly string[]): Deadline[] => ids.flatMap((id) => this.#byId.get(id)?.deadline ?? []);
    const errands = { add: deadlines(of('add')), move: deadlines(of('move')), remove: of('remove') };
    this.#errands.clear();
    return errands;
  }

  /** Records that Redis has these jobs. A job whose deadline is gone meanwhile is to be removed. */
  recordStored(deadlines: readonly Deadline[]): void {
    for (const deadline of deadlines) {
      const id = formatJobId(deadline);
      const entry = this.#byId.get(id);
      if (entry === undefined) this.#errands.set(id, 'remove');
      else entry.stored = true;
      // The deadline moved while Redis stored the job. Adding it again would keep the time of the job.
      if (this.#errands.get(id) === 'add') this.#errands.set(id, 'move');
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
      const entry = { id: formatJobId(deadline), deadline, lateFromMs, stored: false, met: false };
      this.request(entry, nowMs, this.#getStoringErrand(entry.id));
      return entry;
    }
    const movesByMs = deadline.dueAtMs - known.deadline.dueAtMs;
    if (movesByMs === 0) return known;
    known.deadline = deadline;
    known.lateFromMs = lateFromMs;
    known.met = false;
    if (!known.stored) this.request(known, nowMs, this.#getStoringErrand(known.id));
    else if (movesByMs < 0) this.request(known, nowMs, 'move');
    return known;
  }

  /** A pending move or removal means that a job with this id may exist, at some time. */
  #getStoringErrand(id: string): 'add' | 'move' {
    const pending = this.#errands.get(id);
    return pending === undefined || pending === 'add' ? 'add' : 'move';
  }

  #drop({ id, stored }: Entry): void {
    this.#byId.delete(id);
    // A pending move means that the job may exist.
    if (stored || this.#errands.get(id) === 'move') this.#errands.set(id, 'remove');
    else this.#errands.delete(id);
  }
}

function isSame(a: Deadline, b: Deadline): boolean {
  return a.purpose === b.purpose && a.uid === b.uid && a.generation === b.generation;
}

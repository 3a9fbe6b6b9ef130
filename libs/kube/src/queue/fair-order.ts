import type { QueueOrder } from './order.ts';

/** Keys of one group in order of arrival. */
type Line = Set<string>;

/** Lines of one priority by group. The first group is next, and moves to the end after its turn. */
type Ring = Map<string, Line>;

interface Place {
  readonly priority: number;
  readonly group: string;
}

/**
 * Serves higher priorities first. Within a priority, groups take turns with one key each, so that a group with a thousand
 * keys delays another group by only one key. Keys of a group keep their order of arrival; a raised key goes to the end.
 */
export class FairOrder implements QueueOrder {
  readonly #groupOf: (key: string) => string;
  readonly #rings = new Map<number, Ring>();
  readonly #places = new Map<string, Place>();

  /** `groupOf` returns the group of a key, such as its namespace. */
  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf;
  }

  get size(): number {
    return this.#places.size;
  }

  push(key: string, priority: number): void {
    const group = this.#groupOf(key);
    const ring: Ring = this.#rings.get(priority) ?? new Map<string, Line>();
    const line: Line = ring.get(group) ?? new Set<string>();
    this.#rings.set(priority, ring.set(group, line.add(key)));
    this.#places.set(key, { priority, group });
  }

  raise(key: string, priority: number): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    const ring = this.#rings.get(place.priority);
    const line = ring?.get(place.group);
    line?.delete(key);
    if (line?.size === 0) ring?.delete(place.group);
    this.#dropIfEmpty(place.priority);
    this.push(key, priority);
  }

  pop(): string | undefined {
    if (this.#rings.size === 0) return undefined;
    const priority = Math.max(...this.#rings.keys());
    const ring = this.#rings.get(priority);
    const [turn] = ring ?? [];
    if (ring === undefined || turn === undefined) return undefined;
    const [group, line] = turn;
    const [key = ''] = line;
    line.delete(key);
    ring.delete(group);
    if (line.size > 0) ring.set(group, line);
    this.#dropIfEmpty(priority);
    this.#places.delete(key);
    return key;
  }

  #dropIfEmpty(priority: number): void {
    if (this.#rings.get(priority)?.size === 0) this.#rings.delete(priority);
  }
}

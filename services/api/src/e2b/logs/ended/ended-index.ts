/** A sandbox that has ended. */
export interface Ended {
  /** Name of its Pod, which is that of its Sandbox. */
  readonly pod: string;
  /** UID of the Sandbox; undefined: only its event says it, and that was not read. */
  readonly sandboxUid: string | undefined;
  /** When it ended, or was seen to have, epoch milliseconds. */
  readonly atMs: number;
}

/** Sandboxes of one namespace, and of all, that are remembered: some hundred bytes each. The oldest make room. */
const MAX_OF_NAMESPACE = 50_000;
const MAX_IN_ALL = 200_000;

/** Ended sandboxes by namespace and id, as many as there is room for. */
export class EndedIndex {
  /** Called when a namespace is forgotten as a whole, because others need the room and clients have not asked about it for the longest time. */
  onEvicted: (namespace: string) => void = () => undefined;
  readonly #limits: { readonly ofNamespace: number; readonly inAll: number };
  /** By namespace, the one that was used last at the end; in it by id, the oldest first. */
  readonly #namespaces = new Map<string, Map<string, Ended>>();
  #count = 0;

  constructor(limits = { ofNamespace: MAX_OF_NAMESPACE, inAll: MAX_IN_ALL }) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  find(namespace: string, id: string): Ended | undefined {
    return this.#namespaces.get(namespace)?.get(id);
  }

  /** Clients ask about this namespace. */
  touch(namespace: string): void {
    const ids = this.#namespaces.get(namespace) ?? new Map<string, Ended>();
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, ids);
  }

  add(namespace: string, id: string, ended: Ended): void {
    const ids = this.#namespaces.get(namespace) ?? new Map<string, Ended>();
    this.#namespaces.set(namespace, ids);
    this.#count += ids.delete(id) ? 0 : 1;
    ids.set(id, ended);
    const [oldest] = ids.keys();
    if (ids.size > this.#limits.ofNamespace && oldest !== undefined) {
      ids.delete(oldest);
      this.#count -= 1;
    }
    this.#makeRoom(namespace);
  }

  #makeRoom(keep: string): void {
    for (const [namespace, ids] of this.#namespaces) {
      if (this.#count <= this.#limits.inAll) return;
      if (namespace === keep) continue;
      this.#namespaces.delete(namespace);
      this.#count -= ids.size;
      this.onEvicted(namespace);
    }
  }
}

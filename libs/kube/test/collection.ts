import type { KubeClient, ListOptions, ListPage, WatchEvent, WatchOptions } from '../src/client/types.ts';
import { KubeError } from '../src/errors.ts';
import type { KubeErrorCode } from '../src/errors.ts';
import type { KubeObject, Resource } from '../src/objects/object.ts';
import { defineResource } from '../src/objects/object.ts';

export interface Thing extends KubeObject {
  readonly value: number;
}

export const things: Resource<Thing> = defineResource<Thing>({
  group: 'test.example.com',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: true,
});

/** How open watches end. */
export type Break = 'end' | KubeErrorCode;

type Move = Break | 'news' | 'bookmark';

interface Entry {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Thing;
}

/** What one open watch has not delivered yet. */
class Moves {
  readonly #moves: Move[] = [];
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal | undefined) {
    if (signal?.aborted === true) this.push('Aborted');
    signal?.addEventListener('abort', () => this.push('Aborted'), { once: true });
  }

  push(move: Move): void {
    this.#moves.push(move);
    this.#wake?.();
  }

  async next(): Promise<Move> {
    for (;;) {
      const move = this.#moves.shift();
      if (move !== undefined) return move;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** One collection of an API server, scripted: its history, and the faults a server may show to its watchers. */
export class Collection {
  readonly objects = new Map<string, Thing>();
  /** Every call, oldest first: `stream 0`, `stream`, `watch`, `list`. */
  readonly calls: string[] = [];
  /** Errors of the next calls, first to last. */
  readonly failNext: KubeErrorCode[] = [];
  readonly watchTimeouts: number[] = [];
  streaming = true;
  /** Streaming lists never reach their end. */
  stallLists = false;
  /** Sends every event twice. */
  duplicate = false;
  pageSize = 2;
  /** Called while a list is being answered, with the number of pages and streaming lists before it. */
  onList: (number: number) => void = () => undefined;
  #lists = 0;
  retryAfterMs: number | undefined;
  /** Undefined: a change of an object outside the selection. */
  readonly #history: (Entry | undefined)[] = [];
  #compacted = 0;
  readonly #open = new Set<Moves>();
  readonly #namespace: string;

  constructor(namespace = 'ns') {
    this.#namespace = namespace;
  }

  put(name: string, value: number, uid = `uid-${name}`): void {
    const old = this.objects.get(name);
    const metadata = {
      namespace: this.#namespace,
      name,
      uid,
      resourceVersion: this.#version(this.#history.length + 1),
    };
    const object: Thing = Object.freeze({ metadata, value });
    this.objects.set(name, object);
    this.#append({ type: old === undefined ? 'ADDED' : 'MODIFIED', object });
  }

  remove(name: string): void {
    const old = this.objects.get(name);
    if (old === undefined) return;
    this.objects.delete(name);
    const metadata = { ...old.metadata, resourceVersion: this.#version(this.#history.length + 1) };
    this.#append({ type: 'DELETED', object: { ...old, metadata } });
  }

  /** A change that the watches do not show. */
  changeElsewhere(): void {
    this.#history.push(undefined);
  }

  /** Forgets all history: watches that lag get a 410. */
  compact(): void {
    this.#compacted = this.#history.length;
  }

  /** Ends the watches that are open. */
  break(how: Break): void {
    this.#move(how);
  }

  /** Sends a bookmark to the watches that are open. */
  bookmark(): void {
    this.#move('bookmark');
  }

  client(): KubeClient {
    const surface: Pick<KubeClient, 'list' | 'watch'> = {
      list: (_, options) => this.#list(options) as Promise<ListPage<never>>,
      watch: (_, options) => this.#watch(options) as AsyncIterable<WatchEvent<never>>,
    };
    return surface as KubeClient;
  }

  async #list({ continue: token }: ListOptions = {}): Promise<ListPage<Thing>> {
    this.#enter('list');
    this.onList(this.#lists++);
    const [start = 0, at = this.#history.length] = (token ?? '').split('/').filter(Boolean).map(Number);
    if (token !== undefined && at < this.#compacted) throw failure('Gone');
    const all = [...this.#at(at).values()];
    const end = start + this.pageSize;
    const more = end < all.length ? `${end}/${at}` : undefined;
    return { items: all.slice(start, end), resourceVersion: this.#version(at), continue: more };
  }

  async *#watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent<Thing>> {
    const { sendInitialEvents = false, resourceVersion = '', signal, timeoutSeconds = 0 } = options;
    this.#enter(sendInitialEvents ? `stream ${resourceVersion}`.trim() : 'watch');
    this.watchTimeouts.push(timeoutSeconds);
    if (sendInitialEvents) yield* this.#stream(signal);
    else yield* this.#follow(this.#findIndex(resourceVersion), signal);
  }

  async *#stream(signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<Thing>> {
    if (!this.streaming) throw failure('Invalid');
    const start = this.#history.length;
    for (const object of [...this.objects.values()]) yield { type: 'ADDED', object };
    this.onList(this.#lists++);
    const end = this.#history.length;
    for (let at = start; at < end; at++) yield* this.#entry(at);
    if (!this.stallLists) yield mark(this.#version(end));
    yield* this.#follow(end, signal);
  }

  async *#follow(start: number, signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<Thing>> {
    if (start < this.#compacted) throw failure('Gone');
    const moves = new Moves(signal);
    this.#open.add(moves);
    let at = start;
    try {
      for (let move: Move = 'news'; move !== 'end'; move = await moves.next()) {
        for (; at < this.#history.length; at++) yield* this.#entry(at);
        if (move === 'bookmark') yield mark(this.#version(at), {});
        else if (move !== 'news') throw failure(move);
      }
    } finally {
      this.#open.delete(moves);
    }
  }

  *#entry(at: number): Iterable<WatchEvent<Thing>> {
    const entry = this.#history[at];
    if (entry === undefined) return;
    yield entry;
    if (this.duplicate) yield entry;
  }

  #move(move: Move): void {
    for (const moves of this.#open) moves.push(move);
  }

  #append(entry: Entry): void {
    this.#history.push(entry);
    this.#move('news');
  }

  #enter(call: string): void {
    this.calls.push(call);
    const code = this.failNext.shift();
    if (code !== undefined) throw failure(code, this.retryAfterMs);
  }

  #at(length: number): Map<string, Thing> {
    const objects = new Map<string, Thing>();
    for (const entry of this.#history.slice(0, length)) {
      if (entry === undefined) continue;
      const { type, object } = entry;
      if (type === 'DELETED') objects.delete(object.metadata.name ?? '');
      else objects.set(object.metadata.name ?? '', object);
    }
    return objects;
  }

  /** Opaque on purpose: neither numbers nor in any order. */
  #version(at: number): string {
    return `rv-${((at * 7919) % 10_007).toString(36)}`;
  }

  #findIndex(version: string): number {
    for (let at = this.#history.length; at >= 0; at--) if (this.#version(at) === version) return at;
    return -1;
  }
}

/** A client of a server with one collection for each namespace. */
export function joinCollections(collections: Readonly<Record<string, Collection>>): KubeClient {
  const clients = new Map(Object.entries(collections).map(([namespace, one]) => [namespace, one.client()]));
  const find = (namespace = ''): KubeClient => {
    const client = clients.get(namespace);
    if (client === undefined) throw new Error(`there is no namespace "${namespace}"`);
    return client;
  };
  const surface: Pick<KubeClient, 'list' | 'watch'> = {
    list: (resource, options) => find(options?.namespace).list(resource, options),
    watch: (resource, options) => find(options?.namespace).watch(resource, options),
  };
  return surface as KubeClient;
}

function mark(
  resourceVersion: string,
  annotations = { 'k8s.io/initial-events-end': 'true' } as Record<string, string>,
) {
  return { type: 'BOOKMARK' as const, object: { metadata: { resourceVersion, annotations } } };
}

function failure(code: KubeErrorCode, retryAfterMs?: number): KubeError {
  return new KubeError({ verb: 'watch', resource: 'things', key: '', message: 'scripted', code, retryAfterMs });
}

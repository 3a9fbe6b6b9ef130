import type { Clock, Timer } from '@sandlot/std';
import { expired } from '../server/api-error.ts';
import type { ApiObject } from '../storage/api-object.ts';
import { present } from '../storage/definitions.ts';
import type { Definition } from '../storage/served-resource.ts';
import type { Faults } from '../faults/faults.ts';
import type { RequestInfo } from '../server/request.ts';
import type { Selector } from '../storage/selectors.ts';
import type { Change, Storage } from '../storage/storage.ts';

/** The HTTP response of a watch. */
export interface WatchSink {
  write(frame: string): void;
  end(): void;
  reset(): void;
}

/** The part of an open watch that faults use. */
export interface LiveWatch {
  readonly request: RequestInfo;
  flush(): void;
  rewind(events: number): void;
  expire(): void;
  end(): void;
  reset(): void;
}

export interface WatchRequest {
  readonly info: RequestInfo;
  readonly definition: Definition;
  readonly matches: Selector;
  /** Undefined: begin with the existing objects. */
  readonly since: number | undefined;
  /** Streaming list: send the existing objects and mark their end with a bookmark. */
  readonly sendInitialEvents: boolean;
  readonly bookmarks: boolean;
  readonly timeoutMs: number | undefined;
}

interface WatchDeps {
  readonly storage: Storage;
  readonly faults: Faults;
  readonly clock: Clock;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** Annotation of the bookmark that ends the initial events of a streaming list. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
const BOOKMARK_INTERVAL_MS = 60_000;
/** The real server sends a bookmark shortly before it ends a watch, so that the next watch starts at a recent version. */
const LAST_BOOKMARK_LEAD_MS = 2_000;

/** One open watch. The owner of the sink calls `close` when the client has disconnected. */
export class Watch implements LiveWatch {
  readonly #watch: WatchRequest;
  readonly #storage: Storage;
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #sink: WatchSink;
  /** Frames that a stall holds back. */
  #held: string[] = [];
  #closed = false;
  #timers: Timer[] = [];
  #unsubscribe: () => void = () => undefined;
  #unregister: () => void = () => undefined;

  constructor(watch: WatchRequest, { storage, faults, clock }: WatchDeps, sink: WatchSink) {
    this.#watch = watch;
    this.#storage = storage;
    this.#faults = faults;
    this.#clock = clock;
    this.#sink = sink;
  }

  get request(): RequestInfo {
    return this.#watch.info;
  }

  start(): void {
    const { since } = this.#watch;
    this.#unregister = this.#faults.register(this);
    if (since !== undefined && since < this.#storage.oldestRevision) {
      this.#expire(since);
      return;
    }
    const from = since ?? this.#sendPresent();
    for (const change of this.#storage.since(from)) this.#deliver(change);
    this.#unsubscribe = this.#storage.subscribe((change) => this.#deliver(change));
    this.#startTimers();
  }

  flush(): void {
    const held = this.#held;
    this.#held = [];
    for (const frame of held) this.#write(frame);
  }

  rewind(events: number): void {
    const seen = this.#storage
      .since(this.#storage.oldestRevision)
      .filter((change) => this.#buildEvent(change) !== undefined);
    for (const change of seen.slice(-events)) this.#deliver(change);
  }

  expire(): void {
    this.#expire(this.#storage.oldestRevision - 1);
  }

  end(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.end();
  }

  reset(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.reset();
  }

  /** Releases all resources except the response, which belongs to the caller. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#unregister();
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
  }

  /** Sends the existing objects as ADDED and returns their revision. */
  #sendPresent(): number {
    const { definition, matches, info, sendInitialEvents, bookmarks } = this.#watch;
    const stale = this.#faults.staleRevision(info);
    const revision = stale ?? this.#storage.revision;
    const table = this.#storage.snapshot(definition.table, revision) ?? this.#storage.table(definition.table);
    for (const object of table.values()) if (matches(object)) this.#send('ADDED', object);
    if (sendInitialEvents && bookmarks) this.#bookmark(revision, { [INITIAL_EVENTS_END]: 'true' });
    return revision;
  }

  #startTimers(): void {
    const { timeoutMs, bookmarks } = this.#watch;
    if (timeoutMs !== undefined) this.#after(timeoutMs, () => this.end());
    if (!bookmarks) return;
    if (timeoutMs !== undefined) {
      const leadMs = Math.min(LAST_BOOKMARK_LEAD_MS, timeoutMs / 2);
      this.#after(timeoutMs - leadMs, () => this.#bookmark(this.#storage.revision));
    }
    const repeat = (): void => {
      this.#bookmark(this.#storage.revision);
      this.#after(BOOKMARK_INTERVAL_MS, repeat);
    };
    this.#after(BOOKMARK_INTERVAL_MS, repeat);
  }

  #after(delayMs: number, fn: () => void): void {
    if (delayMs > 0 && !this.#closed) this.#timers.push(this.#clock.setTimeout(fn, delayMs));
  }

  #deliver(change: Change): void {
    const event = this.#buildEvent(change);
    if (event === undefined) return;
    const copies = this.#faults.copiesOfNextEvent(this.#watch.info);
    for (let copy = 0; copy < copies; copy += 1) this.#send(event.type, event.object);
  }

  /** Converts a change to an event. An object that stops matching is DELETED, with its last matching state. */
  #buildEvent({ type, table, object, previous, revision }: Change): { type: EventType; object: ApiObject } | undefined {
    const { definition, matches } = this.#watch;
    if (table !== definition.table) return undefined;
    const wasIn = previous !== undefined && matches(previous);
    const isIn = type !== 'DELETED' && matches(object);
    if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', object };
    if (!wasIn) return undefined;
    return {
      type: 'DELETED',
      object: { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } },
    };
  }

  #bookmark(revision: number, annotations?: Record<string, string>): void {
    const metadata = { resourceVersion: String(revision), ...(annotations === undefined ? {} : { annotations }) };
    this.#send('BOOKMARK', { metadata });
  }

  #send(type: EventType, object: ApiObject): void {
    const { definition, info } = this.#watch;
    this.#write(`${JSON.stringify({ type, object: present(definition, info.version, object) })}\n`);
  }

  #expire(since: number): void {
    const error = expired(`too old resource version: ${since} (${this.#storage.oldestRevision})`);
    this.#write(`${JSON.stringify({ type: 'ERROR', object: error.status() })}\n`);
    this.end();
  }

  #write(frame: string): void {
    if (this.#faults.isStalled(this.#watch.info)) this.#held.push(frame);
    else if (!this.#closed) this.#sink.write(frame);
  }
}

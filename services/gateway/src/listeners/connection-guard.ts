import type { Clock } from '@sandlot/std';
import type { LimitName } from '../limits/limit-names.ts';

/** The limits of connections and of the heads of their requests. */
export type ConnectionLimit = LimitName &
  ('connections' | 'connections-by-source' | 'heads' | 'heads-by-source' | 'head-time');

export interface GuardLimits {
  /** Connections of all listeners together; one over TLS counts as {@link TLS_WEIGHT}. */
  readonly connections: number;
  readonly perSource: number;
  /** Connections that have not yet sent a whole head. */
  readonly heads: number;
  readonly headsPerSource: number;
  /** How long the head of a request may take. */
  readonly headMs: number;
}

/** A connection of a client. */
export interface ClientConnection {
  /** Whom it counts for; undefined: a trusted proxy, which has no share. */
  readonly source: string | undefined;
  readonly weight: number;
  /** Bytes that came so far; constant where they do not tell whether a head has begun. */
  readonly countBytes: () => number;
  /** Called at most once, when the guard gives the connection up. */
  readonly close: (limit: ConnectionLimit) => void;
}

/** The guard's view of an open connection. */
export interface Place {
  /** A head is complete. */
  begin(): void;
  /** Its response is over. */
  end(): void;
  /** The connection is closed. */
  leave(): void;
}

/** A connection over TLS takes 72 to 90 KiB, a plain one 14 to 18 (see `npm run bench:gateway`). */
export const TLS_WEIGHT = 5;

/** Line ends between two requests are no head. */
const BLANK_BYTES = 4;

interface Tracked {
  readonly connection: ClientConnection;
  /** Requests that are open. */
  open: number;
  isGone: boolean;
}

interface Source {
  weight: number;
  /** The oldest first. */
  readonly heads: Set<Tracked>;
}

/**
 * Bounds the connections of clients and the memory of heads that do not end. An unfinished head gives way to newer ones: a
 * client that sends its head at once is never in the way, and one that drips it loses its connection first. When all places
 * are taken, the connection that has been idle longest gives way.
 */
export class ConnectionGuard {
  readonly #limits: GuardLimits;
  readonly #clock: Clock;
  readonly #onLimit: (limit: ConnectionLimit) => void;
  #weight = 0;
  readonly #sources = new Map<string, Source>();
  /** Connections without a whole head, and since when; the oldest first. */
  readonly #heads = new Map<Tracked, number>();
  /** Connections between two requests, and how many bytes had come by then; the one that is idle longest first. */
  readonly #idle = new Map<Tracked, number>();

  constructor(limits: GuardLimits, clock: Clock, onLimit: (limit: ConnectionLimit) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onLimit = onLimit;
  }

  /** Number of connections without a whole head. */
  get headCount(): number {
    return this.#heads.size;
  }

  /** Takes a place for a new connection; says which limit leaves none. */
  enter(connection: ClientConnection): Place | ConnectionLimit {
    const limit = this.#findFullLimit(connection);
    if (limit !== undefined) {
      this.#onLimit(limit);
      return limit;
    }
    const tracked: Tracked = { connection, open: 0, isGone: false };
    this.#weight += connection.weight;
    const source = this.#getSource(connection);
    if (source !== undefined) source.weight += connection.weight;
    this.#beginHead(tracked);
    return {
      begin: () => {
        tracked.open += 1;
        this.#endHead(tracked);
        this.#idle.delete(tracked);
      },
      end: () => {
        tracked.open -= 1;
        if (tracked.open === 0 && !tracked.isGone) this.#idle.set(tracked, connection.countBytes());
      },
      leave: () => this.#drop(tracked),
    };
  }

  /** Closes connections whose head takes too long, and looks for heads that have begun on idle ones. */
  sweep(): void {
    const sinceMs = this.#clock.monotonic() - this.#limits.headMs;
    for (const [tracked, beganMs] of this.#heads) {
      if (beganMs > sinceMs) break;
      this.#giveUp(tracked, 'head-time');
    }
    for (const [tracked, bytes] of this.#idle) {
      if (tracked.connection.countBytes() <= bytes + BLANK_BYTES) continue;
      this.#idle.delete(tracked);
      this.#beginHead(tracked);
    }
  }

  #findFullLimit(connection: ClientConnection): ConnectionLimit | undefined {
    const { connections, perSource } = this.#limits;
    const used = connection.source === undefined ? 0 : (this.#sources.get(connection.source)?.weight ?? 0);
    if (used + connection.weight > perSource) return 'connections-by-source';
    while (this.#weight + connection.weight > connections) {
      const [longest] = this.#idle.keys();
      if (longest === undefined) return 'connections';
      this.#giveUp(longest, 'connections');
    }
    return undefined;
  }

  #getSource({ source }: ClientConnection): Source | undefined {
    if (source === undefined) return undefined;
    const known = this.#sources.get(source) ?? { weight: 0, heads: new Set() };
    this.#sources.set(source, known);
    return known;
  }

  #beginHead(tracked: Tracked): void {
    const { heads, headsPerSource } = this.#limits;
    const source = this.#getSource(tracked.connection);
    this.#heads.set(tracked, this.#clock.monotonic());
    source?.heads.add(tracked);
    if (source !== undefined && source.heads.size > headsPerSource) this.#giveUpOldest(source.heads, 'heads-by-source');
    if (this.#heads.size > heads) this.#giveUpOldest(this.#heads.keys(), 'heads');
  }

  #giveUpOldest(tracked: Iterable<Tracked>, limit: ConnectionLimit): void {
    const [oldest] = tracked;
    if (oldest !== undefined) this.#giveUp(oldest, limit);
  }

  #giveUp(tracked: Tracked, limit: ConnectionLimit): void {
    this.#drop(tracked);
    this.#onLimit(limit);
    tracked.connection.close(limit);
  }

  #endHead(tracked: Tracked): void {
    this.#heads.delete(tracked);
    const { source } = tracked.connection;
    if (source !== undefined) this.#sources.get(source)?.heads.delete(tracked);
  }

  #drop(tracked: Tracked): void {
    if (tracked.isGone) return;
    tracked.isGone = true;
    this.#endHead(tracked);
    this.#idle.delete(tracked);
    const { source: name, weight } = tracked.connection;
    this.#weight -= weight;
    const source = name === undefined ? undefined : this.#sources.get(name);
    if (name === undefined || source === undefined) return;
    source.weight -= weight;
    if (source.weight === 0) this.#sources.delete(name);
  }
}

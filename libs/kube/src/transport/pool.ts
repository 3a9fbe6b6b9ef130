import type { Clock } from '@sandlot/std';
import type { Credentials } from '../credentials/credentials.ts';
import type { KubeMetrics } from '../metrics.ts';
import { NotProcessed } from './connection.ts';
import type { Connection, Lane, WireRequest, WireResponse } from './connection.ts';
import { CallEnded } from './deadline.ts';
import { dial } from './dial.ts';

/**
 * Load of the least busy session at which the next one is opened, by number of sessions open. Calls are spread over two
 * sessions at once and over four under load; after these, and for bulk traffic always, a session is filled first.
 */
const OPEN_NEXT_AT: Readonly<Record<Lane, readonly number[]>> = { call: [0, 1, 16, 16], bulk: [0] };

/** Beyond this, requests wait inside their session for a free stream. */
const MAX_SESSIONS = 32;

/** Streams that a session takes before the server has sent its limit. */
const ASSUMED_CAPACITY = 90;

interface Slot {
  readonly connecting: Promise<Connection>;
  connection: Connection | undefined;
  /** Requests given to this slot, those still waiting for the connection included. */
  load: number;
}

export interface PoolOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly metrics: KubeMetrics;
}

/** Connections by lane. A connection leaves the pool when it breaks or gets a GOAWAY; the next request opens another. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #lanes: Readonly<Record<Lane, Set<Slot>>> = { call: new Set(), bulk: new Set() };
  /** Out of the lanes, but perhaps still finishing requests. */
  readonly #draining = new Set<Slot>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    options.metrics.watchTransport(() => ({
      sessions: this.#count(() => 1),
      streams: this.#count((slot) => slot.load),
    }));
  }

  /** Sends on the least busy connection of the lane. Errors as {@link Connection.send}. */
  async send(lane: Lane, request: WireRequest): Promise<WireResponse> {
    if (this.#closed) throw new NotProcessed('client is closed', { cause: CLOSED });
    const slot = this.#pick(lane);
    slot.load += 1;
    const release = (): void => {
      slot.load -= 1;
      if (slot.load === 0) this.#draining.delete(slot);
    };
    try {
      const connection = slot.connection ?? (await unlessAborted(slot.connecting, request.signal));
      const response = await connection.send(request);
      response.body.once('close', release);
      return response;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Opens new connections for what comes next, with credentials read again; requests in flight finish on the old ones. */
  retire(): void {
    for (const lane of Object.values(this.#lanes)) {
      for (const slot of lane) {
        this.#leave(lane, slot);
        slot.connecting.then((connection) => connection.drain(), ignore);
      }
    }
  }

  /** Fails everything in flight. */
  close(): void {
    this.#closed = true;
    for (const slot of [...this.#lanes.call, ...this.#lanes.bulk, ...this.#draining]) {
      slot.connecting.then((connection) => connection.destroy(CLOSED), ignore);
    }
  }

  /**
   * The least busy session, and another one beside it when all are busy. While that one connects, the request goes over a
   * session that is open already: a handshake takes longer than many answers when the server is busy.
   */
  #pick(lane: Lane): Slot {
    const slots = this.#lanes[lane];
    const least = leastBusy(slots);
    if (least === undefined) return this.#open(lane);
    const isFull = least.load >= loadLimit(lane, { sessions: slots.size, connection: least.connection });
    const next = isFull && slots.size < MAX_SESSIONS ? this.#open(lane) : least;
    return next.connection === undefined ? (leastBusy(withSpareStream(slots)) ?? next) : next;
  }

  #open(lane: Lane): Slot {
    const { credentials, clock, metrics } = this.#options;
    const slots = this.#lanes[lane];
    const onGone = (): void => this.#leave(slots, slot);
    const onPing = (seconds: number): void => metrics.pingAnswered(seconds);
    const slot: Slot = {
      connecting: dial({ credentials, lane, clock, onGone, onPing }),
      connection: undefined,
      load: 0,
    };
    slot.connecting.then((connection) => (slot.connection = connection), onGone);
    slots.add(slot);
    return slot;
  }

  #leave(slots: Set<Slot>, slot: Slot): void {
    if (slots.delete(slot) && slot.load > 0) this.#draining.add(slot);
  }

  #count(of: (slot: Slot) => number): Record<Lane, number> {
    const sum = (slots: Set<Slot>): number => [...slots].reduce((total, slot) => total + of(slot), 0);
    return { call: sum(this.#lanes.call), bulk: sum(this.#lanes.bulk) };
  }
}

function leastBusy(slots: Iterable<Slot>): Slot | undefined {
  let least: Slot | undefined;
  for (const slot of slots) if (least === undefined || slot.load < least.load) least = slot;
  return least;
}

/** Sessions that are open and take one more request at once. */
function* withSpareStream(slots: Iterable<Slot>): Iterable<Slot> {
  for (const slot of slots) if (slot.connection !== undefined && slot.load < slot.connection.capacity()) yield slot;
}

/** Load from which a session of this lane gets another beside it. */
function loadLimit(lane: Lane, at: { readonly sessions: number; readonly connection: Connection | undefined }): number {
  const capacity = at.connection?.capacity() ?? ASSUMED_CAPACITY;
  return capacity === Infinity ? Infinity : Math.min(OPEN_NEXT_AT[lane][at.sessions] ?? capacity, capacity);
}

const CLOSED = new CallEnded('Aborted', 'client is closed');

const ignore = (): void => undefined;

/** A caller that gives up does not wait for the connection, which other callers may still need. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void =>
    reject(new NotProcessed('ended before the connection was made', { cause: signal.reason }));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

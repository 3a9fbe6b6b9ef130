import type { Clock } from '@sandlot/std';
import type { Credentials } from '../credentials/credentials.ts';
import type { KubeMetrics } from '../metrics.ts';
import { NotProcessed } from './connection.ts';
import type { Connection, Lane, WireRequest, WireResponse } from './connection.ts';
import { CallEnded } from './deadline.ts';
import { dial } from './dial.ts';

/**
 * The load of the least busy session at which the pool opens another one, indexed by the number of open sessions. Calls
 * use two sessions from the start and four under load. Beyond that, and always for bulk traffic, the pool fills a session
 * before it opens another one.
 */
const OPEN_NEXT_AT: Readonly<Record<Lane, readonly number[]>> = { call: [0, 1, 16, 16], bulk: [0] };

/** At this limit, requests wait inside their session for a free stream. */
const MAX_SESSIONS = 32;

/** Assumed number of streams until the server sends its limit. */
const ASSUMED_CAPACITY = 90;

interface Slot {
  readonly connecting: Promise<Connection>;
  connection: Connection | undefined;
  /** Requests in this slot, including those that wait for the connection. */
  load: number;
}

export interface PoolOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly metrics: KubeMetrics;
  /** Called just before a request is written to its connection. A request whose signal it aborts is not sent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** Connections by lane. A connection leaves the pool when it breaks or receives GOAWAY. The next request opens another. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #lanes: Readonly<Record<Lane, Set<Slot>>> = { call: new Set(), bulk: new Set() };
  /** Slots that have left their lane and still have requests in flight. */
  readonly #draining = new Set<Slot>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    options.metrics.watchTransport(() => ({
      sessions: this.#count(() => 1),
      streams: this.#count((slot) => slot.load),
    }));
  }

  /** Sends over the least busy connection of the lane. Fails like {@link Connection.send}. */
  async send(lane: Lane, request: WireRequest): Promise<WireResponse> {
    if (this.#closed) throw new NotProcessed('client is closed', { cause: CLOSED });
    const slot = this.#pick(lane);
    slot.load += 1;
    const release = (): void => {
      slot.load -= 1;
      if (slot.load === 0) this.#draining.delete(slot);
    };
    try {
      const connection = slot.connection ?? (await rejectOnAbort(slot.connecting, request.signal));
      this.#options.beforeSend?.();
      if (request.signal.aborted)
        throw new NotProcessed('aborted before it was sent', { cause: request.signal.reason });
      const response = await connection.send(request);
      response.body.once('close', release);
      return response;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Makes new requests open new connections with the current credentials. Requests in flight finish on the old ones. */
  retire(): void {
    for (const lane of Object.values(this.#lanes)) {
      for (const slot of lane) {
        this.#leave(lane, slot);
        slot.connecting.then((connection) => connection.drain(), ignore);
      }
    }
  }

  /** Fails all requests in flight. */
  close(): void {
    this.#closed = true;
    for (const slot of [...this.#lanes.call, ...this.#lanes.bulk, ...this.#draining]) {
      slot.connecting.then((connection) => connection.destroy(CLOSED), ignore);
    }
  }

  /**
   * Picks the least busy session and opens another one when all are busy. While that one connects, the request uses an
   * open session: when the server is busy, a handshake takes longer than many answers.
   */
  #pick(lane: Lane): Slot {
    const slots = this.#lanes[lane];
    const least = findLeastBusy(slots);
    if (least === undefined) return this.#open(lane);
    const isFull = least.load >= getLoadLimit(lane, { sessions: slots.size, connection: least.connection });
    const next = isFull && slots.size < MAX_SESSIONS ? this.#open(lane) : least;
    return next.connection === undefined ? (findLeastBusy(listSlotsWithSpareStream(slots)) ?? next) : next;
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

function findLeastBusy(slots: Iterable<Slot>): Slot | undefined {
  let least: Slot | undefined;
  for (const slot of slots) if (least === undefined || slot.load < least.load) least = slot;
  return least;
}

/** Open sessions that can take one more request now. */
function* listSlotsWithSpareStream(slots: Iterable<Slot>): Iterable<Slot> {
  for (const slot of slots) if (slot.connection !== undefined && slot.load < slot.connection.getCapacity()) yield slot;
}

/** The load of a session at which its lane opens another one. */
function getLoadLimit(
  lane: Lane,
  at: { readonly sessions: number; readonly connection: Connection | undefined },
): number {
  const capacity = at.connection?.getCapacity() ?? ASSUMED_CAPACITY;
  return capacity === Infinity ? Infinity : Math.min(OPEN_NEXT_AT[lane][at.sessions] ?? capacity, capacity);
}

const CLOSED = new CallEnded('Aborted', 'client is closed');

const ignore = (): void => undefined;

/** Rejects for a caller that aborts. The connection attempt continues because other callers may need it. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void =>
    reject(new NotProcessed('ended before the connection was made', { cause: signal.reason }));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

import { Agent } from 'node:http';
import type { AgentOptions, ClientRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';
import type { Target } from './decide.ts';
import type { GoneReason } from './decide.ts';
import { DialError, dial } from './dial.ts';
import type { Traffic } from './traffic.ts';

/**
 * A connection that nobody uses is closed after so long. Servers of tenants close theirs whenever they like, some after
 * two seconds and without a word; a request that is sent at that moment is lost, and most may not be sent twice.
 */
const UNUSED_MS = 1_500;
const MAX_UNUSED = 256;

/** Connections to one place, kept while they are of use. */
export class Connections extends Agent {
  readonly #dial: (port: number) => Promise<Socket>;
  #isClosed = false;

  constructor(dialPort: (port: number) => Promise<Socket>, options: AgentOptions = {}) {
    super({ keepAlive: true, maxFreeSockets: MAX_UNUSED, ...options });
    this.#dial = dialPort;
  }

  override createConnection(
    options: { readonly port?: number | string | null },
    callback: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#dial(Number(options.port)).then(
      (socket) => {
        if (!this.#isClosed) {
          callback(null, socket);
          return;
        }
        socket.destroy();
        callback(new DialError('unreachable', 'the sandbox went away'), socket);
      },
      (error: unknown) => callback(error as Error, NO_SOCKET),
    );
    return undefined;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // Its types say that it returns nothing; Node goes by what it returns.
    const keep: (socket: Duplex) => unknown = super.keepSocketAlive.bind(this);
    const isKept = keep(socket) === true;
    if (isKept && socket instanceof Socket) socket.setTimeout(UNUSED_MS);
    return isKept;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    if (socket instanceof Socket) socket.setTimeout(0);
    super.reuseSocket(socket, request);
  }

  override destroy(): void {
    this.#isClosed = true;
    super.destroy();
  }
}

/** Of a failed dial; the agent looks at the error first. */
const NO_SOCKET = new Socket();

/** Something that goes on with a sandbox and ends when that does. */
export interface Ongoing {
  /** The sandbox has gone away: end it now. */
  end(reason: GoneReason): void;
}

export interface UpstreamOptions {
  /** Until a connection is there, milliseconds. */
  readonly connectMs: number;
  readonly traffic: Traffic;
}

/** All connections to one incarnation of a sandbox. */
export class Upstream {
  readonly target: Target;
  readonly connections: Connections;
  readonly ongoing = new Set<Ongoing>();

  constructor(target: Target, { connectMs, traffic }: UpstreamOptions) {
    const [address] = target.addresses;
    this.target = target;
    this.connections = new Connections(async (port) => {
      const socket = await dial({ address, port, limitMs: connectMs });
      traffic.watch(socket);
      return socket;
    });
  }

  /** Closes everything, on both sides. */
  close(reason: GoneReason): void {
    for (const one of [...this.ongoing]) one.end(reason);
    this.connections.destroy();
  }

  get isUnused(): boolean {
    const { sockets, freeSockets, requests } = this.connections;
    return this.ongoing.size === 0 && [sockets, freeSockets, requests].every((all) => Object.keys(all).length === 0);
  }
}

/**
 * Connections by sandbox and incarnation: the address of a pod is given to another one some day, and no connection to the
 * one may serve the other.
 */
export class Upstreams {
  readonly #options: UpstreamOptions;
  readonly #byUid = new Map<string, Upstream>();

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  get(target: Target): Upstream {
    const known = this.#byUid.get(target.uid);
    if (known?.target.incarnation === target.incarnation) return known;
    known?.close('failed');
    const made = new Upstream(target, this.#options);
    this.#byUid.set(target.uid, made);
    return made;
  }

  /** The one of a Sandbox, if there is any. */
  of(uid: string): Upstream | undefined {
    return this.#byUid.get(uid);
  }

  /** Ends everything that goes on with a Sandbox, and forgets it. */
  drop(uid: string, reason: GoneReason): void {
    const known = this.#byUid.get(uid);
    this.#byUid.delete(uid);
    known?.close(reason);
  }

  /** Forgets those that nobody uses: an agent without connections is small, but there is one per sandbox ever used. */
  sweep(): void {
    for (const [uid, upstream] of this.#byUid) if (upstream.isUnused) this.#byUid.delete(uid);
  }

  get size(): number {
    return this.#byUid.size;
  }

  /** Requests, streams and WebSockets that go on. */
  get ongoing(): number {
    let count = 0;
    for (const { ongoing } of this.#byUid.values()) count += ongoing.size;
    return count;
  }

  close(): void {
    for (const uid of [...this.#byUid.keys()]) this.drop(uid, 'killed');
  }
}

import type { GoneReason, Target } from '../decide.ts';
import type { Traffic } from '../telemetry/traffic.ts';
import { Connections } from './connections.ts';
import { dial } from './dial.ts';

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

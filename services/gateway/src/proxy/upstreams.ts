import { findPinnedKey } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { GoneReason } from '../directory/decide-ending.ts';
import type { Target } from '../directory/target.ts';
import type { Traffic } from '../telemetry/traffic.ts';
import { Connections } from './connections.ts';
import { dial } from './dial.ts';
import type { Proofs, Prove } from './proofs.ts';

/** Why the gateway ends an exchange: its sandbox is over, or the gateway stops. */
export type EndReason = GoneReason | 'stopping';

/** A request, stream or WebSocket that is open with a sandbox and ends with it. */
export interface ActiveExchange {
  /** Ends the exchange now. */
  end(reason: EndReason): void;
}

export interface UpstreamOptions {
  /** Limit for opening a connection. */
  readonly connectMs: number;
  readonly traffic: Traffic;
  readonly proofs: Proofs;
  readonly clock: Pick<Clock, 'setTimeout'>;
}

/** All connections to one incarnation of a sandbox. */
export class Upstream {
  readonly target: Target;
  readonly connections: Connections;
  readonly prove: Prove;
  readonly active = new Set<ActiveExchange>();

  constructor(target: Target, { connectMs, traffic, proofs, clock }: UpstreamOptions) {
    const [address] = target.addresses;
    this.target = target;
    const prove = proofs.createProver({ uid: target.uid, address });
    this.prove = prove;
    const findKey = (port: number): string | undefined => findPinnedKey(target.identity, port);
    this.connections = new Connections(async (port) => {
      const socket = await dial({ address, port, limitMs: connectMs, prove, findKey, clock });
      traffic.watch(socket);
      return socket;
    });
  }

  /** Ends every exchange and closes the connections on both sides. */
  close(reason: EndReason): void {
    for (const exchange of [...this.active]) exchange.end(reason);
    this.connections.destroy();
  }

  get isUnused(): boolean {
    const { sockets, freeSockets, requests } = this.connections;
    return this.active.size === 0 && [sockets, freeSockets, requests].every((all) => Object.keys(all).length === 0);
  }
}

/**
 * Upstreams by UID of the Sandbox. Only one incarnation of a Sandbox has connections: Kubernetes gives the address of a pod
 * to another pod later, and a connection to the first must not serve the second.
 */
export class Upstreams {
  readonly #options: UpstreamOptions;
  readonly #byUid = new Map<string, Upstream>();

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** The upstream of the target. Closes the upstream of an earlier incarnation. */
  get(target: Target): Upstream {
    const known = this.#byUid.get(target.uid);
    if (known?.target.incarnation === target.incarnation) return known;
    known?.close('failed');
    const upstream = new Upstream(target, this.#options);
    this.#byUid.set(target.uid, upstream);
    return upstream;
  }

  /** The upstream of a Sandbox, if it has one. */
  of(uid: string): Upstream | undefined {
    return this.#byUid.get(uid);
  }

  /** Ends every exchange with a Sandbox and forgets its upstream. */
  drop(uid: string, reason: EndReason): void {
    const known = this.#byUid.get(uid);
    this.#byUid.delete(uid);
    known?.close(reason);
  }

  /** Forgets unused upstreams: each is small, but there is one for every sandbox ever used. */
  sweep(): void {
    for (const [uid, upstream] of this.#byUid) if (upstream.isUnused) this.#byUid.delete(uid);
  }

  get size(): number {
    return this.#byUid.size;
  }

  /** Number of open requests, streams and WebSockets. */
  get activeCount(): number {
    let count = 0;
    for (const { active } of this.#byUid.values()) count += active.size;
    return count;
  }

  /** Ends every exchange, because this gateway stops. */
  close(): void {
    for (const uid of [...this.#byUid.keys()]) this.drop(uid, 'stopping');
  }
}

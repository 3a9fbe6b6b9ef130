import type { Clock, Logger, Random } from '@sandlot/std';
import type { BusMetrics } from '../bus-metrics.ts';

/** The TLS configuration; an empty object means TLS with the system's authorities. */
export interface BusTls {
  readonly caFile?: string | undefined;
  /** The authority itself, in PEM, instead of its file. */
  readonly ca?: string | undefined;
  /** Name in the server's certificate, where the URL has another one, such as that of a port-forward. */
  readonly servername?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** How the declared streams are sized. */
export interface StreamSizing {
  /** Replicas in the cluster: 1, 3 or 5. Default 1; production uses 3. */
  readonly replicas?: number | undefined;
  /** Beyond this the server discards the oldest events. It reserves the space, so its storage must have it. Default 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Age limit of events and dead letters. Default 7 days. */
  readonly maxAgeMs?: number | undefined;
  /** Size limit of each record bucket. Default 64 MiB, enough for 100,000 objects. */
  readonly recordMaxBytes?: number | undefined;
}

export interface BusOptions {
  /** `nats://host:port`, or `tls://host:port`. */
  readonly url: string;
  readonly user?: string | undefined;
  /**
   * A function is called for each attempt to connect, so that a changed password needs no restart, and must not throw. It returns
   * the passwords that the server may know, the likeliest first: attempts take one after the other until the server accepts one.
   */
  readonly password?: string | (() => readonly string[]) | undefined;
  readonly tls?: BusTls | undefined;
  /** Name of the connection, which operators see on the server. */
  readonly service: string;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: Partial<BusMetrics> | undefined;
  /** `none`: this process declares no streams, because another one does. */
  readonly streams?: StreamSizing | 'none' | undefined;
  /** Events kept while they cannot be sent; default 10000, about 10 MiB. */
  readonly maxPending?: number | undefined;
  /** Events sent and not yet acknowledged; default 256. */
  readonly maxInFlight?: number | undefined;
  /** How long an acknowledgement may take before the event is sent again; default 5000. */
  readonly ackTimeoutMs?: number | undefined;
}

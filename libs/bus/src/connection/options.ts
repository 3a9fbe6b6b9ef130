import type { Clock, Logger, Random } from '@sandlot/std';
import type { BusMetrics } from '../bus-metrics.ts';

/** Files of the TLS configuration; an empty object means TLS with the system's authorities. */
export interface BusTls {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** How the declared streams are sized. */
export interface StreamSizing {
  /** Copies in the cluster: 1, 3 or 5. Default 1; production uses 3. */
  readonly replicas?: number | undefined;
  /** Oldest events are discarded beyond this. The server reserves it, so it must fit its storage. Default 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Of events and dead letters. Default 7 days. */
  readonly maxAgeMs?: number | undefined;
  /** Of each record bucket. Default 64 MiB, which is enough for 100,000 objects. */
  readonly recordMaxBytes?: number | undefined;
}

export interface BusOptions {
  /** `nats://host:port`, or `tls://host:port`. */
  readonly url: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: BusTls | undefined;
  /** Name of the connection, as operators see it on the server. */
  readonly service: string;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: Partial<BusMetrics> | undefined;
  /** `none`: this process declares no streams, because it only tells and listens, and may do no more. */
  readonly streams?: StreamSizing | 'none' | undefined;
  /** Events kept while they cannot be sent; default 10000, about 10 MiB. */
  readonly maxPending?: number | undefined;
  /** Events sent and not yet acknowledged; default 256. */
  readonly maxInFlight?: number | undefined;
  /** How long an acknowledgement may take before the event is sent again; default 5000. */
  readonly ackTimeoutMs?: number | undefined;
}

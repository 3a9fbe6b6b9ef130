import { findHostName } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { Refused } from '../plane/protocol.ts';

/** A destination that the sandboxes of a claim were refused. */
export interface Destination {
  readonly protocol: string;
  /** A name, or `*` for those beyond the first hundred between two reports. */
  readonly host: string;
  /** Absent for questions to the resolver. */
  readonly port?: number | undefined;
  readonly reason: string;
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly lastMs: number;
}

type Counted = Map<string, Destination>;

/** How long a destination is kept after it was last refused. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Destinations of one claim: a sandbox that tries a million names takes no memory. */
const MAX_OF_CLAIM = 100;
const MAX_CLAIMS = 10_000;
/** Destinations of all claims, about 40 MB. */
const MAX_IN_ALL = 100_000;
const MAX_NAME = 253;

/** Counts what the data plane of this replica has refused to each claim, in memory and within bounds. */
export class Refusals {
  /** The claim that was refused something last is the last one. */
  readonly #byClaim = new Map<string, Counted>();
  readonly #clock: Clock;
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a report for its claim. */
  add(refused: Refused): void {
    const { claimUid, protocol, port, reason, count } = refused;
    const counted = this.#takeOut(claimUid);
    const host = formatRefusedHost(refused.host);
    const key = JSON.stringify([protocol, host, port, reason]);
    const known = counted.get(key);
    if (known === undefined && counted.size >= MAX_OF_CLAIM) dropRarest(counted);
    counted.set(key, {
      protocol,
      host,
      ...(port === 0 ? {} : { port }),
      reason,
      count: (known?.count ?? 0) + count,
      lastMs: Math.min(Date.parse(refused.last), this.#clock.now()),
    });
    this.#putBack(claimUid, counted);
    while (this.#byClaim.size > MAX_CLAIMS || this.#size > MAX_IN_ALL) this.#dropOldest();
  }

  /** What the claim was refused, the newest first. */
  list(claimUid: string): readonly Destination[] {
    const counted = this.#byClaim.get(claimUid) ?? new Map<string, Destination>();
    const isKept = this.#buildKeep();
    return [...counted.values()].filter(isKept).sort((a, b) => b.lastMs - a.lastMs);
  }

  /** Forgets a claim that is gone. */
  forget(claimUid: string): void {
    this.#takeOut(claimUid);
  }

  #buildKeep(): (destination: Destination) => boolean {
    const sinceMs = this.#clock.now() - KEPT_MS;
    return ({ lastMs }) => lastMs >= sinceMs;
  }

  /** Takes a claim out of the whole, without what has become too old. */
  #takeOut(claimUid: string): Counted {
    const counted = this.#byClaim.get(claimUid) ?? new Map<string, Destination>();
    this.#byClaim.delete(claimUid);
    this.#size -= counted.size;
    const isKept = this.#buildKeep();
    for (const [key, destination] of counted) if (!isKept(destination)) counted.delete(key);
    return counted;
  }

  #putBack(claimUid: string, counted: Counted): void {
    this.#byClaim.set(claimUid, counted);
    this.#size += counted.size;
  }

  #dropOldest(): void {
    const [oldest = ''] = this.#byClaim.keys();
    this.forget(oldest);
  }
}

/** The name in its normal form. A sandbox chooses the bytes of one that has none, and terminals obey some of them. */
export function formatRefusedHost(host: string): string {
  return findHostName(host) ?? host.slice(0, MAX_NAME).replace(/[^\x21-\x7e]/gu, '?');
}

/** Of the destinations that were refused least often, the one that was refused longest ago. */
function dropRarest(counted: Counted): void {
  const [first, ...rest] = counted;
  if (first === undefined) return;
  const isRarer = (a: Destination, b: Destination): boolean =>
    a.count < b.count || (a.count === b.count && a.lastMs < b.lastMs);
  const [key] = rest.reduce((rarest, each) => (isRarer(each[1], rarest[1]) ? each : rarest), first);
  counted.delete(key);
}

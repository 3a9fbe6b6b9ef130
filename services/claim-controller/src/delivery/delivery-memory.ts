import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Failures } from './rules.ts';

interface DeliveryRecord {
  /** UIDs of Sandboxes that the claim has given up, even if the watch still shows them as its own. */
  readonly discarded: Set<string>;
  failures?: (Failures & { readonly generation: number }) | undefined;
  /** By UID of a Sandbox: since when its time to become ready runs, epoch milliseconds. */
  timedSince: ReadonlyMap<string, number>;
}

const UNTIMED: ReadonlyMap<string, number> = new Map();

/** Deliveries in progress and failed ones, by claim. A new process starts their time limits and tries again. */
export class DeliveryMemory {
  readonly #byUid = new Map<string, DeliveryRecord>();

  /** By UID of a Sandbox: since when its time to become ready runs, epoch milliseconds. */
  getTimedSince({ metadata: { uid = '' } }: SandboxClaim): ReadonlyMap<string, number> {
    return this.#byUid.get(uid)?.timedSince ?? UNTIMED;
  }

  /** The time of these Sandboxes to become ready runs from `atMs`. Snapshots keep the map they were given. */
  startTime(claim: SandboxClaim, sandboxes: readonly Sandbox[], atMs: number): void {
    const begun = sandboxes.map(({ metadata: { uid = '' } }) => [uid, atMs] as const);
    this.#getRecord(claim).timedSince = new Map([...this.getTimedSince(claim), ...begun]);
  }

  /** The claim has given up this Sandbox after a failed delivery. */
  discard(claim: SandboxClaim, { metadata: { uid = '' } }: Sandbox, failure: Omit<Failures, 'count'>): void {
    const record = this.#getRecord(claim);
    record.timedSince = new Map([...record.timedSince].filter(([timed]) => timed !== uid));
    record.discarded.add(uid);
    const count = (this.findFailures(claim)?.count ?? 0) + 1;
    record.failures = { ...failure, count, generation: claim.metadata.generation ?? 0 };
  }

  isDiscarded({ metadata }: SandboxClaim, { metadata: { uid = '' } }: Sandbox): boolean {
    return this.#byUid.get(metadata.uid ?? '')?.discarded.has(uid) === true;
  }

  /** Failed deliveries since the claim's last change: a change gives the claim all its tries again. */
  findFailures({ metadata: { uid = '', generation = 0 } }: SandboxClaim): Failures | undefined {
    const failures = this.#byUid.get(uid)?.failures;
    return failures?.generation === generation ? failures : undefined;
  }

  /** The claim is gone. */
  forget({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#byUid.delete(uid);
  }

  #getRecord({ metadata: { uid = '' } }: SandboxClaim): DeliveryRecord {
    const record = this.#byUid.get(uid) ?? { discarded: new Set(), timedSince: UNTIMED };
    this.#byUid.set(uid, record);
    return record;
  }
}

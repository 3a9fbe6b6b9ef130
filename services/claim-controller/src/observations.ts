import type { Sandbox } from '@sandlot/api-types';

/** What this process knows of a claim before the watch shows it. Lost with the process, and never needed: the owner reference is the record. */
interface Observation {
  /** RFC 3339 with nanoseconds. */
  readonly observedAt: string;
  /** Monotonic milliseconds of the same moment. */
  readonly observedMs: number;
  readyAt?: string;
  /** Committed to the claim, as the API server answered; dropped once the watch shows it. */
  assigned?: Sandbox;
  /** Candidate whose commit has no known outcome: settled before any other is touched. */
  unsettled?: string;
}

export interface ObservationDeps {
  /** RFC 3339 stamp of now, nine digits. */
  readonly stamp: () => string;
  readonly monotonic: () => number;
}

/** Per claim UID; forgotten when the claim is gone. */
export class Observations {
  readonly #byUid = new Map<string, Observation>();
  readonly #deps: ObservationDeps;

  constructor(deps: ObservationDeps) {
    this.#deps = deps;
  }

  /** The claim's record, begun now if this is the first time it is seen. */
  of(uid: string): Observation {
    let observation = this.#byUid.get(uid);
    if (observation === undefined) {
      observation = { observedAt: this.#deps.stamp(), observedMs: this.#deps.monotonic() };
      this.#byUid.set(uid, observation);
    }
    return observation;
  }

  /** Stamps the claim's first Ready, once. */
  markReady(uid: string): void {
    this.of(uid).readyAt ??= this.#deps.stamp();
  }

  /** Milliseconds since the claim was first seen by this process. */
  elapsedMs(uid: string): number {
    return this.#deps.monotonic() - this.of(uid).observedMs;
  }

  /** The Sandbox given to the claim is gone: it is given another one. */
  dropAssigned(uid: string, sandboxUid: string): void {
    const observation = this.#byUid.get(uid);
    if (observation?.assigned?.metadata.uid === sandboxUid) delete observation.assigned;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

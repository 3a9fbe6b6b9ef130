import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { controllerOf, dropBulk, keyOf } from '@sandlot/kube';
import { createStamp } from '@sandlot/std';
import type { Clock, Timer } from '@sandlot/std';
import type { Failures } from '../delivery/rules.ts';
import type { Milestones } from '../telemetry/phases.ts';

/** A watch that has not shown a committed Sandbox for this long may never do so: it is looked up. */
const UNSHOWN_LIMIT_MS = 10_000;

const UNTIMED: ReadonlyMap<string, number> = new Map();

/** What this process knows of one claim before the watch shows it. */
interface Known {
  /** First sight of the claim: RFC 3339 with nanoseconds, and monotonic milliseconds. */
  readonly observedAt: string;
  readonly observedMs: number;
  /** Where its time goes. */
  readonly milestones: Milestones;
  readyAt?: string | undefined;
  /** Its first Ready has been measured. */
  counted?: boolean | undefined;
  /** It had to wait for stock. */
  waited?: boolean | undefined;
  /** Committed to the claim, as the API server answered; until the watch shows it. */
  assigned?: { readonly sandbox: Sandbox; readonly overdue: Timer } | undefined;
  /** Key of a Sandbox that may or may not be the claim's: settled before any other is touched. */
  unconfirmed?: string | undefined;
  /** What was asked for in its name and refused for good. */
  refusedRequest?: string | undefined;
  /** The end of its time for which its Sandbox was paused, epoch milliseconds. */
  pausedForMs?: number | undefined;
  /** UIDs of Sandboxes that were given up: they are the claim's no longer, whatever the watch shows. */
  discarded?: Set<string> | undefined;
  failures?: (Failures & { readonly generation: number }) | undefined;
  /** By UID of a Sandbox: since when its time to become ready runs, epoch milliseconds. */
  timedSince?: ReadonlyMap<string, number> | undefined;
  /** The claim as our last status write left it, and the versions that were before. */
  written?: { readonly claim: SandboxClaim; readonly older: ReadonlySet<string> } | undefined;
}

export interface MemoryDeps {
  readonly clock: Clock;
  /** An assigned Sandbox did not show up in time: the claim has to be looked at. */
  readonly onOverdue: (claimKey: string) => void;
}

/** Lost with the process, and never needed: the owner reference of the Sandbox is the record. */
export class ClaimMemory {
  readonly #byUid = new Map<string, Known>();
  readonly #claimOfSandbox = new Map<string, string>();
  readonly #deps: MemoryDeps;
  readonly #stamp: () => string;

  constructor(deps: MemoryDeps) {
    this.#deps = deps;
    this.#stamp = createStamp(deps.clock);
  }

  /** The claim's record, begun now if this is the first time it is seen. */
  of({ metadata: { uid = '' } }: SandboxClaim): Known {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const begun = { observedAt: this.#stamp(), observedMs: this.#deps.clock.monotonic(), milestones: {} };
    this.#byUid.set(uid, begun);
    return begun;
  }

  /** The claim has come this far, just now. */
  reached(claim: SandboxClaim, milestone: keyof Milestones): void {
    this.of(claim).milestones[milestone] = this.#deps.clock.monotonic();
  }

  /** Milliseconds since the claim was first seen by this process. */
  elapsedMs(claim: SandboxClaim): number {
    return this.#deps.clock.monotonic() - this.of(claim).observedMs;
  }

  /**
   * Stamps the claim's first Ready, once: now, or as the claim recorded it before this process looked. What was Ready then
   * was measured by whoever made it so.
   */
  markReady(claim: SandboxClaim, recorded: string | undefined): void {
    const known = this.of(claim);
    if (known.readyAt !== undefined) return;
    known.readyAt = recorded ?? this.#stamp();
    if (recorded !== undefined) known.counted = true;
  }

  /** The Sandbox is the claim's, whether or not the watch ever shows it so. */
  assign(claim: SandboxClaim, sandbox: Sandbox): void {
    this.release(claim);
    const overdue = this.#deps.clock.setTimeout(() => {
      this.release(claim);
      this.of(claim).unconfirmed = keyOf(sandbox);
      this.#deps.onOverdue(keyOf(claim));
    }, UNSHOWN_LIMIT_MS);
    this.of(claim).assigned = { sandbox: dropBulk(sandbox), overdue };
    this.#claimOfSandbox.set(sandbox.metadata.uid ?? '', claim.metadata.uid ?? '');
  }

  /** The watch shows it, or it is given up. */
  release(claim: SandboxClaim): void {
    this.#release(claim.metadata.uid ?? '');
  }

  /** The watch shows a Sandbox: what was remembered of it is no longer needed, if it shows whose it is. */
  sandboxShown(sandbox: Sandbox): void {
    const claimUid = this.#claimOfSandbox.get(sandbox.metadata.uid ?? '');
    if (claimUid !== undefined && controllerOf(sandbox)?.uid === claimUid) this.#release(claimUid);
  }

  /** A Sandbox has been deleted, perhaps before the watch ever showed whose it was. */
  sandboxGone({ metadata: { uid = '' } }: Sandbox): void {
    const claimUid = this.#claimOfSandbox.get(uid);
    if (claimUid !== undefined) this.#release(claimUid);
  }

  /** By UID of a Sandbox: since when its time to become ready runs, epoch milliseconds. */
  timedSinceOf(claim: SandboxClaim): ReadonlyMap<string, number> {
    return this.of(claim).timedSince ?? UNTIMED;
  }

  /** The time of these Sandboxes to become ready runs from `atMs`. Snapshots keep the map they were given. */
  startTime(claim: SandboxClaim, sandboxes: readonly Sandbox[], atMs: number): void {
    const begun = sandboxes.map(({ metadata: { uid = '' } }) => [uid, atMs] as const);
    this.of(claim).timedSince = new Map([...this.timedSinceOf(claim), ...begun]);
  }

  /** The delivery of this Sandbox failed: it is given up. */
  discard(claim: SandboxClaim, { metadata: { uid = '' } }: Sandbox, failure: Omit<Failures, 'count'>): void {
    const known = this.of(claim);
    known.timedSince = new Map([...this.timedSinceOf(claim)].filter(([timed]) => timed !== uid));
    (known.discarded ??= new Set()).add(uid);
    const count = (this.failuresOf(claim)?.count ?? 0) + 1;
    known.failures = { ...failure, count, generation: claim.metadata.generation ?? 0 };
    if (known.assigned?.sandbox.metadata.uid === uid) this.release(claim);
  }

  isDiscarded(claim: SandboxClaim, { metadata: { uid = '' } }: Sandbox): boolean {
    return this.of(claim).discarded?.has(uid) === true;
  }

  /** A change of the claim gives it all its tries again. */
  failuresOf(claim: SandboxClaim): Failures | undefined {
    const { failures } = this.of(claim);
    return failures?.generation === (claim.metadata.generation ?? 0) ? failures : undefined;
  }

  /** Remembers the claim as a status write left it; `over` is what the write was made on, `watched` what the watch shows. */
  wrote(answer: SandboxClaim, over: SandboxClaim, watched: SandboxClaim | undefined): void {
    const known = this.of(answer);
    const older = new Set(known.written?.older);
    for (const { metadata } of watched === undefined ? [over] : [over, watched])
      older.add(metadata.resourceVersion ?? '');
    older.delete(answer.metadata.resourceVersion ?? '');
    known.written = { claim: dropBulk(answer), older };
  }

  /** The claim as the watch shows it, or as we left it while the watch still shows what was before. */
  latest(watched: SandboxClaim): SandboxClaim {
    const known = this.of(watched);
    if (known.written?.older.has(watched.metadata.resourceVersion ?? '') === true) return known.written.claim;
    known.written = undefined;
    return watched;
  }

  forget({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#release(uid);
    this.#byUid.delete(uid);
  }

  #release(claimUid: string): void {
    const known = this.#byUid.get(claimUid);
    if (known?.assigned === undefined) return;
    known.assigned.overdue.cancel();
    this.#claimOfSandbox.delete(known.assigned.sandbox.metadata.uid ?? '');
    known.assigned = undefined;
  }
}

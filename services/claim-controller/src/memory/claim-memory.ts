import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { controllerOf, dropBulk, keyOf } from '@sandlot/kube';
import { createStamp } from '@sandlot/std';
import type { Clock, Timer } from '@sandlot/std';
import type { Failures } from '../delivery/rules.ts';
import type { Milestones } from '../telemetry/phases.ts';

/** A watch that has not shown a committed Sandbox for this long may never show it: the next pass reads it. */
const UNSHOWN_LIMIT_MS = 10_000;

const UNTIMED: ReadonlyMap<string, number> = new Map();

/** What this process knows about one claim. */
interface Known {
  /** First sight of the claim: RFC 3339 with nanoseconds, and monotonic milliseconds. */
  readonly observedAt: string;
  readonly observedMs: number;
  /** How far the claim has come, for the metrics of its phases. */
  readonly milestones: Milestones;
  readyAt?: string | undefined;
  /** Its first Ready is measured. */
  counted?: boolean | undefined;
  /** It had to wait for stock. */
  waited?: boolean | undefined;
  /** The Sandbox that this process committed to the claim, as the API server answered; until the watch shows it. */
  assigned?: { readonly sandbox: Sandbox; readonly overdue: Timer } | undefined;
  /** Key of a Sandbox that may or may not be the claim's. No other candidate is touched before it is confirmed. */
  unconfirmed?: string | undefined;
  /** The request that the API server refused as invalid, in the form of `requestOf`. */
  refusedRequest?: string | undefined;
  /** The end for which this process last paused the Sandbox, epoch milliseconds. */
  pausedForMs?: number | undefined;
  /** UIDs of Sandboxes that the claim has given up, even if the watch still shows them as its own. */
  discarded?: Set<string> | undefined;
  failures?: (Failures & { readonly generation: number }) | undefined;
  /** By UID of a Sandbox: since when its time to become ready runs, epoch milliseconds. */
  timedSince?: ReadonlyMap<string, number> | undefined;
  /** The claim as this process's last status write left it, and the resourceVersions before that. */
  written?: { readonly claim: SandboxClaim; readonly older: ReadonlySet<string> } | undefined;
}

export interface MemoryDeps {
  readonly clock: Clock;
  /** The watch did not show an assigned Sandbox in time: the claim needs a pass. */
  readonly onOverdue: (claimKey: string) => void;
}

/** What this process knows about claims. Losing it does no harm: the owner references of the Sandboxes are the record. */
export class ClaimMemory {
  readonly #byUid = new Map<string, Known>();
  readonly #claimOfSandbox = new Map<string, string>();
  readonly #deps: MemoryDeps;
  readonly #stamp: () => string;

  constructor(deps: MemoryDeps) {
    this.#deps = deps;
    this.#stamp = createStamp(deps.clock);
  }

  /** First sight of the claim: its latency starts now. */
  begin(claim: SandboxClaim): void {
    this.of(claim);
  }

  /** The claim's record, which the first call creates. */
  of({ metadata: { uid = '' } }: SandboxClaim): Known {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const begun = { observedAt: this.#stamp(), observedMs: this.#deps.clock.monotonic(), milestones: {} };
    this.#byUid.set(uid, begun);
    return begun;
  }

  /** Records that the claim has reached the milestone now. */
  reached(claim: SandboxClaim, milestone: keyof Milestones): void {
    this.of(claim).milestones[milestone] = this.#deps.clock.monotonic();
  }

  /** Milliseconds since this process first saw the claim. */
  elapsedMs(claim: SandboxClaim): number {
    return this.#deps.clock.monotonic() - this.of(claim).observedMs;
  }

  /**
   * Stamps the claim's first Ready, once: now, or with the time that the claim already records. In that case an earlier
   * process has measured it.
   */
  markReady(claim: SandboxClaim, recorded: string | undefined): void {
    const known = this.of(claim);
    if (known.readyAt !== undefined) return;
    known.readyAt = recorded ?? this.#stamp();
    if (recorded !== undefined) known.counted = true;
  }

  /** The Sandbox is the claim's from now on, whatever the watch shows. */
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

  /** The watch shows the assigned Sandbox, or the claim has given it up. */
  release(claim: SandboxClaim): void {
    this.#release(claim.metadata.uid ?? '');
  }

  /** The watch shows a Sandbox: forgets the assignment once the watch shows the owner too. */
  sandboxShown(sandbox: Sandbox): void {
    const claimUid = this.#claimOfSandbox.get(sandbox.metadata.uid ?? '');
    if (claimUid !== undefined && controllerOf(sandbox)?.uid === claimUid) this.#release(claimUid);
  }

  /** The Sandbox is deleted, perhaps before the watch ever showed its owner. */
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

  /** The claim has given up this Sandbox after a failed delivery. */
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

  /** Failed deliveries since the claim's last change: a change gives the claim all its tries again. */
  failuresOf(claim: SandboxClaim): Failures | undefined {
    const { failures } = this.of(claim);
    return failures?.generation === (claim.metadata.generation ?? 0) ? failures : undefined;
  }

  /** Remembers the claim as a status write left it. `over` is the claim that was patched, `watched` what the watch shows. */
  recordWrite(answer: SandboxClaim, over: SandboxClaim, watched: SandboxClaim | undefined): void {
    const known = this.of(answer);
    const older = new Set(known.written?.older);
    for (const { metadata } of watched === undefined ? [over] : [over, watched])
      older.add(metadata.resourceVersion ?? '');
    older.delete(answer.metadata.resourceVersion ?? '');
    known.written = { claim: dropBulk(answer), older };
  }

  /** The claim as the watch shows it, or as this process left it while the watch still shows an earlier version. */
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

import type { SandboxClaim } from '@sandlot/api-types';
import { pacing } from '@sandlot/pacing';
import { createStamp } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import type { Commitment } from '../adopt/confirm.ts';
import type { Milestones } from '../telemetry/phases.ts';

/** What this process knows about one claim and the API server does not. */
interface ClaimRecord extends Commitment {
  /** First sight of the claim: RFC 3339 with nanoseconds, and monotonic milliseconds. */
  readonly observedAt: string;
  readonly observedMs: number;
  /** How far the claim has come, for the metrics of its phases. */
  readonly milestones: Milestones;
  readyAt?: string | undefined;
  /** A stamp that may be annotated, of a commit that failed. */
  untrueReadyAt?: string | undefined;
  /** The Sandbox that this process noted on the claim beside its commit. */
  notedName?: string | undefined;
  /** Its first Ready is measured. */
  counted?: boolean | undefined;
  /** It had to wait for stock, or for the rules of its template. */
  waited?: boolean | undefined;
  /** It waited with more claims than count as few, and is served together with them. */
  waitedInCrowd?: boolean | undefined;
  /** The status that shows the Sandbox was held. */
  held?: boolean | undefined;
  /** The request that the API server refused as invalid, in the form of `requestOf`. */
  refusedRequest?: string | undefined;
  /** The end for which this process last paused the Sandbox, epoch milliseconds. */
  pausedForMs?: number | undefined;
}

/** What this process knows about claims. Losing it does no harm: the owner references of the Sandboxes are the record. */
export class ClaimMemory {
  readonly #byUid = new Map<string, ClaimRecord>();
  /** When the last claims were first seen, monotonic milliseconds. */
  readonly #arrivals: number[] = [];
  readonly #clock: Clock;
  readonly #stamp: () => string;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#stamp = createStamp(clock);
  }

  /** First sight of the claim: its latency starts now. */
  begin(claim: SandboxClaim): void {
    this.of(claim);
  }

  /** The claim's record, which the first call creates. */
  of({ metadata: { uid = '' } }: SandboxClaim): ClaimRecord {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const begun = { observedAt: this.#stamp(), observedMs: this.#clock.monotonic(), milestones: {} };
    this.#byUid.set(uid, begun);
    this.#recordArrival(begun.observedMs);
    return begun;
  }

  /** Only as many as the count is compared with. */
  #recordArrival(atMs: number): void {
    this.#arrivals.push(atMs);
    if (this.#arrivals.length > pacing.claimAnnotations.fewPerSecond + 1) this.#arrivals.shift();
  }

  /**
   * Whether more claims than count as few have arrived since a second before this one, itself included. A burst that takes
   * seconds to serve is one to its last claim.
   */
  isInBurst(claim: SandboxClaim): boolean {
    const sinceMs = this.of(claim).observedMs - 1_000;
    return this.#arrivals.filter((atMs) => atMs > sinceMs).length > pacing.claimAnnotations.fewPerSecond;
  }

  /** Records that the claim waits, now as one of so many. */
  recordWait(claim: SandboxClaim, waiting: number): void {
    const known = this.of(claim);
    known.waited = true;
    if (waiting > pacing.claimAnnotations.fewPerSecond) known.waitedInCrowd = true;
  }

  /** Records that the claim has reached the milestone now. */
  reached(claim: SandboxClaim, milestone: keyof Milestones): void {
    this.of(claim).milestones[milestone] = this.#clock.monotonic();
  }

  /** Milliseconds since this process last committed a Sandbox to the claim; undefined: it committed none. */
  findCommittedForMs(claim: SandboxClaim): number | undefined {
    const { committed } = this.of(claim).milestones;
    return committed === undefined ? undefined : this.#clock.monotonic() - committed;
  }

  /** This process has committed a Sandbox to the claim now. */
  recordCommit(claim: SandboxClaim): void {
    const known = this.of(claim);
    known.held = undefined;
    delete known.milestones.released;
    this.reached(claim, 'committed');
  }

  /** The first status of the claim is written now, held before or not. */
  release(claim: SandboxClaim): void {
    const { held, milestones } = this.of(claim);
    if (held === true && milestones.released === undefined) this.reached(claim, 'released');
  }

  /** Milliseconds since this process first saw the claim. */
  elapsedMs(claim: SandboxClaim): number {
    return this.#clock.monotonic() - this.of(claim).observedMs;
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

  /** The claim did not become Ready after all. */
  unmarkReady(claim: SandboxClaim): void {
    const known = this.of(claim);
    known.untrueReadyAt = known.readyAt;
    known.readyAt = undefined;
  }

  /** The next pass has to find out whether this Sandbox is the claim's. False when the claim is gone. */
  markUnconfirmed(claimUid: string, sandboxKey: string): boolean {
    const known = this.#byUid.get(claimUid);
    if (known === undefined) return false;
    known.unconfirmed = sandboxKey;
    return true;
  }

  forget({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#byUid.delete(uid);
  }
}

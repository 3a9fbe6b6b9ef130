import type { SandboxClaim } from '@sandlot/api-types';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { isNotFound, getKey } from '@sandlot/kube';
import type { CallOptions, KubeClient, OwnWrites } from '@sandlot/kube';
import { computeFairDelayMs, pacing } from '@sandlot/pacing';
import type { Clock, Logger, Timer } from '@sandlot/std';

/** Annotations give way to every other request of a burst. */
const PATIENTLY = { priority: 'background', deadlineMs: 60_000 } as const;
/** A claim waits for these. */
const AT_ONCE = { priority: 'claim' } as const;
/** How much longer a claim waits for its annotations than for what was sent beside them: a slow server is slow with both. */
const PATIENCE_MS = 50;

export interface WriteBehindDeps {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly claims: Pick<OwnWrites<SandboxClaim>, 'get' | 'write'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long the annotations of a claim are gathered, milliseconds; `pacing.claimAnnotations` makes it longer in a burst. */
  readonly windowMs: number;
  /** Ends the writes about a claim; undefined: another process works on the claim, and writes them. Default: never. */
  readonly findSignal?: ((claim: SandboxClaim) => AbortSignal | undefined) | undefined;
  /** The annotations of this claim could not be written: its next pass schedules them again. */
  readonly onFailure: (claimKey: string) => void;
}

/** The value of each annotation; null removes it. */
type Notes = Readonly<Record<string, string | null>>;

/** Annotations that were sent at once. */
export interface SentNotes {
  /** The claim as written; undefined when that failed, or no answer came within a moment. */
  settle(): Promise<SandboxClaim | undefined>;
}

interface Pending {
  readonly claim: SandboxClaim;
  readonly notes: Notes;
  readonly timer: Timer;
}

/** Old releases noted the Sandbox in a label, which the annotation replaces. */
function hasLegacyLabel({ metadata }: SandboxClaim): boolean {
  return metadata.labels?.[annotations.sandboxName] !== undefined;
}

function withoutLegacy(claim: SandboxClaim): { labels?: Record<string, null> } {
  return hasLegacyLabel(claim) ? { labels: { [annotations.sandboxName]: null } } : {};
}

/**
 * Writes the bookkeeping annotations of claims off the latency path: gathers them for a moment, then sends one patch per
 * claim at the lowest priority. The more claims wait, the longer it gathers: on a busy server these writes would slow down
 * the claims themselves. If the process dies first, the next pass over the claim finds the annotations missing.
 */
export class WriteBehind {
  readonly #deps: WriteBehindDeps;
  /** By claim UID. */
  readonly #pending = new Map<string, Pending>();
  /** By claim UID: sent, and not answered yet. */
  readonly #sent = new Map<string, Notes>();
  readonly #writing = new Set<Promise<SandboxClaim | undefined>>();

  constructor(deps: WriteBehindDeps) {
    this.#deps = deps;
  }

  /**
   * Writes these annotations soon, without those that the claim already has or is about to get. `windowMs` is how long they
   * are gathered; by default as long as the number of waiting claims asks for.
   */
  schedule(claim: SandboxClaim, wanted: Notes, windowMs = this.#windowMs()): void {
    const { uid = '' } = claim.metadata;
    const present = this.#getNewest(claim);
    const before = this.#pending.get(uid);
    const known: Notes = { ...present.metadata.annotations, ...this.#sent.get(uid), ...before?.notes };
    const missing = Object.entries(wanted).filter(([name, value]) => (known[name] ?? null) !== value);
    if (missing.length === 0 && (!hasLegacyLabel(present) || this.#sent.has(uid))) return;
    const notes = { ...before?.notes, ...Object.fromEntries(missing) };
    const timer = before?.timer ?? this.#deps.clock.setTimeout(() => this.#start(uid), windowMs);
    this.#pending.set(uid, { claim, notes, timer });
  }

  /** Writes these annotations at once. If that fails, the next pass over the claim schedules them. */
  writeNow(claim: SandboxClaim, notes: Notes): SentNotes {
    const { clock } = this.#deps;
    const sentMs = clock.monotonic();
    const writing = this.#track(this.#write({ claim, notes }, AT_ONCE));
    const giveUp = (): Promise<undefined> =>
      clock.sleep(clock.monotonic() - sentMs + PATIENCE_MS).then(() => undefined);
    return { settle: () => Promise.race([writing, giveUp()]) };
  }

  #getNewest(claim: SandboxClaim): SandboxClaim {
    const newest = this.#deps.claims.get(getKey(claim));
    return newest !== undefined && newest.metadata.uid === claim.metadata.uid ? newest : claim;
  }

  /** The claim is gone. */
  forget({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#pending.get(uid)?.timer.cancel();
    this.#pending.delete(uid);
  }

  /** Writes everything that waits at once; resolves when all of it was tried. */
  async flush(): Promise<void> {
    for (const uid of [...this.#pending.keys()]) this.#start(uid);
    await Promise.all(this.#writing);
  }

  #windowMs(): number {
    const { perClaimMs: perItemMs, longestMs } = pacing.claimAnnotations;
    return Math.max(this.#deps.windowMs, computeFairDelayMs(this.#pending.size + 1, { perItemMs, longestMs }));
  }

  #start(uid: string): void {
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    pending.timer.cancel();
    this.#pending.delete(uid);
    void this.#track(this.#write(pending, PATIENTLY));
  }

  /** Has `flush` wait for it. */
  #track(write: Promise<SandboxClaim | undefined>): Promise<SandboxClaim | undefined> {
    const writing = write.finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return writing;
  }

  #findOwnership(claim: SandboxClaim): { readonly isOwn: boolean; readonly signal: AbortSignal | undefined } {
    const { findSignal } = this.#deps;
    const signal = findSignal?.(claim);
    return { isOwn: findSignal === undefined || signal !== undefined, signal };
  }

  async #write({ claim, notes }: Omit<Pending, 'timer'>, options: CallOptions): Promise<SandboxClaim | undefined> {
    const { namespace, name = '', uid = '' } = claim.metadata;
    const { client, claims } = this.#deps;
    const { isOwn, signal } = this.#findOwnership(claim);
    if (!isOwn) return undefined;
    const patch = { metadata: { uid, annotations: notes, ...withoutLegacy(claim) } };
    const sent = { ...this.#sent.get(uid), ...notes };
    this.#sent.set(uid, sent);
    try {
      const write = (): Promise<SandboxClaim> =>
        client.mergePatch(sandboxClaims, { namespace, name }, patch, { ...options, signal });
      return await claims.write(getKey(claim), write);
    } catch (error) {
      if (isNotFound(error) || signal?.aborted === true) return undefined;
      // After a conflict another claim has the name, or the API server gave up on competing writes: the next pass sees which.
      this.#deps.log.warn(
        { err: error, claim: getKey(claim) },
        'cannot write the annotations of a claim yet; its next pass tries again',
      );
      this.#deps.onFailure(getKey(claim));
      return undefined;
    } finally {
      if (this.#sent.get(uid) === sent) this.#sent.delete(uid);
    }
  }
}
